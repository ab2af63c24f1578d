"""The contents of a report for all outputs, and its numbers with their intervals and tests (`evaluation.intervals`).

The resamples depend on the items alone. So two systems, and two metrics of a task, see the same ones, and their
differences are paired; tasks are resampled independently.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from sciprism.arrays import Doubles
from sciprism.evaluation.intervals import (
    CELLS,
    SAMPLES,
    ItemSample,
    Limits,
    Samples,
    draw_sample,
    items_key,
    mean_samples,
    resample,
    sample_difference,
    score_interval,
    sort_items,
    sum_samples,
)
from sciprism.evaluation.report.lines import ReportLine, StoredResult
from sciprism.evaluation.results import find_item_scores
from sciprism.evaluation.task import Published

RowKind = Literal["task", "part", "average"]
LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A number in natural units with its 95% interval, None where its items are missing.

    n: items behind it, of an average those of all its tasks; seeds: runs averaged; sd: over seeds (n - 1).
    """

    value: float
    low: float | None = None
    high: float | None = None
    n: int = 0
    seeds: int = 1
    sd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A score minus the baseline's: 95% interval, p, and p after Holm's correction over the report.

    p < 0.05 if and only if the interval excludes 0 (`evaluation.intervals`).
    apart: the means over seeds differ by more than two standard deviations.
    """

    value: float
    low: float
    high: float
    p: float
    corrected: float | None = None
    apart: bool = False

    @property
    def marked(self) -> bool:
        """Return whether the interval excludes 0: one asterisk."""
        return self.low > 0 or self.high < 0

    @property
    def marked_among_all(self) -> bool:
        """Return whether the difference is significant among all of the report: two asterisks."""
        return self.marked and self.corrected is not None and self.corrected < LEVEL

    def to_json(self) -> dict[str, Any]:
        """Return numbers and marks as JSON values."""
        return asdict(self) | {"marked": self.marked, "marked_among_all": self.marked_among_all}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCell:
    """One system at one row.

    status: done, failed, not here, not served, not run, not comparable, undefined (the metric has no value), or "left
    out" (of an average).
    """

    status: str
    score: Score | None = None
    difference: Difference | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the cell as JSON values."""
        return asdict(self) | {"difference": self.difference.to_json() if self.difference else None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """One row of the report: a number of a task, a metric that is part of such a number, or an average.

    tasks: the tasks of an average; lacking: tasks that are missing from it, with the reason; view: the view of
    the suite that it is over.
    """

    name: str
    kind: RowKind
    suite: str
    cells: tuple[ReportCell, ...]
    task: str = ""
    metric: str = ""
    format: str = ""
    group: str = ""
    tasks: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    view: str = ""

    @property
    def incomplete(self) -> bool:
        """Return whether it is an average over fewer tasks than its suite has."""
        return bool(self.lacking or self.view)

    @property
    def title(self) -> str:
        """Return the name, and the view or the number of tasks of an average where some are missing."""
        whole = len(self.tasks) + len(self.lacking)
        marks = [f"{self.view} view"] if self.view else []
        marks += [f"incomplete: {len(self.tasks)} of {whole}"] if self.lacking else []
        return f"{self.name} ({', '.join(marks)})" if marks else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Systems side by side; differences are to the system at position `baseline`.

    remarks: name of a suite or task -> the remark on its data, from its declaration.
    """

    systems: tuple[str, ...]
    baseline: int
    rows: tuple[ReportRow, ...]
    published: Mapping[str, tuple[Published, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def suites(self) -> tuple[str, ...]:
        """Return the suites in order."""
        return tuple(dict.fromkeys(row.suite for row in self.rows))

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values, scores in natural units, published ones times 100 as printed."""
        return {
            "baseline": self.systems[self.baseline],
            "systems": list(self.systems),
            "rows": [
                asdict(row)
                | {"incomplete": row.incomplete, "title": row.title}
                | {"cells": dict(zip(self.systems, (cell.to_json() for cell in row.cells), strict=True))}
                for row in self.rows
            ],
            "published": {
                suite: [{"name": row.name, "source": row.source, "scores": dict(row.scores)} for row in rows]
                for suite, rows in self.published.items()
            },
            "notes": list(self.notes),
            "remarks": dict(self.remarks),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledScore:
    """A value on resampled items; samples is None where the items are missing.

    stored: the interval of the result, where the number is one metric of one run.
    """

    value: float
    samples: Samples | None
    by_seed: Mapping[int, float] = field(default_factory=dict)
    n: int = 0
    stored: Limits | None = None


@dataclass(slots=True)
class LineResult:
    """The score of one system at one line, and its difference to the baseline.

    status: "done", or why there is no score (`ReportCell.status`). remark: why runs or items cannot be compared.
    """

    status: str
    score: SampledScore | None = None
    difference: Samples | None = None
    remark: str = ""


def score_line(line: ReportLine, runs: Sequence[StoredResult], resampler: Resampler) -> SampledScore:
    """Return a line's score for one system, the mean over its seeds."""
    values = [line.value(run) for run in runs]
    measures = [run.result.metrics[name] for run in runs for name in line.metrics]
    only = measures[0] if len(measures) == 1 else None
    return SampledScore(
        value=float(np.mean(values)),
        samples=resampler.mean([(run, name) for run in runs for name in line.metrics]),
        by_seed={run.result.seed: value for run, value in zip(runs, values, strict=True)},
        n=max(measure.n for measure in measures),
        stored=(only.low, only.high) if only else None,
    )


def average_scores(scores: Sequence[SampledScore]) -> SampledScore:
    """Return the mean of the scores of several lines."""
    samples = [score.samples for score in scores if score.samples is not None]
    seeds = set(scores[0].by_seed).intersection(*(score.by_seed for score in scores))
    return SampledScore(
        value=float(np.mean([score.value for score in scores])),
        samples=mean_samples(samples) if len(samples) == len(scores) else None,
        by_seed={s: float(np.mean([score.by_seed[s] for score in scores])) for s in sorted(seeds)},
        n=sum(score.n for score in scores),
    )


def compare_line(
    line: ReportLine, runs: Sequence[StoredResult], baseline: Sequence[StoredResult], resampler: Resampler
) -> tuple[Samples | None, str]:
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
    difference = sum_samples((mine, others), (1, -1))
    if any(np.isnan(sample.draws).all() for sample in difference.values()):
        return None, "no resample of the items has a value"
    return difference, ""


def to_score(score: SampledScore) -> Score:
    """Return a score as a cell shows it."""
    low, high = (score_interval(score.samples) if score.samples else score.stored) or (math.nan, math.nan)
    values = list(score.by_seed.values())
    return Score(
        value=score.value,
        low=None if math.isnan(low) else low,
        high=None if math.isnan(high) else high,
        n=score.n,
        seeds=max(len(values), 1),
        sd=float(np.std(values, ddof=1)) if len(values) > 1 else None,
    )


def to_difference(samples: Samples, score: SampledScore, base: SampledScore | None) -> Difference:
    """Return a difference with interval, two-sided p, and whether the scores differ beyond their seeds."""
    difference = sample_difference(samples)
    low, high = difference.interval()
    apart = base is not None and are_apart([*score.by_seed.values()], [*base.by_seed.values()])
    return Difference(value=difference.value, low=low, high=high, p=difference.p, apart=apart)


def are_apart(a: Sequence[float] | Doubles, b: Sequence[float] | Doubles) -> bool:
    """Tell whether the means of several runs differ by more than twice the larger standard deviation.

    INDUS (section 4) marks such differences; items are not considered. False where neither has two runs.
    """
    spread = max(float(np.std(values, ddof=1)) if len(values) > 1 else 0.0 for values in (a, b))
    return spread > 0 and abs(float(np.mean(a)) - float(np.mean(b))) > 2 * spread


Distribution = tuple[tuple[int, str, int], ItemSample]
"""The items, aggregate and parts of a metric, and its values on every sample; two results with the same are paired."""


class Resampler:
    """Compute the bootstrap distributions of results, each once."""

    def __init__(self) -> None:
        self._samples: dict[tuple[int, str], Distribution | None] = {}
        self._last: tuple[int, list[Doubles]] = (0, [])

    def mean(self, numbers: Sequence[tuple[StoredResult, str]]) -> Samples | None:
        """Return the mean of some metrics of some runs; None where items are missing."""
        distributions = [distribution for run, metric in numbers if (distribution := self._bootstrap(run, metric))]
        if not distributions or len(distributions) < len(numbers):
            return None
        return mean_samples([{items[0]: sample} for items, sample in distributions])

    def unpaired(self, run: StoredResult, other: StoredResult, metric: str) -> str:
        """Return why a metric of two runs cannot be compared item by item, "" if it can."""
        mine, theirs = self._bootstrap(run, metric), self._bootstrap(other, metric)
        if mine is None or theirs is None:
            return "the items behind the numbers are missing, so the difference is not tested"
        return "" if mine[0] == theirs[0] else "other items were scored than for the baseline"

    def _bootstrap(self, run: StoredResult, metric: str) -> Distribution | None:
        key = (id(run), metric)
        if key not in self._samples:
            self._samples[key] = None
            items = find_item_scores(run.folder, run.result.task, metric) if run.folder else None
            if items:
                items = sort_items(items)
                number = items_key(items.ids)
                sample = draw_sample(items, self._weights(number, items.ids))
                self._samples[key] = (number, items.aggregate, len(items.parts)), sample
        return self._samples[key]

    def _weights(self, key: int, ids: Sequence[str]) -> Iterable[Doubles]:
        """Return the samples of some items; those of few items are reused for the next system."""
        if key != self._last[0]:
            if len(ids) * SAMPLES > CELLS:
                return resample(ids, SAMPLES, seed=0)
            self._last = (key, list(resample(ids, SAMPLES, seed=0)))
        return self._last[1]
