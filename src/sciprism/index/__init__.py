"""Search of a collection: exact, approximate (FAISS), lexical (BM25) and hybrid."""

from sciprism.index.exact import topk
from sciprism.index.fusion import reciprocal_rank_fusion

__all__ = ["reciprocal_rank_fusion", "topk"]
