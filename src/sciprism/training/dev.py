"""Reciprocal ranks on held-out examples, which select checkpoints."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

import numpy as np

from sciprism.arrays import Floats, normalize_rows
from sciprism.encoders.encoder import Encoder
from sciprism.text.template import Item
from sciprism.training.batches import Batch
from sciprism.training.examples import item_key


def reciprocal_rank(encoder: Encoder, batch: Batch, *, more_candidates: Iterable[Item] = ()) -> float:
    """Return the mean of `reciprocal_ranks`."""
    return float(np.mean(reciprocal_ranks(encoder, batch, more_candidates=more_candidates)))


def reciprocal_ranks(encoder: Encoder, batch: Batch, *, more_candidates: Iterable[Item] = ()) -> list[float]:
    """Return 1 / rank of each query's best positive among all candidates of the examples.

    Candidates are the positives and hard negatives of all examples and `more_candidates`, without duplicates,
    without the query itself and without positives of the same query in other examples. They are compared by
    the encoder's distance. Ties count against the model, and so do NaNs.
    """
    examples = batch.examples
    answers = (item for e in examples for item in (*e.positives, *e.negatives))
    candidates = {item_key(item): item for item in chain(more_candidates, answers)}
    columns = {key: column for column, key in enumerate(candidates)}
    queries = encoder.encode([e.query for e in examples], format=batch.format, role=batch.query)
    vectors = encoder.encode(list(candidates.values()), format=batch.format, role=batch.candidate)
    positives_of: dict[str, set[int]] = defaultdict(set)
    for example in examples:
        positives_of[item_key(example.query)].update(columns[item_key(item)] for item in example.positives)
    ranks = []
    for example, row in zip(examples, _scores(queries, vectors, encoder.distance), strict=True):
        own_columns = [columns[item_key(item)] for item in example.positives]
        best = row[own_columns].max()
        query = item_key(example.query)
        is_rival = np.ones(len(row), bool)
        is_rival[[*positives_of[query], columns.get(query, own_columns[0])]] = False
        ranks.append(1 / (1 + int(np.sum(~(row[is_rival] < best)))))
    return ranks


def _scores(queries: Floats, candidates: Floats, distance: str) -> Floats:
    if distance == "cosine":
        queries, candidates = normalize_rows(queries), normalize_rows(candidates)
    scores: Floats = queries @ candidates.T
    if distance == "euclidean":  # twice the product less the candidate's square: the same order
        scores = 2 * scores - (candidates**2).sum(axis=1)
    return scores
