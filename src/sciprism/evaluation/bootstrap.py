"""Scores from item scores, with bootstrap intervals and paired tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.evaluation.aggregates import aggregates
from sciprism.evaluation.item_scores import ItemScores, align_classes

SAMPLES = 1000
"""Default number of resamples and of random swaps; p is then at least 1/1001."""
LEVEL = 95.0
"""Percentage of resamples inside an interval."""
CELLS = 4_000_000
"""Item weights held in memory at once."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Score of one system minus that of another over the n items they share.

    low, high: 95% interval of a paired bootstrap. p: probability of a difference at least as large, in either
    direction, if the systems were exchangeable. only_a, only_b: items of one system alone, not compared.
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()


def estimate(item_scores: ItemScores) -> float:
    """Return the score; NaN without items or where the aggregate is undefined (correlation of a constant)."""
    if not item_scores.ids:
        return float("nan")
    return float(evaluate_aggregate(item_scores.parts, item_scores.aggregate, np.ones((1, len(item_scores.ids))))[0])


def bootstrap_interval(item_scores: ItemScores, *, seed: int, samples: int = SAMPLES) -> tuple[float, float]:
    """Return the 95% percentile bootstrap interval of the score: items are sampled with replacement.

    Resamples in which the aggregate is undefined are dropped; (NaN, NaN) where it is undefined in all.
    """
    return _percentiles([_evaluate(item_scores, w) for w in _seeded_resamples(item_scores, seed, samples)])


def paired_difference(a: ItemScores, b: ItemScores, *, seed: int, samples: int = SAMPLES) -> PairedDifference:
    """Compare two systems on the items of both, by a paired bootstrap and a paired randomisation test.

    The test swaps the systems' results of each item at random: p = (1 + as large) / (1 + samples).
    Raises InputError where aggregates or numbers of parts differ.
    """
    if a.aggregate != b.aggregate or len(a.more) != len(b.more):
        raise InputError(
            f"{a.aggregate!r} of {len(a.parts)} and {b.aggregate!r} of {len(b.parts)} parts do not compare"
        )
    in_a, in_b = set(a.ids), set(b.ids)
    ids = tuple(i for i in a.ids if i in in_b)
    only_a, only_b = tuple(i for i in a.ids if i not in in_b), tuple(i for i in b.ids if i not in in_a)
    if not ids:
        return PairedDifference(np.nan, np.nan, np.nan, np.nan, 0, only_a, only_b)
    one, other = align_classes(a.take(_positions(a, ids)), b.take(_positions(b, ids)))
    value = estimate(one) - estimate(other)
    low, high = _percentiles([_evaluate(one, w) - _evaluate(other, w) for w in _seeded_resamples(one, seed, samples)])
    p = value if np.isnan(value) else _randomization_p(one, other, value, seed, samples)
    return PairedDifference(value, low, high, p, len(ids), only_a, only_b)


def holm(p_values: ArrayLike) -> Doubles:
    """Correct p values (m,) for multiple tests (Holm 1979), in the order given; NaN stays and is not counted.

    The i-th smallest is multiplied by m - i + 1; no result is below one before it, none is above 1.
    """
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")[: int((~np.isnan(given)).sum())]
    corrected = np.full(given.shape, np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(given[order] * np.arange(len(order), 0, -1)), 1.0)
    return corrected


def evaluate_aggregate(parts: Sequence[Doubles], aggregate: str, weights: Doubles) -> Doubles:
    """Return the mean over the parts of an aggregate's value under each row of weights. (b, n) -> (b,)."""
    mean: Doubles = np.mean([aggregates[aggregate].statistic(part, weights) for part in parts], axis=0)
    return mean


def resample(items: int, samples: int, random: np.random.Generator) -> Iterator[Doubles]:
    """Yield how often each item is sampled, (b, items), in blocks that add up to `samples`."""
    for size in _block_sizes(items, samples):
        sampled = random.integers(0, max(items, 1), (size, items)) + items * np.arange(size)[:, None]
        yield np.bincount(sampled.ravel(), minlength=size * items).reshape(size, items).astype(np.float64)


def swapped_differences(a: ItemScores, b: ItemScores, random: np.random.Generator, samples: int) -> Doubles:
    """Return the difference of two results on the same items and classes, items swapped or not, (samples,).

    Among 2n rows, n of either system, a swap takes the other system's row.
    """
    parts = [np.concatenate(pair) for pair in zip(a.parts, b.parts, strict=True)]
    found = []
    for size in _block_sizes(2 * len(a.ids), samples):
        swapped = random.integers(0, 2, (size, len(a.ids))).astype(np.float64)
        sides = (np.hstack([1 - swapped, swapped]), np.hstack([swapped, 1 - swapped]))
        one, other = (evaluate_aggregate(parts, a.aggregate, weights) for weights in sides)
        found.append(one - other)
    return np.concatenate(found)


def _randomization_p(a: ItemScores, b: ItemScores, value: float, seed: int, samples: int) -> float:
    differences = swapped_differences(a, b, np.random.default_rng([seed, 1]), samples)
    # Equal differences differ in their last digits, depending on the order of summation.
    large = int((np.abs(differences) >= abs(value) * (1 - 1e-9) - 1e-12).sum())
    return (1 + large) / (1 + samples)


def _seeded_resamples(item_scores: ItemScores, seed: int, samples: int) -> Iterator[Doubles]:
    items = len(item_scores.ids)
    return resample(items, samples if items else 0, np.random.default_rng([seed, 0]))


def _block_sizes(items: int, samples: int) -> Iterator[int]:
    step = max(1, CELLS // max(1, items))
    for start in range(0, samples, step):
        yield min(step, samples - start)


def _evaluate(item_scores: ItemScores, weights: Doubles) -> Doubles:
    return evaluate_aggregate(item_scores.parts, item_scores.aggregate, weights)


def _percentiles(found: Sequence[Doubles]) -> tuple[float, float]:
    values = np.concatenate([np.empty(0), *found])
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.percentile(values, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return float(low), float(high)


def _positions(item_scores: ItemScores, ids: tuple[str, ...]) -> NDArray[np.int64]:
    index = {i: n for n, i in enumerate(item_scores.ids)}
    return np.array([index[i] for i in ids], dtype=np.int64)
