"""Score systems on one task: the data are read once, and what has a stored result is not scored again."""

from __future__ import annotations

import datetime
import json
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from torch import OutOfMemoryError

from sciprism.datasets.data_root import DataRoot, PinnedData
from sciprism.errors import InputError
from sciprism.evaluation.bootstrap import bootstrap_interval, estimate
from sciprism.evaluation.context import EvaluationContext
from sciprism.evaluation.intervals import METHOD
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.provenance import is_current, library_versions
from sciprism.evaluation.results import Measure, TaskResult, folder_name, write_dropped, write_result
from sciprism.evaluation.stored_results import check_owner, find_result
from sciprism.evaluation.systems import NotServedError, System
from sciprism.evaluation.task import Task, to_declaration
from sciprism.evaluation.uninformative import explain_uninformative
from sciprism.formats import Format

ProgressCallback = Callable[[System, Task, TaskResult | None], None]
"""Called with None before a task is scored, and with its result afterwards."""
DescribedSystem = tuple[System, Mapping[str, Any]]
"""A system, and what results record of it."""
TaskDataSource = Callable[[Task, Path | None], "TaskData"]
"""Called with a task and the folder of data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRun:
    """What all tasks of one evaluation share.

    output: the folder of results. data: the folder of data. seed, seeds: runs of each task, from `seed` on; 0:
    as many as the task declares. encoded_format: score with the vectors of this format, "" for each task's own.
    command: recorded in every result. task_data: where a task's data come from.
    """

    output: Path
    data: Path | None
    seed: int
    seeds: int
    encoded_format: str
    command: str
    task_data: TaskDataSource
    progress: ProgressCallback


def score_systems(
    suite: str, task: Task, systems: Sequence[DescribedSystem], run: EvaluationRun
) -> Iterator[TaskResult]:
    """Yield the result of each system and seed at a task of a suite, stored or new.

    With the format "search", papers of other tasks are encoded as queries (SciRepEval, Table 4).
    """
    data, encoded_format = run.task_data(task, run.data), run.encoded_format
    seeds = range(run.seed, run.seed + (run.seeds or task.seeds))
    for system, description in systems:
        folders = [run.output / folder_name(system.name, encoded_format, seed) / suite for seed in seeds]
        context = EvaluationContext(
            format=cast("Format", encoded_format or task.vector_format(description)),
            role="query" if encoded_format == "search" != task.format else "paper",
            fields=task.fields,
            first_seed=run.seed,
            grid_file=folders[0] / "grid" / f"{task.name}.jsonl",
            key=f"{task.key} {system.fingerprint} {json.dumps(library_versions())}",
            cache=[],
        )
        facts = {"suite": suite, "system": description, "encoded_format": encoded_format}
        for seed, folder in zip(seeds, folders, strict=True):
            result = find_result(folder, task.name)
            if result is not None:
                check_owner(result, system, folder)
            if result is None or not is_current(result, task, run.data, description):
                run.progress(system, task, None)
                provenance = describe_run(task, run.command)
                result, item_scores = score_task(data, system, replace(context, seed=seed), facts, provenance)
                if result.status == "done" and (dropped := data.read().dropped).keep_all and dropped.ids:
                    path = folder / "dropped" / f"{task.name}.csv"
                    write_dropped(path, dropped)
                    result = replace(result, details={**result.details, "dropped by the data": f"dropped/{path.name}"})
                write_result(folder, result, item_scores)
            run.progress(system, task, result)
            yield result


def describe_run(task: Task, command: str) -> dict[str, Any]:
    """Return what a result records of how it was made: the command, the declaration, versions, the machine."""
    return {
        "command": command,
        "declaration": to_declaration(task),
        "python": platform.python_version(),
        "versions": library_versions(),
        "machine": platform.machine(),
    }


class TaskData:
    """The data of one task, read when the first system needs them, and the files that were read."""

    def __init__(self, task: Task, folder: Path | None) -> None:
        self.task = task
        self.data_root = DataRoot(folder)  # one each: a result names the files that its own task read
        self._data: Any = None
        self._uninformative: Mapping[str, str] | None = None
        self._error: InputError | OSError | None = None

    def read(self) -> Any:
        """Return the protocol's input, or raise again the error of the first attempt."""
        if self._error is not None:
            raise self._error
        if self._data is None:
            try:
                self._data = self.task.data.read(self.data_root)
            except (InputError, OSError) as error:
                self._error = error
                raise
            except (KeyError, TypeError, AttributeError) as error:
                self._error = InputError(f"a record lacks or misuses {type(error).__name__}: {error}")
                raise self._error from error
        return self._data

    def explain_uninformative(self) -> Mapping[str, str]:
        """Return the metrics of a custom task that its data cannot inform, with the reason. InputError if all."""
        if self._uninformative is None:
            own = isinstance(self.task.data, PinnedData)  # published tasks are scored as published
            self._uninformative = explain_uninformative(self.read(), self.task.protocol) if own else {}
        if len(self._uninformative) == len(self.task.protocol.metrics):
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self._uninformative.items())
            raise InputError(f"the data cannot tell systems apart: {reasons}")
        return self._uninformative


def score_task(
    task_data: TaskData,
    system: System,
    context: EvaluationContext,
    facts: Mapping[str, Any],
    provenance: Mapping[str, Any],
) -> tuple[TaskResult, Mapping[str, ItemScores]]:
    """Return the result of a system at a task, and the item scores of each metric.

    facts, provenance: what the result also records. A task that cannot be scored has a reason and no number.
    """
    task, began, damaged = task_data.task, time.monotonic(), _count_damaged(system)
    of_task = {name: getattr(task, name) for name in ("key", "format", "group", "in_train", "numbers")}
    common: dict[str, Any] = {**facts, "task": task.name, **of_task, "seed": context.seed}
    try:
        data = task_data.read()
        without = task_data.explain_uninformative()
        outcome = task.scored_protocol(without).evaluate(data, system, context)
    except NotServedError as reason:
        versions = {"versions": provenance["versions"]}
        return TaskResult(**common, status="not served", reason=str(reason), provenance=versions), {}
    except (InputError, OSError, MemoryError, OutOfMemoryError) as reason:
        return TaskResult(**common, status="failed", reason=f"{type(reason).__name__}: {reason}"), {}
    metrics = {}
    for name, items in outcome.item_scores.items():
        low, high = bootstrap_interval(items)
        metrics[name] = Measure(value=estimate(items), low=low, high=high, n=len(items.ids))
    made = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "data": task_data.data_root.provenance(),
        "intervals": METHOD,
        "seconds": round(time.monotonic() - began, 2),
    }
    dropped = data.dropped.to_json() | outcome.dropped.to_json()
    used = "" if context.format in (task.format, facts["encoded_format"]) else context.format
    found = {"without number": without, "damaged vectors": _count_damaged(system) - damaged, "format": used}
    details = {**outcome.details, **{name: value for name, value in found.items() if value}}
    common |= {"metrics": metrics, "details": details, "dropped": dropped, "provenance": {**provenance, **made}}
    return TaskResult(**common, status="done"), outcome.item_scores


def _count_damaged(system: System) -> int:
    """Return how many cached vectors a system has found damaged, and computed again; 0 for one without a cache."""
    return getattr(system, "damaged_vectors", 0)
