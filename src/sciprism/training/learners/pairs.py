"""What contrast and triplets have in common: queries, a positive of each, hard negatives."""

from __future__ import annotations

from sciprism.text.template import Item
from sciprism.training.learners import Asked, Batch


def asked(batch: Batch, most: int) -> list[Asked]:
    """Return the queries, the first positive of each, and at most so many hard negatives of each."""
    return [
        ([example.query for example in batch.examples], batch.query),
        ([example.positives[0] for example in batch.examples], batch.candidate),
        (hard_negatives(batch, most), batch.candidate),
    ]


def hard_negatives(batch: Batch, most: int) -> list[Item]:
    """Return the first hard negatives of each example, at most so many, example by example."""
    return [item for example in batch.examples for item in example.negatives[:most]]
