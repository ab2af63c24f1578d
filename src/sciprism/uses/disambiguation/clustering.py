"""Cluster author mentions into persons (S2AND): models of pairs, then average linkage in each block.

Gradient-boosted trees predict whether two mentions are the same person; the dendrograms of all blocks are cut at one
distance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.errors import InputError, import_extra
from sciprism.metrics.predictions import b_cubed, b_cubed_f1
from sciprism.papers.bibliographic_fields import parse_name
from sciprism.papers.records import Signature
from sciprism.parallel import map_threads
from sciprism.uses.disambiguation.features import FEATURES, NAME_GROUPS

PATIENCE = 50  # trees without a better dev AUC before training stops
TreeSettings = Mapping[str, Any]
DEFAULT_SETTINGS: TreeSettings = {
    "learning_rate": 0.1,
    "num_leaves": 31,
    "colsample_bytree": 0.8,
    "subsample": 0.8,
    "min_child_samples": 20,
    "n_estimators": 1000,
}
EXCLUDED_GROUPS = (frozenset[str](), NAME_GROUPS)  # groups that the main and the nameless model do not use


@dataclass(frozen=True, slots=True)
class MentionPairs:
    """Features of pairs of mentions (n, 39), and whether each pair is one person (n,)."""

    table: Floats
    same: NDArray[np.bool_]

    @classmethod
    def concatenate(cls, parts: Sequence[MentionPairs]) -> MentionPairs:
        """Return the pairs of several sources together."""
        return cls(np.concatenate([p.table for p in parts]), np.concatenate([p.same for p in parts]))


def group_by_block(signatures: Sequence[Signature], blocks: frozenset[str]) -> dict[str, Rows]:
    """Return block -> rows of its mentions for some blocks, in the order of their names."""
    rows_by_block: defaultdict[str, list[int]] = defaultdict(list)
    for row, signature in enumerate(signatures):
        if signature.block in blocks:
            rows_by_block[signature.block].append(row)
    return {name: np.array(rows_by_block[name], np.int64) for name in sorted(rows_by_block)}


def all_pairs(rows: Rows) -> tuple[Rows, Rows]:
    """Return every pair of rows once: (0, 1), (0, 2), ..., the order of condensed distance matrices."""
    one, other = np.triu_indices(len(rows), 1)
    return rows[one], rows[other]


def sample_pairs(blocks: Mapping[str, Rows], max_pairs: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Sample at most `max_pairs` pairs, uniformly over all pairs within a block, without replacement."""
    groups = list(blocks.values())
    ends = np.cumsum([len(rows) * (len(rows) - 1) // 2 for rows in groups])
    total = int(ends[-1]) if groups else 0
    sampled = np.arange(total)
    if total > max_pairs:
        sampled = np.sort(rng.choice(total, max_pairs, replace=False))
    owners = np.searchsorted(ends, sampled, "right")
    left, right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for owner in np.unique(owners):
        rows = groups[owner]
        before = ends[owner] - len(rows) * (len(rows) - 1) // 2
        one, other = all_pairs(rows)
        here = sampled[owners == owner] - before
        left.append(one[here])
        right.append(other[here])
    return np.concatenate(left), np.concatenate(right)


@dataclass(frozen=True, slots=True)
class BoostedTrees:
    """One trained model: its columns, settings, number of trees and dev AUC."""

    booster: Any
    columns: Rows
    settings: TreeSettings
    trees: int
    auc: float


@dataclass(frozen=True, slots=True)
class SameAuthorModel:
    """The mean of two models: one uses all features, the other no names and name counts."""

    models: tuple[BoostedTrees, BoostedTrees]

    def distances(self, table: Floats) -> Doubles:
        """Return the probability that the mentions of each pair are two persons. (n, 39) -> (n,)."""
        if not len(table):
            return np.empty(0)
        probabilities = [m.booster.predict(table[:, m.columns], num_threads=1) for m in self.models]
        different: Doubles = 1.0 - np.mean(probabilities, axis=0)
        return different

    def describe(self) -> list[dict[str, Any]]:
        """Return each model's settings, number of features, number of trees and dev AUC."""
        return [
            {**model.settings, "features": len(model.columns), "trees": model.trees, "dev AUC": model.auc}
            for model in self.models
        ]


def choose_settings(
    train: MentionPairs, dev: MentionPairs, *, trials: int, seed: int
) -> tuple[TreeSettings, TreeSettings]:
    """Return settings of the main and the nameless model: the best of `trials` random ones by dev AUC.

    Without trials: `DEFAULT_SETTINGS` for both.
    """
    if not trials:
        return DEFAULT_SETTINGS, DEFAULT_SETTINGS
    _check_pairs(train, dev)
    rng = np.random.default_rng(seed)
    candidates = [sample_settings(rng) for _ in range(trials)]
    chosen = []
    for excluded in EXCLUDED_GROUPS:
        columns = _select_columns(train, None, excluded)
        models = map_threads(lambda settings: _train_trees(train, dev, columns, settings, seed), candidates)  # noqa: B023
        chosen.append(max(models, key=lambda model: model.auc).settings)
    return chosen[0], chosen[1]


def train_same_author(
    train: MentionPairs,
    dev: MentionPairs,
    settings: tuple[TreeSettings, TreeSettings],
    *,
    seeds: Sequence[int],
    groups: frozenset[str] | None = None,
) -> list[SameAuthorModel]:
    """Train the main and the nameless model for each seed, on the features of some groups (None: all).

    Features that no training pair has are dropped. Training stops when the dev AUC no longer improves.
    """
    _check_pairs(train, dev)
    columns = [_select_columns(train, groups, excluded) for excluded in EXCLUDED_GROUPS]
    jobs = [(seed, which) for seed in seeds for which in (0, 1)]
    models = map_threads(lambda job: _train_trees(train, dev, columns[job[1]], settings[job[1]], job[0]), jobs)
    return [SameAuthorModel(pair) for pair in zip(models[::2], models[1::2], strict=True)]


def sample_settings(rng: np.random.Generator) -> dict[str, Any]:
    """Sample hyper-parameters from S2AND's search space."""

    def log_uniform(low: float, high: float) -> float:
        return float(np.exp(rng.uniform(low, high)))

    return {
        "learning_rate": log_uniform(-7, 0),
        "num_leaves": max(2, round(log_uniform(2, 7))),
        "colsample_bytree": float(rng.uniform(0.5, 1)),
        "subsample": float(rng.uniform(0.5, 1)),
        "min_child_samples": round(log_uniform(3, 9)),
        "min_child_weight": log_uniform(-16, 5),
        "reg_alpha": log_uniform(-16, 2),
        "reg_lambda": log_uniform(-16, 2),
        "n_estimators": int(rng.integers(1000, 2501)),
        "max_depth": int(rng.integers(1, 101)),
        "min_split_gain": float(rng.uniform(0, 2)),
        "monotone_penalty": float(rng.uniform(0, 5)),
    }


def _check_pairs(train: MentionPairs, dev: MentionPairs) -> None:
    for name, pairs in (("train", train), ("dev", dev)):
        if pairs.same.all() or not pairs.same.any():
            raise InputError(
                f"the {name} blocks hold {len(pairs.same):,} pairs of mentions, {pairs.same.sum():,} of one "
                "person; both kinds are needed"
            )


def _select_columns(train: MentionPairs, groups: frozenset[str] | None, excluded: frozenset[str]) -> Rows:
    present = np.asarray((~np.isnan(train.table)).any(axis=0))
    selected = [
        number
        for number, feature in enumerate(FEATURES)
        if present[number] and feature.group not in excluded and (groups is None or feature.group in groups)
    ]
    return np.array(selected, np.int64)


def _train_trees(
    train: MentionPairs, dev: MentionPairs, columns: Rows, settings: TreeSettings, seed: int
) -> BoostedTrees:
    with import_extra("bench", "author disambiguation"):
        import lightgbm
    fixed = {
        "objective": "binary",
        "metric": "auc",
        "monotone_constraints": [FEATURES[column].monotone for column in columns],
        "subsample_freq": 1,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,  # several models in parallel are faster than one on all cores
        "verbose": -1,
    }
    options = {key: value for key, value in settings.items() if key != "n_estimators"}
    data = lightgbm.Dataset(train.table[:, columns], train.same.astype(np.int8))
    booster = lightgbm.train(
        options | fixed,
        data,
        num_boost_round=settings["n_estimators"],
        valid_sets=[lightgbm.Dataset(dev.table[:, columns], dev.same.astype(np.int8), reference=data)],
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    auc = booster.best_score["valid_0"]["auc"]
    return BoostedTrees(booster, columns, settings, int(booster.best_iteration), float(auc))


Block = TypeVar("Block", Rows, list[int])
FeatureFunction = Callable[[Rows, Rows], Floats]
DistanceFunction = Callable[[Floats], Doubles]
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
            numbers = fcluster(linkage, distance, "distance") if len(rows) > 1 else np.ones(1, np.int64)
            clusters.append(numbers + first)
            first += int(numbers.max())
        return np.concatenate([np.empty(0, np.int64), *self.rows]), np.concatenate(clusters)


def build_dendrograms(
    blocks: Mapping[str, Rows], features: FeatureFunction, models: Sequence[DistanceFunction]
) -> list[Dendrograms]:
    """Return the average-linkage dendrograms of each block's mentions, by each model's distances.

    features: returns the features of pairs of rows; called once for all models, on large batches of pairs.
    """
    from scipy.cluster.hierarchy import linkage

    rows = tuple(blocks.values())
    linkages: list[list[Doubles]] = [[] for _ in models]
    for batch in join_blocks(rows, lambda block: len(block) * (len(block) - 1) // 2, MAX_PAIRS):
        pairs = [all_pairs(block) for block in batch]
        left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
        table = features(left, right)
        ends = np.cumsum([len(one) for one, _ in pairs])[:-1]
        by_model = map_threads(lambda distances: distances(table), models)  # noqa: B023
        for of_model, distances in zip(linkages, by_model, strict=True):
            parts = np.split(distances, ends)
            of_model += [linkage(part, "average") if len(part) else np.empty((0, 4)) for part in parts]
    return [Dendrograms(rows, tuple(of_model)) for of_model in linkages]


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
        clusterings = (source.cut(float(cut)) for source in trees)
        f1_scores = [b_cubed_f1(*b_cubed(persons[rows], clusters)) for rows, clusters in clusterings]
        scores.append(np.average(f1_scores, weights=sizes))
    best = np.flatnonzero(np.array(scores) == max(scores))
    return float(cuts[best[len(best) // 2]]), float(max(scores))


def cluster_by_name(signatures: Sequence[Signature], blocks: Mapping[str, Rows]) -> tuple[Rows, Rows]:
    """Return all rows and their clusters: the mentions of a block with the same normalized full name."""
    numbers: dict[tuple[str, str], int] = {}
    rows, clusters = [], []
    for block, members in blocks.items():
        for row in members.tolist():
            rows.append(row)
            clusters.append(numbers.setdefault((block, parse_name(signatures[row].name).whole), len(numbers)))
    return np.array(rows, np.int64), np.array(clusters, np.int64)


def join_blocks(blocks: Iterable[Block], count: Callable[[Block], int], most: int) -> Iterator[list[Block]]:
    """Yield whole blocks together: those of one batch count at most so much, or are one block alone."""
    batch, total = list[Block](), 0
    for block in blocks:
        if batch and total + count(block) > most:
            yield batch
            batch, total = [], 0
        batch.append(block)
        total += count(block)
    if batch:
        yield batch
