"""How well a model finds what belongs together in held-out examples: what chooses checkpoints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

import numpy as np

from sciprism.arrays import Floats
from sciprism.encoders.encoder import Encoder
from sciprism.text.template import Item
from sciprism.training.batch import Batch
from sciprism.training.examples import key_of


def reciprocal_rank(encoder: Encoder, batch: Batch, *, beside: Iterable[Item] = ()) -> float:
    """Return the mean of `reciprocal_ranks`."""
    return float(np.mean(reciprocal_ranks(encoder, batch, beside=beside)))


def reciprocal_ranks(encoder: Encoder, batch: Batch, *, beside: Iterable[Item] = ()) -> list[float]:
    """Return 1 / rank of each query's best positive among all candidates of the examples.

    Candidates are the positives and hard negatives of all examples, and what is given beside them, each once,
    compared by the encoder's distance; never the query itself, nor what is a positive of the same query in
    another example. Ties count against the model, and so does what is no number.
    """
    examples = batch.examples
    answers = (item for e in examples for item in (*e.positives, *e.negatives))
    candidates = {key_of(item): item for item in chain(beside, answers)}
    places = {key: place for place, key in enumerate(candidates)}
    asked = encoder.encode([e.query for e in examples], format=batch.format, role=batch.query)
    given = encoder.encode(list(candidates.values()), format=batch.format, role=batch.candidate)
    known: dict[str, set[int]] = defaultdict(set)
    for example in examples:
        known[key_of(example.query)].update(places[key_of(item)] for item in example.positives)
    found = []
    for example, row in zip(examples, _scores(asked, given, encoder.distance), strict=True):
        right = [places[key_of(item)] for item in example.positives]
        best = row[right].max()
        query = key_of(example.query)
        others = np.ones(len(row), bool)
        others[[*known[query], places.get(query, right[0])]] = False
        found.append(1 / (1 + int(np.sum(~(row[others] < best)))))
    return found


def units(vectors: Floats) -> Floats:
    """Return vectors, (n, d), of length 1, as cosines compare them; zeros stay."""
    found: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return found


def _scores(queries: Floats, candidates: Floats, distance: str) -> Floats:
    if distance == "cosine":
        queries, candidates = units(queries), units(candidates)
    scores: Floats = queries @ candidates.T
    if distance == "euclidean":  # twice the product less the candidate's square: the same order
        scores = 2 * scores - (candidates**2).sum(axis=1)
    return scores
