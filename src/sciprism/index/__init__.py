"""Search of a collection: exact, approximate (FAISS), lexical (BM25) and hybrid."""

from sciprism.index import approximate, lexical
from sciprism.index.exact import reciprocal_rank_fusion, topk, vector_searches

__all__ = ["approximate", "lexical", "reciprocal_rank_fusion", "topk", "vector_searches"]
