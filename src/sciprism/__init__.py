"""sciprism: one scientific paper in, a spectrum of embeddings out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.errors import InputError
    from sciprism.evaluation import Results, evaluate
    from sciprism.papers import Label, Paper, read_labels, read_papers
    from sciprism.store import DeleteReport, EmbedReport
    from sciprism.training.plan import plan_training
    from sciprism.training.recipe_file import read_recipe
    from sciprism.training.run import train
    from sciprism.uses.collection import Collection
    from sciprism.uses.matching import MatchFiles, MatchSettings, match
    from sciprism.uses.rankings import Hit
    from sciprism.uses.recommending import RecommendSettings, recommend
    from sciprism.uses.tagging import TagChoice, tag

__version__ = "0.2.0"
__all__ = [
    "Collection",
    "DeleteReport",
    "EmbedReport",
    "Encoder",
    "Hit",
    "InputError",
    "Label",
    "MatchFiles",
    "MatchSettings",
    "Paper",
    "RecommendSettings",
    "Results",
    "TagChoice",
    "__version__",
    "evaluate",
    "match",
    "plan_training",
    "read_labels",
    "read_papers",
    "read_recipe",
    "recommend",
    "tag",
    "train",
]

_MODULES = {
    "Collection": "uses.collection",
    "DeleteReport": "store",
    "EmbedReport": "store",
    "Encoder": "encoders.encoder",
    "Hit": "uses.rankings",
    "InputError": "errors",
    "Label": "papers",
    "MatchFiles": "uses.matching",
    "MatchSettings": "uses.matching",
    "Paper": "papers",
    "RecommendSettings": "uses.recommending",
    "Results": "evaluation",
    "TagChoice": "uses.tagging",
    "evaluate": "evaluation",
    "match": "uses.matching",
    "plan_training": "training.plan",
    "read_labels": "papers",
    "read_papers": "papers",
    "read_recipe": "training.recipe_file",
    "recommend": "uses.recommending",
    "tag": "uses.tagging",
    "train": "training.run",
}
"""Public name -> its module in the package."""


def __getattr__(name: str) -> Any:
    """Import the public names on first use, so that `import sciprism` stays cheap (no torch)."""
    if name in _MODULES:
        return getattr(import_module(f"sciprism.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'sciprism' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
