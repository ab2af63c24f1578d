"""From distances of pairs to persons: average linkage in each block, cut at one distance for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Rows
from sciprism.cores import on_all_cores
from sciprism.errors import InputError, MissingExtraError
from sciprism.metrics.clusters import b_cubed, f1
from sciprism.papers.signatures import Signature
from sciprism.uses.disambiguation.names import parse_name
from sciprism.uses.disambiguation.pairs import all_pairs

Table = Callable[[Rows, Rows], NDArray[np.float32]]
Distances = Callable[[NDArray[np.float32]], Doubles]
STEPS = 100  # cuts tried on dev
PAIRS = 200_000  # compared at once


@dataclass(frozen=True, slots=True)
class Trees:
    """The order in which the mentions of each block join: rows (n,) and scipy's linkage (n - 1, 4)."""

    rows: tuple[Rows, ...]
    joins: tuple[Doubles, ...]

    def cut(self, distance: float) -> tuple[Rows, Rows]:
        """Return all rows and their clusters' numbers, where groups up to this mean distance are one."""
        from scipy.cluster.hierarchy import fcluster

        clusters, first = [np.empty(0, np.int64)], 0
        for rows, joins in zip(self.rows, self.joins, strict=True):
            own = fcluster(joins, distance, "distance") if len(rows) > 1 else np.ones(1, np.int64)
            clusters.append(own + first)
            first += int(own.max())
        return np.concatenate([np.empty(0, np.int64), *self.rows]), np.concatenate(clusters)


def join(blocks: Mapping[str, Rows], table: Table, models: Sequence[Distances]) -> list[Trees]:
    """Join the mentions of each block by average linkage, once by each model's distances.

    table: gives the features of pairs of rows; it is asked once for all models, for many pairs at once.
    """
    try:
        from scipy.cluster.hierarchy import linkage
    except ModuleNotFoundError:
        raise MissingExtraError("bench", "author disambiguation") from None
    rows = tuple(blocks.values())
    joins: list[list[Doubles]] = [[] for _ in models]
    for some in _batches(rows):
        pairs = [all_pairs(block) for block in some]
        left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
        features = table(left, right)
        ends = np.cumsum([len(one) for one, _ in pairs])[:-1]
        apart = on_all_cores(lambda distances: distances(features), models)  # noqa: B023
        for own, found in zip(joins, apart, strict=True):
            parts = np.split(found, ends)
            own += [linkage(part, "average") if len(part) else np.empty((0, 4)) for part in parts]
    return [Trees(rows, tuple(own)) for own in joins]


def best_cut(sources: Sequence[Trees], persons: Rows) -> tuple[float, float]:
    """Return the distance from 0 to 1 whose cut has the best B3 F1, and that F1. persons: of every row.

    The F1 of several sources is averaged, weighted by their numbers of mentions. Blocks of one mention say
    nothing of the distance and are left out. Of equally good cuts the middle one is taken.
    """
    kept = [part for part in map(_several, sources) if part.rows]
    if not kept:
        raise InputError("no dev block holds two mentions; the clusters' distance cannot be chosen")
    sizes = [sum(map(len, part.rows)) for part in kept]
    cuts = np.linspace(0.0, 1.0, STEPS + 1)
    scores = []
    for cut in cuts:
        found = (part.cut(float(cut)) for part in kept)
        scores.append(np.average([f1(*b_cubed(persons[rows], own)) for rows, own in found], weights=sizes))
    best = np.flatnonzero(np.array(scores) == max(scores))
    return float(cuts[best[len(best) // 2]]), float(max(scores))


def by_name(signatures: Sequence[Signature], blocks: Mapping[str, Rows]) -> tuple[Rows, Rows]:
    """Return all rows and clusters of mentions with the same normalised full name in a block."""
    numbers: dict[tuple[str, str], int] = {}
    rows, clusters = [], []
    for block, members in blocks.items():
        for row in members.tolist():
            rows.append(row)
            clusters.append(numbers.setdefault((block, parse_name(signatures[row].name).whole), len(numbers)))
    return np.array(rows, np.int64), np.array(clusters, np.int64)


def _batches(blocks: Sequence[Rows]) -> list[list[Rows]]:
    """Put whole blocks together up to a number of pairs, at least one block each."""
    batches: list[list[Rows]] = []
    room = 0
    for rows in blocks:
        size = len(rows) * (len(rows) - 1) // 2
        if not batches or size > room:
            batches.append([])
            room = PAIRS
        batches[-1].append(rows)
        room -= size
    return batches


def _several(trees: Trees) -> Trees:
    """Return the blocks of at least two mentions."""
    kept = [i for i, rows in enumerate(trees.rows) if len(rows) > 1]
    return Trees(tuple(trees.rows[i] for i in kept), tuple(trees.joins[i] for i in kept))
