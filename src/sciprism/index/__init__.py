"""Search of a collection: exact, approximate (FAISS), lexical (BM25) and hybrid."""

from sciprism.index import approximate, lexical
from sciprism.index.exact import topk
from sciprism.index.fusion import reciprocal_rank_fusion
from sciprism.index.registry import vector_searches

__all__ = ["approximate", "lexical", "reciprocal_rank_fusion", "topk", "vector_searches"]
