"""What contrast and triplets have in common: queries, a positive of each, hard negatives."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.nn import functional as F

from sciprism.text.template import Item
from sciprism.training.batch import Batch
from sciprism.training.learners.learner import Asked
from sciprism.training.processes import Processes


def asked(batch: Batch, most: int) -> list[Asked]:
    """Return the queries, the first positive of each, and at most so many hard negatives of each."""
    return [
        ([example.query for example in batch.examples], batch.query),
        ([example.positives[0] for example in batch.examples], batch.candidate),
        (hard_negatives(batch, most), batch.candidate),
    ]


def compared(vectors: Sequence[Tensor], similarity: str) -> list[Tensor]:
    """Return the vectors, of length 1 where cosines compare them."""
    return [F.normalize(each, dim=-1) for each in vectors] if similarity == "cosine" else list(vectors)


def shared(vectors: Sequence[Tensor], similarity: str, processes: Processes) -> list[Tensor]:
    """Return the vectors of all processes, of length 1 where cosines compare them."""
    return [processes.gather(each) for each in compared(vectors, similarity)]


def hard_negatives(batch: Batch, most: int) -> list[Item]:
    """Return the first hard negatives of each example, at most so many, example by example."""
    return [item for example in batch.examples for item in example.negatives[:most]]
