"""Training objectives: the texts of a source's examples that are encoded, and the loss; one file per kind."""

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
    vectors,
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
    "vectors",
]
