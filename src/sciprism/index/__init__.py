"""Search of a collection: exact, approximate (FAISS), lexical (BM25) and hybrid."""

from sciprism.index import approximate, lexical
from sciprism.index.exact import topk, vector_searches
from sciprism.index.fusion import FUSION_DEPTH, choose_share, fuse, fuse_searches

__all__ = ["FUSION_DEPTH", "approximate", "choose_share", "fuse", "fuse_searches", "lexical", "topk", "vector_searches"]
