"""The stored results behind tables and verdicts: means and differences over seeds and items, with intervals.

The score of a row is the mean over its models, trained with several seeds. Two sources of uncertainty:

items   Test items are resampled (`report.model`), the same for every row, so that differences are
        paired; tasks are resampled independently. Intervals are those of `compare` (`evaluation.intervals`).
seeds   The error of the mean of k seeds is their standard deviation / sqrt(k), times Student's t with k - 1
        degrees of freedom. Two rows of k seeds each are paired in order (one may be trained from the other):
        the differences are what varies. With unequal numbers of seeds each row varies on its own (the
        Behrens-Fisher case). A row of one model adds no such error: its interval is over items alone.

Squared distances from the value to the limits add up (Zou and Donner 2008).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.arrays import Doubles
from sciprism.encoders.settings import untrained_stage
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import (
    LEVEL,
    Limits,
    Samples,
    add_limits,
    quantile,
    sample_difference,
    score_interval,
    sum_samples,
)
from sciprism.evaluation.report.model import Resampler, StoredResult
from sciprism.evaluation.results import (
    UNDONE,
    explain_other_scoring,
    find_result,
    folder_name,
    read_system,
    seed_folder,
)
from sciprism.evaluation.task import Task
from sciprism.files import write_json
from sciprism.reproduce.papers import GroupedSuite, TaskScore

MODELS_FILE = "models.json"  # file next to the systems' folders: key of a row -> the folders of its systems


def read_models(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return key of a row -> folders of its systems; empty if nothing was recorded."""
    rows = read_records(folder / MODELS_FILE, "models", "lists", list)
    return {key: tuple(map(str, names)) for key, names in rows.items()}


def read_records(path: Path, what: str, values: str, kind: type = object) -> dict[str, Any]:
    """Return a JSON object whose values are of a kind, {} without the file; what, values: for messages."""
    if not path.exists():
        return {}
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not a file of {what}: {error}") from None
    if not isinstance(rows, dict) or not all(isinstance(value, kind) for value in rows.values()):
        raise InputError(f"{path} is not a file of {what}: expected an object of {values}")
    return rows


def write_models(folder: Path, systems: Mapping[str, Sequence[str]]) -> None:
    """Add systems to the table rows that they belong to, in models.json.

    Recorded systems stay: a table made with one of three seeds removes none. New ones are appended; a list
    with all recorded ones sets the order. To remove a system, edit the file.
    """
    rows = read_models(folder)
    for key, names in systems.items():
        recorded = rows.get(key, ())
        rows[key] = tuple(names) if set(recorded) <= set(names) else tuple(dict.fromkeys((*recorded, *names)))
    write_json(folder / MODELS_FILE, dict(sorted(rows.items())))


def find_untrained_stage(folder: Path, system: str) -> str:
    """Return the stage of which a system's model kept step 0, "" if it learned, was not trained, or is not known.

    folder: of results, packed or not. system: by its name or its folder, as in `models.json`. Of an ensemble,
    "STAGE of MEMBER". Stages before may have learned.
    """
    results = read_system(folder / folder_name(system))
    return next(filter(None, (untrained_stage(result.system) for result in results)), "")


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSample:
    """One row's score in a column: each seed's (k,), and their mean on resampled items.

    n: number of items. parts: the results of the first seed and their metrics; samples compare only if these
    were scored on the same items.
    """

    seeds: Doubles
    samples: Samples
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
    sampled: list[Samples] = []
    values, items = [], 0
    parts: list[tuple[StoredResult, str]] = []
    for index, score in enumerate(scores):
        runs = [results[index] for results in seeds]
        first, metrics = runs[0], score.metrics
        reason = next(filter(None, (resampler.unpaired(run, first, m) for run in runs for m in metrics)), "")
        samples = resampler.mean([(run, name) for run in runs for name in metrics])
        if reason or samples is None:
            raise InputError(f"{first.result.task}, seeds of {first.result.system.get('name')}: {reason}")
        sampled.append(samples)
        values.append([float(np.mean([run.result.metrics[name].value for name in metrics])) for run in runs])
        items += max(run.result.metrics[name].n for run in runs for name in metrics)
        parts += [(first, name) for name in metrics]
    shares = np.array(weights or [1.0] * len(scores)) / (sum(weights) or len(scores))
    return ScoreSample(shares @ np.array(values), sum_samples(sampled, shares.tolist()), items, tuple(parts))


def estimate_mean(sample: ScoreSample) -> Estimate:
    """Return a row's score with its interval."""
    error = _standard_error(sample.seeds)
    low, high = add_errors(sample.value, score_interval(sample.samples, LEVEL), [error])
    return Estimate(sample.value, low, high, sample.n, (len(sample.seeds),), error[0])


def to_error(sample: ScoreSample) -> ScoreSample:
    """Return the error, 1 - score: a change relative to it is the relative error reduction."""
    return replace(sample, seeds=1 - sample.seeds, samples=sum_samples([sample.samples], [-1]))


