"""Cluster mentions into persons: average linkage in each block, cut at one distance for all blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Rows
from sciprism.datasets.inputs import Signature
from sciprism.errors import InputError, MissingExtraError
from sciprism.evaluation.disambiguation.models import all_pairs
from sciprism.metrics.clusters import b_cubed, f1
from sciprism.papers.person_names import parse_name
from sciprism.parallel import map_threads

FeatureFunction = Callable[[Rows, Rows], NDArray[np.float32]]
DistanceFunction = Callable[[NDArray[np.float32]], Doubles]
CUT_STEPS = 100  # candidate cuts on dev
MAX_PAIRS = 200_000  # per batch


@dataclass(frozen=True, slots=True)
class Dendrograms:
    """The dendrogram of each block: the rows (n,) of its mentions and scipy's linkage (n - 1, 4)."""

    rows: tuple[Rows, ...]
    linkages: tuple[Doubles, ...]

    def cut(self, distance: float) -> tuple[Rows, Rows]:
        """Return all rows and their cluster numbers; groups up to this mean distance are merged."""
        from scipy.cluster.hierarchy import fcluster

        clusters, first = [np.empty(0, np.int64)], 0
        for rows, linkage in zip(self.rows, self.linkages, strict=True):
            found = fcluster(linkage, distance, "distance") if len(rows) > 1 else np.ones(1, np.int64)
            clusters.append(found + first)
            first += int(found.max())
        return np.concatenate([np.empty(0, np.int64), *self.rows]), np.concatenate(clusters)


def build_dendrograms(
    blocks: Mapping[str, Rows], features: FeatureFunction, models: Sequence[DistanceFunction]
) -> list[Dendrograms]:
    """Return the average-linkage dendrograms of each block's mentions, by each model's distances.

    features: returns the features of pairs of rows; called once for all models, on large batches of pairs.
    """
    try:
        from scipy.cluster.hierarchy import linkage
    except ModuleNotFoundError:
        raise MissingExtraError("bench", "author disambiguation") from None
    rows = tuple(blocks.values())
    linkages: list[list[Doubles]] = [[] for _ in models]
    for batch in _batches(rows):
        pairs = [all_pairs(block) for block in batch]
        left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
        table = features(left, right)
        ends = np.cumsum([len(one) for one, _ in pairs])[:-1]
        by_model = map_threads(lambda distances: distances(table), models)  # noqa: B023
        for found, distances in zip(linkages, by_model, strict=True):
            parts = np.split(distances, ends)
            found += [linkage(part, "average") if len(part) else np.empty((0, 4)) for part in parts]
    return [Dendrograms(rows, tuple(found)) for found in linkages]


def choose_cut(sources: Sequence[Dendrograms], persons: Rows) -> tuple[float, float]:
    """Return the distance from 0 to 1 whose cut has the best B3 F1, and that F1. persons: of every row.

    The F1 of several sources is averaged, weighted by their numbers of mentions. Blocks of one mention are
    ignored. Of equally good cuts the middle one is chosen.
    """
    several = (
        [pair for pair in zip(source.rows, source.linkages, strict=True) if len(pair[0]) > 1] for source in sources
    )
    trees = [Dendrograms(*zip(*pairs, strict=True)) for pairs in several if pairs]
    if not trees:
        raise InputError("no dev block holds two mentions; the clusters' distance cannot be chosen")
    sizes = [sum(map(len, source.rows)) for source in trees]
    cuts = np.linspace(0.0, 1.0, CUT_STEPS + 1)
    scores = []
    for cut in cuts:
        found = (source.cut(float(cut)) for source in trees)
        each = [f1(*b_cubed(persons[rows], clusters)) for rows, clusters in found]
        scores.append(np.average(each, weights=sizes))
    best = np.flatnonzero(np.array(scores) == max(scores))
    return float(cuts[best[len(best) // 2]]), float(max(scores))


def cluster_by_name(signatures: Sequence[Signature], blocks: Mapping[str, Rows]) -> tuple[Rows, Rows]:
    """Return all rows and their clusters: the mentions of a block with the same normalised full name."""
    numbers: dict[tuple[str, str], int] = {}
    rows, clusters = [], []
    for block, members in blocks.items():
        for row in members.tolist():
            rows.append(row)
            clusters.append(numbers.setdefault((block, parse_name(signatures[row].name).whole), len(numbers)))
    return np.array(rows, np.int64), np.array(clusters, np.int64)


def _batches(blocks: Sequence[Rows]) -> list[list[Rows]]:
    """Group whole blocks into batches of at most `MAX_PAIRS` pairs, at least one block each."""
    batches: list[list[Rows]] = []
    room = 0
    for rows in blocks:
        size = len(rows) * (len(rows) - 1) // 2
        if not batches or size > room:
            batches.append([])
            room = MAX_PAIRS
        batches[-1].append(rows)
        room -= size
    return batches
