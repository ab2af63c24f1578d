"""The texts of a batch on their way through the encoder."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from sciprism.text.template import Item
from sciprism.training.learners import Batch, Tools
from sciprism.training.passes import Pass


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors of queries (B, D), of their positives (B, D) and of all hard negatives (N, D).

    negatives: the items behind the last. owners: which query each is from.
    """

    way: Pass
    queries: Tensor
    positives: Tensor
    hard: Tensor
    negatives: tuple[Item, ...]
    owners: tuple[int, ...]


def encoded(batch: Batch, tools: Tools, hard_negatives: int) -> Encoded:
    """Encode a batch's queries, the first positive of each, and at most so many hard negatives of each."""
    encoder = tools.encoder
    queries = [example.query for example in batch.examples]
    positives = [example.positives[0] for example in batch.examples]
    found = [(n, i) for i, e in enumerate(batch.examples) for n in e.negatives[:hard_negatives]]
    negatives, owners = tuple(item for item, _ in found), tuple(i for _, i in found)
    candidates = [*positives, *negatives]
    texts = encoder.texts(queries, batch.query) + encoder.texts(candidates, batch.candidate)
    roles = [batch.query] * len(queries) + [batch.candidate] * len(candidates)
    routes = [encoder.route(batch.format, role) for role in roles]
    way = Pass(encoder, encoder.tokenize(texts), routes, memory=tools.memory, seed=batch.seed)
    count = len(queries)
    vectors = way.vectors
    parts = (vectors[:count], vectors[count : 2 * count], vectors[2 * count :])
    return Encoded(way, *parts, negatives, owners)
