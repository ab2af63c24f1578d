"""Match submissions with reviewers: scores by papers, conflicts, loads, fairness, reasons and an audit."""

from typing import TYPE_CHECKING

from sciprism.registry import import_lazily

if TYPE_CHECKING:
    from sciprism.uses.matching.expertise import mean_of_best as mean_of_best
    from sciprism.uses.matching.expertise import score_pairs as score_pairs
    from sciprism.uses.matching.result import AssignedPair as AssignedPair
    from sciprism.uses.matching.result import Matching as Matching
    from sciprism.uses.matching.reviewers import Reviewer as Reviewer
    from sciprism.uses.matching.run import match as match
    from sciprism.uses.matching.settings import MatchFiles as MatchFiles
    from sciprism.uses.matching.settings import MatchSettings as MatchSettings

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
