"""Gradient-boosted trees that say how likely two mentions are one person (S2AND)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Rows
from sciprism.cores import on_all_cores
from sciprism.errors import InputError, MissingExtraError
from sciprism.uses.disambiguation.features import FEATURES, NAME_GROUPS

Table = NDArray[np.float32]
PATIENCE = 50  # trees without a better AUC on dev, after which no more are grown
Settings = Mapping[str, Any]
DEFAULTS: Settings = {
    "learning_rate": 0.1,
    "num_leaves": 31,
    "colsample_bytree": 0.8,
    "subsample": 0.8,
    "min_child_samples": 20,
    "n_estimators": 1000,
}
LEFT_OUT = (frozenset[str](), NAME_GROUPS)
"""Groups that the main and the nameless model do not see."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Features of pairs (n, 39) and whether each is one person (n,)."""

    table: Table
    same: NDArray[np.bool_]

    @classmethod
    def united(cls, parts: Sequence[Pairs]) -> Pairs:
        """Return the pairs of several sources as one."""
        return cls(np.concatenate([p.table for p in parts]), np.concatenate([p.same for p in parts]))


@dataclass(frozen=True, slots=True)
class Grown:
    """One model with the settings that were best on dev, its trees and its AUC there."""

    booster: Any
    columns: Rows
    settings: Settings
    trees: int
    auc: float


class SameAuthor:
    """The mean of two models: one sees all features, the other none of names and their counts."""

    def __init__(self, models: Sequence[Grown]) -> None:
        self._models = tuple(models)

    def distances(self, table: Table) -> Doubles:
        """Return the chance that the mentions of each pair are two persons. (n, 39) -> (n,)."""
        if not len(table):
            return np.empty(0)
        chances = [m.booster.predict(table[:, m.columns], num_threads=1) for m in self._models]
        different: Doubles = 1.0 - np.mean(chances, axis=0)
        return different

    def describe(self) -> list[dict[str, Any]]:
        """Return of each model its settings, its trees and its AUC on dev."""
        return [
            {**model.settings, "features": len(model.columns), "trees": model.trees, "dev AUC": model.auc}
            for model in self._models
        ]


def choose_settings(train: Pairs, dev: Pairs, *, trials: int, seed: int) -> tuple[Settings, Settings]:
    """Return settings of the main and the nameless model: of `trials` drawn ones the best on dev, by AUC.

    Without trials: `DEFAULTS` for both.
    """
    if not trials:
        return DEFAULTS, DEFAULTS
    _check(train, dev)
    rng = np.random.default_rng(seed)
    drawn = [draw_settings(rng) for _ in range(trials)]
    found = []
    for without in LEFT_OUT:
        columns = _columns(train, None, without)
        grown = on_all_cores(lambda own: _grow(train, dev, columns, own, seed), drawn)  # noqa: B023
        found.append(max(grown, key=lambda model: model.auc).settings)
    return found[0], found[1]


def train_same_author(
    train: Pairs,
    dev: Pairs,
    settings: tuple[Settings, Settings],
    *,
    seeds: Sequence[int],
    groups: frozenset[str] | None = None,
) -> list[SameAuthor]:
    """Train, for each seed, the main and the nameless model on features of some groups (None: all).

    Features that no training pair has are left out. No more trees are grown once dev does not gain by them.
    """
    _check(train, dev)
    columns = [_columns(train, groups, without) for without in LEFT_OUT]
    pieces = [(seed, which) for seed in seeds for which in range(len(LEFT_OUT))]
    grown = on_all_cores(
        lambda piece: _grow(train, dev, columns[piece[1]], settings[piece[1]], piece[0]), pieces
    )
    return [SameAuthor(grown[i : i + len(LEFT_OUT)]) for i in range(0, len(grown), len(LEFT_OUT))]


def draw_settings(rng: np.random.Generator) -> dict[str, Any]:
    """Draw hyper-parameters from S2AND's space."""

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


def _check(train: Pairs, dev: Pairs) -> None:
    for name, pairs in (("train", train), ("dev", dev)):
        if pairs.same.all() or not pairs.same.any():
            raise InputError(
                f"the {name} blocks hold {len(pairs.same):,} pairs of mentions, {pairs.same.sum():,} of one "
                "person; both kinds are needed"
            )


def _columns(train: Pairs, groups: frozenset[str] | None, without: frozenset[str]) -> Rows:
    present = np.asarray((~np.isnan(train.table)).any(axis=0))
    kept = [
        number
        for number, feature in enumerate(FEATURES)
        if present[number] and feature.group not in without and (groups is None or feature.group in groups)
    ]
    return np.array(kept, np.int64)


def _grow(train: Pairs, dev: Pairs, columns: Rows, settings: Settings, seed: int) -> Grown:
    try:
        import lightgbm
    except ModuleNotFoundError:
        raise MissingExtraError("bench", "author disambiguation") from None
    fixed = {
        "objective": "binary",
        "metric": "auc",
        "monotone_constraints": [FEATURES[column].monotone for column in columns],
        "subsample_freq": 1,
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,  # whole models side by side are faster than one on all cores
        "verbose": -1,
    }
    options = {key: value for key, value in settings.items() if key != "n_estimators"}
    known = lightgbm.Dataset(train.table[:, columns], train.same.astype(np.int8))
    booster = lightgbm.train(
        options | fixed,
        known,
        num_boost_round=settings["n_estimators"],
        valid_sets=[lightgbm.Dataset(dev.table[:, columns], dev.same.astype(np.int8), reference=known)],
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    auc = booster.best_score["valid_0"]["auc"]
    return Grown(booster, columns, settings, int(booster.best_iteration), float(auc))
