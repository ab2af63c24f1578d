"""What people do with vectors: search, similar papers, recommendation, tagging, matching."""

from sciprism.uses.rankings import Hit, Ranking
from sciprism.uses.search import search, similar, similar_to_papers

__all__ = ["Hit", "Ranking", "search", "similar", "similar_to_papers"]
