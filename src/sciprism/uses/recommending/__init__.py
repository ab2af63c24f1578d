"""Recommend new papers by the papers that someone has."""

from sciprism.uses.recommending.recommend import recommend
from sciprism.uses.recommending.results import NearPaper, Recommendation, Recommendations, RecommendCounts
from sciprism.uses.recommending.settings import RecommendSettings

__all__ = ["NearPaper", "RecommendCounts", "RecommendSettings", "Recommendation", "Recommendations", "recommend"]
