"""Find the nearest rows of a collection: exactly, approximately, by words, or by several at once."""

from sciprism.index.exact import topk
from sciprism.index.fusion import reciprocal_rank_fusion

__all__ = ["reciprocal_rank_fusion", "topk"]
