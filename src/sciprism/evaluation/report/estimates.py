"""The numbers of a report's cells, with their bootstrap distributions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sciprism.arrays import Doubles
from sciprism.evaluation.report.lines import ReportLine
from sciprism.evaluation.report.model import Difference, Score
from sciprism.evaluation.report.resampling import Resampler, mean_draws
from sciprism.evaluation.report.system_results import StoredResult

SWAP_LIMIT = 1000
"""Items below which a difference is tested by randomisation; with more, by a normal approximation."""
TINY = 1e-12
"""Differences below this are rounding errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapScore:
    """A value and its values on resampled items; draws is None where the items are missing.

    interval: as stored with the result, where the number is one metric of one run.
    """

    value: float
    draws: Doubles | None
    by_seed: Mapping[int, float] = field(default_factory=dict)
    n: int = 0
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class BootstrapDifference:
    """A difference, its values on resampled items, and, for few items, with results swapped at random."""

    value: float
    draws: Doubles
    swaps: Doubles | None = None


@dataclass(slots=True)
class LineResult:
    """One system at one line: its score and its difference to the baseline, or why there is none.

    remark: what does not compare.
    """

    status: str
    score: BootstrapScore | None = None
    difference: BootstrapDifference | None = None
    remark: str = ""


def score_line(line: ReportLine, runs: Sequence[StoredResult], resampler: Resampler) -> BootstrapScore:
    """Return a line's score for one system, the mean over its seeds."""
    values = [line.value(run) for run in runs]
    measures = [run.result.metrics[name] for run in runs for name in line.metrics]
    only = measures[0] if len(measures) == 1 else None
    return BootstrapScore(
        value=float(np.mean(values)),
        draws=resampler.mean([(run, name) for run in runs for name in line.metrics]),
        by_seed={run.result.seed: value for run, value in zip(runs, values, strict=True)},
        n=max(measure.n for measure in measures),
        interval=(only.low, only.high) if only else None,
    )


def average_scores(scores: Sequence[BootstrapScore]) -> BootstrapScore:
    """Return the mean of the scores of several lines, whose items were resampled independently."""
    draws = [score.draws for score in scores if score.draws is not None]
    seeds = set(scores[0].by_seed).intersection(*(score.by_seed for score in scores))
    return BootstrapScore(
        value=float(np.mean([score.value for score in scores])),
        draws=mean_draws(draws) if len(draws) == len(scores) else None,
        by_seed={s: float(np.mean([score.by_seed[s] for score in scores])) for s in sorted(seeds)},
        n=sum(score.n for score in scores),
    )


def compare_line(
    line: ReportLine, runs: Sequence[StoredResult], baseline: Sequence[StoredResult], resampler: Resampler
) -> tuple[BootstrapDifference | None, str]:
    """Return a line's score minus the baseline's, paired by seed and item, or why there is none."""
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
    few = max(run.result.metrics[name].n for run, _, name in named) < SWAP_LIMIT
    return BootstrapDifference(value, mine - others, resampler.swapped(named) if few else None), ""


def average_differences(differences: Sequence[BootstrapDifference]) -> BootstrapDifference:
    """Return the mean of the differences of several lines."""
    swaps = [each.swaps for each in differences if each.swaps is not None]
    return BootstrapDifference(
        float(np.mean([each.value for each in differences])),
        mean_draws([each.draws for each in differences]),
        mean_draws(swaps) if len(swaps) == len(differences) else None,
    )


def to_score(score: BootstrapScore) -> Score:
    """Return a score as a cell shows it."""
    low, high = score.interval or _interval(score.draws)
    values = list(score.by_seed.values())
    return Score(
        value=score.value,
        low=None if math.isnan(low) else low,
        high=None if math.isnan(high) else high,
        n=score.n,
        seeds=max(len(values), 1),
        sd=float(np.std(values, ddof=1)) if len(values) > 1 else None,
    )


def to_difference(found: BootstrapDifference, score: BootstrapScore, base: BootstrapScore | None) -> Difference:
    """Return a difference with interval, two-sided p, and whether the scores differ beyond their seeds."""
    low, high = _interval(found.draws)
    apart = base is not None and are_apart([*score.by_seed.values()], [*base.by_seed.values()])
    return Difference(value=found.value, low=low, high=high, p=_p_value(found), apart=apart)


def _p_value(found: BootstrapDifference) -> float:
    if found.swaps is None:
        error = float(np.nanstd(found.draws, ddof=1))
        return math.erfc(abs(found.value) / error / math.sqrt(2)) if error > TINY else float(abs(found.value) < TINY)
    # A swap without a value counts as large, and equal differences may differ in their last digits.
    small = int((np.abs(found.swaps) < abs(found.value) - TINY).sum())
    return (1 + len(found.swaps) - small) / (1 + len(found.swaps))


def are_apart(a: Sequence[float] | Doubles, b: Sequence[float] | Doubles) -> bool:
    """Tell whether the means of several runs differ by more than twice the larger standard deviation.

    INDUS (section 4) marks such differences; items are not considered. False where neither has two runs.
    """
    spread = max(float(np.std(each, ddof=1)) if len(each) > 1 else 0.0 for each in (a, b))
    return spread > 0 and abs(float(np.mean(a)) - float(np.mean(b))) > 2 * spread


def _interval(draws: Doubles | None) -> tuple[float, float]:
    """Return the 2.5 and 97.5 percentiles, NaN without draws; draws without a value are ignored."""
    if draws is None or np.isnan(draws).all():
        return math.nan, math.nan
    low, high = np.nanquantile(draws, (0.025, 0.975))
    return float(low), float(high)
