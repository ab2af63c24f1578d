"""sciprism: one scientific paper in, a spectrum of embeddings out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sciprism.registry import import_lazily

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder as Encoder
    from sciprism.errors import InputError as InputError
    from sciprism.evaluation import Results as Results
    from sciprism.evaluation import evaluate as evaluate
    from sciprism.papers import Label as Label
    from sciprism.papers import Paper as Paper
    from sciprism.papers import read_labels as read_labels
    from sciprism.papers import read_papers as read_papers
    from sciprism.store import DeleteReport as DeleteReport
    from sciprism.store import EmbedReport as EmbedReport
    from sciprism.training.plan import plan_training as plan_training
    from sciprism.training.recipe_file import read_recipe as read_recipe
    from sciprism.training.run import train as train
    from sciprism.uses.collection import Collection as Collection
    from sciprism.uses.matching.run import match as match
    from sciprism.uses.matching.settings import MatchFiles as MatchFiles
    from sciprism.uses.matching.settings import MatchSettings as MatchSettings
    from sciprism.uses.recommending.run import recommend as recommend
    from sciprism.uses.recommending.settings import RecommendSettings as RecommendSettings
    from sciprism.uses.search import Hit as Hit
    from sciprism.uses.tagging import TagChoice as TagChoice
    from sciprism.uses.tagging import tag as tag

__version__ = "0.2.0"
_NAMES = {
    "encoders.encoder": "Encoder",
    "errors": "InputError",
    "evaluation": "Results evaluate",
    "papers": "Label Paper read_labels read_papers",
    "store": "DeleteReport EmbedReport",
    "training.plan": "plan_training",
    "training.recipe_file": "read_recipe",
    "training.run": "train",
    "uses.collection": "Collection",
    "uses.matching.run": "MatchFiles MatchSettings match",
    "uses.recommending.run": "RecommendSettings recommend",
    "uses.search": "Hit",
    "uses.tagging": "TagChoice tag",
}
__getattr__ = import_lazily(__name__, _NAMES)
__all__ = sorted(["__version__", *" ".join(_NAMES.values()).split()])


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return __all__
