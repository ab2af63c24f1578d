"""Match submissions with reviewers: scores by papers, conflicts, loads, fairness, reasons and an audit."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sciprism.uses.matching.expertise import mean_of_best, score_pairs
    from sciprism.uses.matching.result import AssignedPair, Matching
    from sciprism.uses.matching.reviewers import Reviewer
    from sciprism.uses.matching.run import match
    from sciprism.uses.matching.settings import MatchFiles, MatchSettings

__all__ = [
    "AssignedPair",
    "MatchFiles",
    "MatchSettings",
    "Matching",
    "Reviewer",
    "match",
    "mean_of_best",
    "score_pairs",
]

_MODULES = {
    "AssignedPair": "result",
    "MatchFiles": "settings",
    "MatchSettings": "settings",
    "Matching": "result",
    "Reviewer": "reviewers",
    "match": "run",
    "mean_of_best": "expertise",
    "score_pairs": "expertise",
}
"""Public name -> its module in the package: settings are read without loading what uses them."""


def __getattr__(name: str) -> Any:
    """Import the public names on first use."""
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
