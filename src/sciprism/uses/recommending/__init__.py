"""Recommend new papers by the papers that someone has."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sciprism.uses.recommending.results import NearPaper, Recommendation, Recommendations, RecommendCounts
    from sciprism.uses.recommending.run import recommend
    from sciprism.uses.recommending.settings import RecommendSettings

__all__ = ["NearPaper", "RecommendCounts", "RecommendSettings", "Recommendation", "Recommendations", "recommend"]

_MODULES = {"RecommendSettings": "settings", "recommend": "run"}
"""Public name -> its module, else results: settings are read without loading what uses them."""


def __getattr__(name: str) -> Any:
    """Import the public names on first use."""
    if name in __all__:
        return getattr(import_module(f"{__name__}.{_MODULES.get(name, 'results')}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
