"""What contrast and triplets have in common: queries, a positive of each, hard negatives."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.nn import functional as F

from sciprism.text.template import Item
from sciprism.training.learners import Asked, Batch
from sciprism.training.processes import Processes


def asked(batch: Batch, most: int) -> list[Asked]:
    """Return the queries, the first positive of each, and at most so many hard negatives of each."""
    return [
        ([example.query for example in batch.examples], batch.query),
        ([example.positives[0] for example in batch.examples], batch.candidate),
        (hard_negatives(batch, most), batch.candidate),
    ]


def shared(vectors: Sequence[Tensor], similarity: str, processes: Processes) -> list[Tensor]:
    """Return the vectors of all processes, of length 1 where cosines compare them."""
    unit = similarity == "cosine"
    return [processes.gather(F.normalize(each, dim=-1) if unit else each) for each in vectors]


def hard_negatives(batch: Batch, most: int) -> list[Item]:
    """Return the first hard negatives of each example, at most so many, example by example."""
    return [item for example in batch.examples for item in example.negatives[:most]]
