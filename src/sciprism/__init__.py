"""sciprism: one scientific paper in, a spectrum of embeddings out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sciprism.registry import import_lazily

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

__getattr__ = import_lazily(
    __name__,
    {
        "encoders.encoder": "Encoder",
        "errors": "InputError",
        "evaluation": "Results evaluate",
        "papers": "Label Paper read_labels read_papers",
        "store": "DeleteReport EmbedReport",
        "training.plan": "plan_training",
        "training.recipe_file": "read_recipe",
        "training.run": "train",
        "uses.collection": "Collection",
        "uses.matching": "MatchFiles MatchSettings match",
        "uses.rankings": "Hit",
        "uses.recommending": "RecommendSettings recommend",
        "uses.tagging": "TagChoice tag",
    },
)


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted(__all__)
