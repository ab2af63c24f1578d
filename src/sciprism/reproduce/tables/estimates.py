"""Means and differences over seeds and items, with the intervals of tables and verdicts.

The score of a row is the mean over its models, trained with several seeds. Two sources of uncertainty:

items   Test items are resampled (`report.resampling`), the same for every row, so that differences are
        paired; tasks are resampled independently.
seeds   The error of the mean of k seeds is their standard deviation / sqrt(k), times Student's t with k - 1
        degrees of freedom. Two rows of k seeds each are paired in order (one may be trained from the other):
        the differences are what varies. With unequal numbers of seeds each row varies on its own (the
        Behrens-Fisher case). A row of one model adds no such error: its interval is over items alone.

Both errors are added sample by sample; the interval is between quantiles of the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.evaluation.report.resampling import Resampler
from sciprism.evaluation.report.system_results import StoredResult
from sciprism.reproduce.tables.table import TaskScore

LEVEL = 0.95
DRAWS = 100
"""Samples of the seeds' error per resample of the items: its far quantiles then vary by a few hundredths."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSample:
    """One row's score in a column: each seed's (k,), and their mean on resampled items (b,).

    n: number of items. parts: the results of the first seed and their metrics; samples compare only if these
    were scored on the same items.
    """

    seeds: Doubles
    draws: Doubles
    n: int
    parts: tuple[tuple[StoredResult, str], ...] = ()

    @property
    def value(self) -> float:
        """Return the mean over the seeds."""
        return float(self.seeds.mean())


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean or a difference with its interval, in natural units.

    seeds: number of models of each side. error: the standard error over seeds, 0 for one seed.
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


def build_sample(
    scores: Sequence[TaskScore],
    seeds: Sequence[Sequence[StoredResult]],
    resampler: Resampler,
    weights: Sequence[float] = (),
) -> ScoreSample:
    """Return the mean of some scores. seeds: each model's results, one per score.

    weights: of the scores, () for equal ones. Raises InputError if item scores are missing, or the items of
    the seeds differ.
    """
    resampled, values, items = [], [], 0
    parts: list[tuple[StoredResult, str]] = []
    for index, score in enumerate(scores):
        runs = [results[index] for results in seeds]
        first, metrics = runs[0], score.metrics
        reason = next(filter(None, (resampler.unpaired(run, first, m) for run in runs for m in metrics)), "")
        draws = resampler.mean([(run, name) for run in runs for name in metrics])
        if reason or draws is None:
            raise InputError(f"{first.result.task}, seeds of {first.result.system.get('name')}: {reason}")
        resampled.append(draws)
        values.append([float(np.mean([run.result.metrics[name].value for name in metrics])) for run in runs])
        items += max(run.result.metrics[name].n for run in runs for name in metrics)
        parts += [(first, name) for name in metrics]
    of_seeds, of_draws = (np.average(each, axis=0, weights=weights or None) for each in (values, resampled))
    return ScoreSample(of_seeds, of_draws, items, tuple(parts))


def estimate_mean(found: ScoreSample, *, level: float = LEVEL) -> Estimate:
    """Return a row's score with its interval."""
    errors = [_standard_error(found.seeds)]
    low, high = compute_interval(found.draws, errors, level)
    return Estimate(found.value, low, high, found.n, (len(found.seeds),), errors[0][0])


def to_error(found: ScoreSample) -> ScoreSample:
    """Return the error, 1 - score: a change relative to it is the relative error reduction."""
    return replace(found, seeds=1 - found.seeds, draws=1 - found.draws)


def estimate_difference(a: ScoreSample, b: ScoreSample, *, relative: bool = False, level: float = LEVEL) -> Estimate:
    """Return a - b with its paired interval, or relative to b (0.03: 3 % above b).

    The deviation of a ratio over seeds is that of a - ratio * b, divided by b.
    """
    base = b.value if relative else 1.0
    ratio = a.value / base if relative and base else 1.0
    if not base:
        return Estimate(math.nan, math.nan, math.nan, a.n, (len(a.seeds), len(b.seeds)))
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = a.draws / b.draws - 1 if relative else a.draws - b.draws
    if len(a.seeds) == len(b.seeds):
        errors = [_standard_error((a.seeds - ratio * b.seeds) / base)]
    else:
        errors = [_standard_error(a.seeds / base), _standard_error(ratio * b.seeds / base)]
    low, high = compute_interval(draws, errors, level)
    value = ratio - 1 if relative else a.value - b.value
    return Estimate(value, low, high, a.n, (len(a.seeds), len(b.seeds)))


def compute_interval(draws: Doubles, errors: Sequence[tuple[float, int]], level: float = LEVEL) -> tuple[float, float]:
    """Return quantiles of draws (b,) plus the seeds' errors, each (standard error, degrees of freedom).

    NaN if all draws are NaN.
    """
    values = draws[np.isfinite(draws)]
    if not len(values):
        return math.nan, math.nan
    random = np.random.default_rng(0)
    for error, freedom in errors:
        if error > 0:
            values = values if len(values) > len(draws) else np.tile(values, DRAWS)
            values = values + error * random.standard_t(freedom, len(values))
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def find_mismatch(a: ScoreSample, b: ScoreSample, resampler: Resampler) -> str:
    """Return why two samples cannot be compared item by item, or "" if they can."""
    reasons = (resampler.unpaired(run, other, name) for (run, name), (other, _) in zip(a.parts, b.parts, strict=True))
    return next(filter(None, reasons), "")


def _standard_error(seeds: Doubles) -> tuple[float, int]:
    """Return the standard error of a mean over seeds and its degrees of freedom; 0 for one seed."""
    count = len(seeds)
    return (float(np.std(seeds, ddof=1)) / math.sqrt(count), count - 1) if count > 1 else (0.0, 0)
