"""The model that ships: boosted trees of plain numbers, from features of two signatures to a probability."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.arrays import Doubles, Floats
from sciprism.uses.disambiguation.features import COLUMNS, FEATURES

DEFAULT = Path(__file__).with_name("same_author.json")


@dataclass(frozen=True, slots=True, eq=False)
class PairModel:
    """Trees, each a column of nodes: feature, threshold, left, right, the side of missing values, value of a leaf.

    cut: the mean distance (1 - probability) up to which groups of signatures are one person. A leaf is its own child.
    """

    trees: list[tuple[Any, ...]]
    cut: float

    @classmethod
    def load(cls, path: Path = DEFAULT) -> PairModel:
        """Read a model."""
        return cls.parse(json.loads(path.read_text(encoding="utf-8")))

    @classmethod
    def parse(cls, stored: dict[str, Any]) -> PairModel:
        """Return the model of its trees and cut."""
        return cls([_parse_tree(tree) for tree in stored["trees"]], stored["cut"])

    def distances(self, table: Floats) -> Doubles:
        """Return the probability that the signatures of each pair are two persons. (n, 39) -> (n,)."""
        odds, rows = np.zeros(len(table)), np.arange(len(table))
        for columns, thresholds, left, right, missing_left, values, depth in self.trees:
            nodes = np.zeros(len(table), np.int64)
            for _ in range(depth):
                measured = table[rows, columns[nodes]]
                goes_left = np.where(np.isnan(measured), missing_left[nodes], measured <= thresholds[nodes])
                nodes = np.where(goes_left, left[nodes], right[nodes])
            odds += values[nodes]
        return 1 / (1 + np.exp(odds))


def _parse_tree(rows: list[list[Any]]) -> tuple[Any, ...]:
    """Return the arrays of a tree from its nodes: [feature, threshold, left, right, missing left] or [value]."""
    inner = [row if len(row) > 1 else [FEATURES[0].name, 0.0, place, place, 0] for place, row in enumerate(rows)]
    names, thresholds, left, right, missing = zip(*inner, strict=True)
    values = [0.0 if len(row) > 1 else row[0] for row in rows]
    depths = [0] * len(rows)
    for place, row in enumerate(rows):  # parents are first
        for child in row[2:4]:
            depths[child] = depths[place] + 1
    arrays = (np.array([COLUMNS[name] for name in names]), np.array(thresholds), np.array(left), np.array(right))
    return *arrays, np.array(missing, bool), np.array(values), max(depths)
