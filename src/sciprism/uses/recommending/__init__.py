"""Recommend new papers by the papers that someone has."""

from typing import TYPE_CHECKING

from sciprism.registry import import_lazily

if TYPE_CHECKING:
    from sciprism.uses.recommending.results import NearPaper, Recommendation, Recommendations, RecommendCounts
    from sciprism.uses.recommending.run import recommend
    from sciprism.uses.recommending.settings import RecommendSettings

__all__ = ["NearPaper", "RecommendCounts", "RecommendSettings", "Recommendation", "Recommendations", "recommend"]

__getattr__ = import_lazily(
    __name__,
    {
        "results": "NearPaper RecommendCounts Recommendation Recommendations",
        "run": "recommend",
        "settings": "RecommendSettings",
    },
)
