"""Numbers over seeds and items, and how far two of them lie apart: the intervals of tables and of verdicts.

A row may have several models, trained with several seeds. Its number is the mean over them. What is not
certain about it has two parts:

items   The test items are drawn anew (`report.resampling`): the same draws for every row, so differences
        are paired; tasks are drawn apart from each other.
seeds   The mean of k seeds is off by their standard deviation over the root of k, times a draw of Student's t
        with k - 1 degrees of freedom. Two rows of k seeds each are paired, the first model of one with the
        first of the other (as where one was trained from the other), and it is their differences that spread.
        Rows with other numbers of seeds spread each on its own (Behrens and Fisher's case). A row of one
        model adds nothing: its interval speaks of items alone, and tables say how many seeds there were.

Both are added, draw by draw; the interval is between the quantiles of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.evaluation.report.entrants import Run
from sciprism.evaluation.report.resampling import Resampler
from sciprism.reproduce.tables.declared import Number

LEVEL = 0.95
DRAWS = 100
"""Draws of the seeds' error for each draw of the items: its far quantiles then move by a few hundredths."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A column of one row: each seed's number (k,), and their mean on resampled items (b,).

    n: items behind it. parts: the results of the first seed and their metrics; samples compare only where
    these were scored on the same items.
    """

    seeds: Doubles
    draws: Doubles
    n: int
    parts: tuple[tuple[Run, str], ...] = ()

    @property
    def value(self) -> float:
        """Return the mean over the seeds."""
        return float(self.seeds.mean())


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number or a difference with its interval, in natural units.

    seeds: models of either side. error: the standard error over seeds, 0 for one.
    """

    value: float
    low: float
    high: float
    n: int
    seeds: tuple[int, ...]
    error: float = 0.0

    @property
    def spread(self) -> float:
        """Return the standard deviation over the seeds of a row, 0 for one."""
        return self.error * math.sqrt(self.seeds[0])


def sample(
    numbers: Sequence[Number],
    seeds: Sequence[Sequence[Run]],
    resampler: Resampler,
    weights: Sequence[float] = (),
) -> Sample:
    """Return the mean of some numbers; seeds: for each model its results, one per number, in order.

    weights: of the numbers, () for equal ones.

    Raises InputError where the items behind a number are not at hand, or differ between the seeds.
    """
    drawn, values, items = [], [], 0
    parts: list[tuple[Run, str]] = []
    for place, number in enumerate(numbers):
        runs = [results[place] for results in seeds]
        first, metrics = runs[0], number.metrics
        reason = next(filter(None, (resampler.unpaired(run, first, m) for run in runs for m in metrics)), "")
        draws = resampler.mean([(run, name) for run in runs for name in metrics])
        if reason or draws is None:
            raise InputError(f"{first.result.task}, seeds of {first.result.system.get('name')}: {reason}")
        drawn.append(draws)
        values.append([_value(run, number) for run in runs])
        items += max(run.result.metrics[name].n for run in runs for name in metrics)
        parts += [(first, name) for name in metrics]
    shares = weights or None
    of_seeds, of_draws = (np.average(each, axis=0, weights=shares) for each in (values, drawn))
    return Sample(of_seeds, of_draws, items, tuple(parts))


def estimate(found: Sample, *, level: float = LEVEL) -> Estimate:
    """Return a row's own number with its interval."""
    errors = [_error(found.seeds)]
    low, high = interval(found.draws, errors, level)
    return Estimate(found.value, low, high, found.n, (len(found.seeds),), errors[0][0])


def missing(found: Sample) -> Sample:
    """Return what is missing to 1, the error: a change relative to it is the relative error reduction."""
    return replace(found, seeds=1 - found.seeds, draws=1 - found.draws)


def contrast(a: Sample, b: Sample, *, relative: bool = False, level: float = LEVEL) -> Estimate:
    """Return a minus b with its paired interval, or relative to b (0.03: three per cent above b).

    The spread of a ratio over seeds is that of a - ratio * b, divided by b.
    """
    base = b.value if relative else 1.0
    ratio = a.value / base if relative and base else 1.0
    if not base:
        return Estimate(math.nan, math.nan, math.nan, a.n, (len(a.seeds), len(b.seeds)))
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = a.draws / b.draws - 1 if relative else a.draws - b.draws
    if len(a.seeds) == len(b.seeds):
        errors = [_error((a.seeds - ratio * b.seeds) / base)]
    else:
        errors = [_error(a.seeds / base), _error(ratio * b.seeds / base)]
    low, high = interval(draws, errors, level)
    value = ratio - 1 if relative else a.value - b.value
    return Estimate(value, low, high, a.n, (len(a.seeds), len(b.seeds)))


def interval(
    draws: Doubles, errors: Sequence[tuple[float, int]], level: float = LEVEL
) -> tuple[float, float]:
    """Return the quantiles of draws (b,) with the seeds' errors added: (standard error, degrees of freedom).

    NaN where no draw has a value.
    """
    kept = draws[np.isfinite(draws)]
    if not len(kept):
        return math.nan, math.nan
    random = np.random.default_rng(0)
    for error, freedom in errors:
        if error > 0:
            kept = kept if len(kept) > len(draws) else np.tile(kept, DRAWS)
            kept = kept + error * random.standard_t(freedom, len(kept))
    low, high = np.quantile(kept, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def unpaired(a: Sample, b: Sample, resampler: Resampler) -> str:
    """Say why two samples cannot be compared item by item, or nothing if they can."""
    reasons = (
        resampler.unpaired(run, other, name) for (run, name), (other, _) in zip(a.parts, b.parts, strict=True)
    )
    return next(filter(None, reasons), "")


def _value(run: Run, number: Number) -> float:
    return float(np.mean([run.result.metrics[name].value for name in number.metrics]))


def _error(seeds: Doubles) -> tuple[float, int]:
    """Return the standard error of a mean over seeds and its degrees of freedom; 0 for one seed."""
    count = len(seeds)
    return (float(np.std(seeds, ddof=1)) / math.sqrt(count), count - 1) if count > 1 else (0.0, 0)
