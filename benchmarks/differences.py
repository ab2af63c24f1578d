"""Scores of systems and the difference of two over the items of both, with intervals and test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sciprism.evaluation.item_scores import (
    SAMPLES,
    ItemScores,
    bootstrap_interval,
    draw_sample,
    estimate,
    resample,
    sample_difference,
    sum_samples,
)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Score of one system minus that of another over the n items they share: 95% interval, two-sided p."""

    value: float
    low: float
    high: float
    p: float
    n: int


def paired_difference(a: ItemScores, b: ItemScores, *, seed: int = 0, samples: int = SAMPLES) -> PairedDifference:
    """Compare two systems on the items of both, with the same resamples of the items for either."""
    ids = sorted({*a.ids} & {*b.ids})
    nan = math.nan
    if not ids:
        return PairedDifference(nan, nan, nan, nan, 0)
    rows = ([{name: row for row, name in enumerate(each.ids)}[name] for name in ids] for each in (a, b))
    shared = [each.take(np.array(some)) for each, some in zip((a, b), rows, strict=True)]
    mine, theirs = ({0: draw_sample(each, resample(ids, samples, seed))} for each in shared)
    gap = sample_difference(sum_samples((mine, theirs), (1, -1)))
    if math.isnan(gap.value + gap.variance):
        return PairedDifference(gap.value, nan, nan, nan, len(ids))
    return PairedDifference(gap.value, *gap.limits, gap.p, len(ids))


def describe_score(scores: ItemScores, digits: int, name: str = "value") -> dict[str, Any]:
    """Return a score, by its name, and its 95% interval."""
    limits = bootstrap_interval(scores, seed=0)
    return {name: round(estimate(scores), digits), "interval": [round(each, digits) for each in limits]}


def describe_difference(a: ItemScores, b: ItemScores, digits: int) -> list[float]:
    """Return the difference of two systems and its 95% interval."""
    found = paired_difference(a, b)
    return [round(each, digits) for each in (found.value, found.low, found.high)]
