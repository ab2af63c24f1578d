"""Match submissions with reviewers: scores by papers, conflicts, loads, fairness, reasons and an audit."""

from typing import TYPE_CHECKING

from sciprism.registry import import_lazily

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

__getattr__ = import_lazily(
    __name__,
    {
        "expertise": "mean_of_best score_pairs",
        "result": "AssignedPair Matching",
        "reviewers": "Reviewer",
        "run": "match",
        "settings": "MatchFiles MatchSettings",
    },
)
