"""Scores from item scores, with intervals and paired tests by the bootstrap's standard error (`intervals`)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.evaluation.aggregates import aggregates, find_bounds
from sciprism.evaluation.intervals import ItemSample, sample_difference, score_interval, sum_samples
from sciprism.evaluation.item_scores import ItemScores, align_classes

SAMPLES = 1000
"""Default number of resamples; a standard error then varies by 2%."""
CELLS = 4_000_000
"""Item weights held in memory at once."""


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Score of one system minus that of another over the n items they share.

    low, high: 95% interval; p: two-sided, below 0.05 if and only if the interval excludes 0. only_a, only_b:
    items of one system alone, not compared.
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


def bootstrap_interval(item_scores: ItemScores, *, seed: int = 0, samples: int = SAMPLES) -> tuple[float, float]:
    """Return the 95% interval of the score (`intervals.score_interval`): its items are sampled with replacement.

    Resamples in which the aggregate is undefined are dropped; (NaN, NaN) where it is undefined in all.
    """
    ordered = sort_items(item_scores)
    return score_interval({0: draw_sample(ordered, resample(ordered.ids, samples, seed))})


def paired_difference(a: ItemScores, b: ItemScores, *, seed: int = 0, samples: int = SAMPLES) -> PairedDifference:
    """Compare two systems on the items of both, with the same resamples of the items for either.

    Raises InputError where aggregates or numbers of parts differ.
    """
    if a.aggregate != b.aggregate or len(a.more) != len(b.more):
        raise InputError(
            f"{a.aggregate!r} of {len(a.parts)} and {b.aggregate!r} of {len(b.parts)} parts do not compare"
        )
    in_a, in_b = set(a.ids), set(b.ids)
    ids = tuple(sorted(in_a & in_b))
    only_a, only_b = tuple(i for i in a.ids if i not in in_b), tuple(i for i in b.ids if i not in in_a)
    if not ids:
        return PairedDifference(np.nan, np.nan, np.nan, np.nan, 0, only_a, only_b)
    one, other = align_classes(a.take(_positions(a, ids)), b.take(_positions(b, ids)))
    mine, theirs = ({0: draw_sample(side, resample(ids, samples, seed))} for side in (one, other))
    found = sample_difference(sum_samples((mine, theirs), (1, -1)))
    if np.isnan(found.value + found.variance):
        return PairedDifference(found.value, np.nan, np.nan, np.nan, len(ids), only_a, only_b)
    return PairedDifference(found.value, *found.interval(), found.p, len(ids), only_a, only_b)


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


def sort_items(item_scores: ItemScores) -> ItemScores:
    """Return the item scores in order of id, so that resamples do not depend on the order of a file."""
    return item_scores.take(np.argsort(np.array(item_scores.ids, dtype=np.str_), kind="stable"))


def items_key(ids: Sequence[str]) -> int:
    """Return a number that identifies some items: scores on the same items have the same resamples."""
    return int.from_bytes(hashlib.sha256("\n".join(ids).encode()).digest()[:8])


def resample(ids: Sequence[str], samples: int, seed: int) -> Iterator[Doubles]:
    """Yield how often each item is sampled, (b, items), in blocks that add up to `samples`; seeded by the ids."""
    items, random = len(ids), np.random.default_rng([seed, 0, items_key(ids)])
    step = max(1, CELLS // max(1, items))
    for start in range(0, samples if items else 0, step):
        size = min(step, samples - start)
        sampled = random.integers(0, items, (size, items)) + items * np.arange(size)[:, None]
        yield np.bincount(sampled.ravel(), minlength=size * items).reshape(size, items).astype(np.float64)


def draw_sample(item_scores: ItemScores, weights: Iterable[Doubles]) -> ItemSample:
    """Return a score and its values on resamples.

    Their deviations from the score are scaled by sqrt(n / (n - 1)): resamples vary less than samples do.
    """
    draws = [evaluate_aggregate(item_scores.parts, item_scores.aggregate, block) for block in weights]
    n, value = len(item_scores.ids), estimate(item_scores)
    found = value + (np.concatenate([np.empty(0), *draws]) - value) * math.sqrt(n / max(n - 1, 1))
    return ItemSample(value, found, n, find_bounds(item_scores.aggregate, item_scores.parts))


def _positions(item_scores: ItemScores, ids: tuple[str, ...]) -> NDArray[np.int64]:
    index = {i: n for n, i in enumerate(item_scores.ids)}
    return np.array([index[i] for i in ids], dtype=np.int64)