def estimate_difference(a: ScoreSample, b: ScoreSample, *, relative: bool = False, level: float = LEVEL) -> Estimate:
    """Return a - b with its paired interval, or relative to b (0.03: 3 % above b).

    A ratio deviates, over seeds and over items, by that of a - ratio * b, divided by b.
    """
    base = b.value if relative else 1.0
    ratio = a.value / base if relative and base else 1.0
    if not base:
        return Estimate(math.nan, math.nan, math.nan, a.n, (len(a.seeds), len(b.seeds)))
    if len(a.seeds) == len(b.seeds):
        errors = [_standard_error((a.seeds - ratio * b.seeds) / base)]
    else:
        errors = [_standard_error(a.seeds / base), _standard_error(ratio * b.seeds / base)]
    value = ratio - 1 if relative else a.value - b.value
    first, second = ([(run.folder, run.task, metric) for run, metric in sample.parts] for sample in (a, b))
    if first and first == second and np.array_equal(a.seeds, b.seeds):
        return Estimate(0.0, 0.0, 0.0, a.n, (len(a.seeds), len(b.seeds)))  # the same runs: nothing is estimated
    difference = sample_difference(sum_samples((a.samples, b.samples), (1 / base, -ratio / base)))
    half = quantile(difference.freedom, level) * math.sqrt(difference.variance)
    low, high = add_errors(value, (value - half, value + half), errors, level)
    return Estimate(value, low, high, a.n, (len(a.seeds), len(b.seeds)))


def add_errors(value: float, limits: Limits, errors: Sequence[tuple[float, int]], level: float = LEVEL) -> Limits:
    """Return limits over items with the seeds' errors, each (standard error, degrees of freedom), added."""
    halves = [quantile(freedom, level) * error for error, freedom in errors if error]
    return add_limits([value, *(0.0 for _ in halves)], [limits, *((-half, half) for half in halves)])


def _standard_error(seeds: Doubles) -> tuple[float, int]:
    """Return the standard error of a mean over seeds and its degrees of freedom; 0 for one seed."""
    count = len(seeds)
    return (float(np.std(seeds, ddof=1)) / math.sqrt(count), count - 1) if count > 1 else (0.0, 0)


SystemsOfTask = Callable[[str], Sequence[str]]
"""Task -> the systems of a row there, one per seed; a task may have several runs of each."""


@dataclass(frozen=True, slots=True)
class SuiteScores:
    """The scores of one suite's results in a folder, each read once; all samples share their resampled items."""

    suite: GroupedSuite
    folder: Path
    resampler: Resampler = field(default_factory=Resampler)
    _read: dict[tuple[str, str], StoredResult | None] = field(default_factory=dict)

    def run(self, system: str, task: Task) -> StoredResult | None:
        """Return the result of a system (by name or folder) at a task in its current declaration, if any."""
        key = folder_name(system), task.name
        if key not in self._read:
            path = self.folder / key[0] / self.suite.suite_of(task.name).name
            result = find_result(path, task.name)
            current = result and result.key == task.key and not explain_other_scoring(result, task)
            self._read[key] = StoredResult(result, path) if result and current else None
        return self._read[key]

    def status(self, system: str, task: Task) -> str:
        """Return "done", "failed", "not here", "not served" or "not run"."""
        stored = self.run(system, task)
        return stored.result.status if stored else "not run"

    def sample(
        self, scores: Sequence[TaskScore], systems: SystemsOfTask, variant: str = "", weights: Sequence[float] = ()
    ) -> ScoreSample | str:
        """Return the mean of some scores over a row's systems, or a word for why there is none."""
        tasks = self.suite.tasks_by_name()
        if variant:
            scores = [replace(score, task=f"{score.task}-{variant}") for score in scores]
        runs_by_score: list[Sequence[StoredResult]] = []  # per score, over seeds
        for score in scores:
            task = tasks[score.task]
            names = [seed_folder(name, seed) for name in systems(score.task) for seed in range(task.seeds)]
            statuses = [self.status(name, task) for name in names] or ["not run"]
            worst = next((status for status in (*UNDONE, "not run") if status in statuses), "")
            if worst:
                return worst
            runs_by_score.append([run for name in names if (run := self.run(name, task))])
        if len({len(runs) for runs in runs_by_score}) > 1:
            return "seeds differ"
        return build_sample(scores, list(zip(*runs_by_score, strict=True)), self.resampler, weights)

    def contrast(
        self, score: ScoreSample, base: ScoreSample, *, relative: bool = False, level: float = LEVEL
    ) -> Estimate | str:
        """Return the difference of two samples, or why they do not compare item by item."""
        pairs = zip(score.parts, base.parts, strict=True)
        reasons = (self.resampler.unpaired(run, other, name) for (run, name), (other, _) in pairs)
        return next(filter(None, reasons), "") or estimate_difference(score, base, relative=relative, level=level)
