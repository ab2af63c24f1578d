"""The numbers under a report's cells, with the bootstrap distributions that carry their uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sciprism.arrays import Doubles
from sciprism.evaluation.report.entrants import Run
from sciprism.evaluation.report.lines import Line
from sciprism.evaluation.report.model import Difference, Score
from sciprism.evaluation.report.resampling import Resampler, mean

FEW = 1000
"""Items below which a difference is tested by swaps; with more, its bootstrap error is a normal one."""
TINY = 1e-12
"""Differences below are rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A value and what it would have been on resampled items; draws is None where there are no items.

    interval: as stored with the result, where the number is one metric of one run.
    """

    value: float
    draws: Doubles | None
    by_seed: Mapping[int, float] = field(default_factory=dict)
    n: int = 0
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """A difference, what it would be on resampled items, and, where they are few, with results swapped."""

    value: float
    draws: Doubles
    swaps: Doubles | None = None


@dataclass(slots=True)
class Trial:
    """One system at one line: its number and its distance to the baseline, or why there is none.

    remark: what of it does not compare.
    """

    status: str
    number: Number | None = None
    gap: Gap | None = None
    remark: str = ""


def number_of(line: Line, runs: Sequence[Run], resampler: Resampler) -> Number:
    """Return a line's number for one system: the mean over its seeds."""
    values = [line.value(run) for run in runs]
    measures = [run.result.metrics[name] for run in runs for name in line.metrics]
    only = measures[0] if len(measures) == 1 else None
    return Number(
        value=float(np.mean(values)),
        draws=resampler.mean([(run, name) for run in runs for name in line.metrics]),
        by_seed={run.result.seed: value for run, value in zip(runs, values, strict=True)},
        n=max(measure.n for measure in measures),
        interval=(only.low, only.high) if only else None,
    )


def mean_of(numbers: Sequence[Number]) -> Number:
    """Return the mean of the numbers of several lines, whose items were drawn apart from each other."""
    drawn = [number.draws for number in numbers if number.draws is not None]
    seeds = set(numbers[0].by_seed).intersection(*(number.by_seed for number in numbers))
    return Number(
        value=float(np.mean([number.value for number in numbers])),
        draws=mean(drawn) if len(drawn) == len(numbers) else None,
        by_seed={s: float(np.mean([number.by_seed[s] for number in numbers])) for s in sorted(seeds)},
        n=sum(number.n for number in numbers),
    )


def gap_of(
    line: Line, runs: Sequence[Run], baseline: Sequence[Run], resampler: Resampler
) -> tuple[Gap | None, str]:
    """Return how far a line's number is above the baseline's, seed by seed and item by item, or why not."""
    theirs = {run.result.seed: run for run in baseline}
    pairs = [(run, theirs[run.result.seed]) for run in runs if run.result.seed in theirs]
    if not pairs:
        return None, "made with other seeds than the baseline"
    named = [(run, other, name) for run, other in pairs for name in line.metrics]
    reason = next(filter(None, (resampler.unpaired(*pair) for pair in named)), "")
    mine = resampler.mean([(run, name) for run, _, name in named])
    others = resampler.mean([(other, name) for _, other, name in named])
    if reason or mine is None or others is None:
        return None, reason
    if np.isnan(mine - others).all():
        return None, "no resample of the items has a value"
    value = float(np.mean([line.value(run) - line.value(other) for run, other in pairs]))
    few = max(run.result.metrics[name].n for run, _, name in named) < FEW
    return Gap(value, mine - others, resampler.swapped(named) if few else None), ""


def mean_gap(gaps: Sequence[Gap]) -> Gap:
    """Return the mean of the differences of several lines."""
    swapped = [gap.swaps for gap in gaps if gap.swaps is not None]
    return Gap(
        float(np.mean([gap.value for gap in gaps])),
        mean([gap.draws for gap in gaps]),
        mean(swapped) if len(swapped) == len(gaps) else None,
    )


def score(number: Number) -> Score:
    """Return a number as a cell shows it."""
    low, high = number.interval or _interval(number.draws)
    values = list(number.by_seed.values())
    return Score(
        value=number.value,
        low=None if math.isnan(low) else low,
        high=None if math.isnan(high) else high,
        n=number.n,
        seeds=max(len(values), 1),
        sd=float(np.std(values, ddof=1)) if len(values) > 1 else None,
    )


def difference(gap: Gap, number: Number, base: Number | None) -> Difference:
    """Return a difference with interval, two-sided p, and whether the two numbers lie apart over seeds."""
    found = _tested(gap)
    far = base is not None and apart([*number.by_seed.values()], [*base.by_seed.values()])
    return replace(found, apart=far)


def _tested(gap: Gap) -> Difference:
    low, high = _interval(gap.draws)
    if gap.swaps is None:
        error = float(np.nanstd(gap.draws, ddof=1))
        p = math.erfc(abs(gap.value) / error / math.sqrt(2)) if error > TINY else float(abs(gap.value) < TINY)
        return Difference(value=gap.value, low=low, high=high, p=p)
    # A swap without a value counts as large, and equal differences may differ in their last digits.
    small = int((np.abs(gap.swaps) < abs(gap.value) - TINY).sum())
    p = (1 + len(gap.swaps) - small) / (1 + len(gap.swaps))
    return Difference(value=gap.value, low=low, high=high, p=p)


def apart(a: Sequence[float] | Doubles, b: Sequence[float] | Doubles) -> bool:
    """Tell whether the means of several runs are more than two standard deviations apart, the larger one's.

    How INDUS (section 4) picks out differences; it says nothing of items. False where neither has two runs.
    """
    spread = max(float(np.std(each, ddof=1)) if len(each) > 1 else 0.0 for each in (a, b))
    return spread > 0 and abs(float(np.mean(a)) - float(np.mean(b))) > 2 * spread


def _interval(draws: Doubles | None) -> tuple[float, float]:
    """Return the 2.5 and 97.5 percentiles, NaN without draws; draws without a value are left out."""
    if draws is None or np.isnan(draws).all():
        return math.nan, math.nan
    low, high = np.nanquantile(draws, (0.025, 0.975))
    return float(low), float(high)
