"""What a source's examples teach: the texts to encode and the loss of their vectors, one file per kind."""

from sciprism.training.learners import (
    auto_encoding,
    contrast,
    facets,
    four_sum,
    heads,
    label_ranking,
    masked_lm,
    relations,
    similarity,
    triplet,
    vector,
)
from sciprism.training.learners.registry import learners

__all__ = [
    "auto_encoding",
    "contrast",
    "facets",
    "four_sum",
    "heads",
    "label_ranking",
    "learners",
    "masked_lm",
    "relations",
    "similarity",
    "triplet",
    "vector",
]
