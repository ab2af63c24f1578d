"""The difference of two systems over the items of both, with its interval and test."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sciprism.evaluation.intervals import SAMPLES, draw_sample, resample, sample_difference, sum_samples
from sciprism.evaluation.item_scores import ItemScores


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
    return PairedDifference(gap.value, *gap.interval(), gap.p, len(ids))
