"""Score systems on tasks, one result file each; existing results stay, failed tasks have no number."""

from __future__ import annotations

import datetime
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from torch import OutOfMemoryError

import sciprism.evaluation.results as stored
from sciprism.datasets.data_root import DataRoot, PinnedData
from sciprism.errors import AbsentDataError, InputError
from sciprism.evaluation.item_scores import METHOD, ItemScores, bootstrap_interval, estimate
from sciprism.evaluation.protocols.probe import ProbeProtocol
from sciprism.evaluation.report.build import Results
from sciprism.evaluation.suites import suites
from sciprism.evaluation.systems import NotServedError, System
from sciprism.evaluation.systems.loading import SystemName, SystemOptions, load_systems
from sciprism.evaluation.task import EvaluationContext, Suite, Task, to_declaration
from sciprism.evaluation.task_files import read_suite
from sciprism.evaluation.tuning import Tuning
from sciprism.evaluation.uninformative import explain_uninformative
from sciprism.files import cache_folder, join_cells, write_lines
from sciprism.formats import FORMATS, Format
from sciprism.parallel import Progress, show_nothing
from sciprism.probes.grid import SolverName


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """Options of `evaluate` besides systems, tasks and data.

    seeds: number of runs per task; 0: as many as the task declares. format: encode with the vectors of this
    format; "": of each task's format. loading: options for models that are given by name. command: the command
    line, recorded in every result. text_progress: shows how many texts are encoded.
    """

    seeds: int = 0
    format: str = ""
    loading: SystemOptions = field(default_factory=SystemOptions)
    command: str = ""
    text_progress: Progress = show_nothing

    def __post_init__(self) -> None:
        if self.format and self.format not in FORMATS:
            raise InputError(f"unknown format {self.format!r}; known: {', '.join(FORMATS)}")
        if self.seeds < 0:
            raise InputError(f"{self.seeds} seeds; 0 is as many as each task declares")


def evaluate(
    systems: SystemName | Sequence[SystemName],
    tasks: TaskName | Sequence[TaskName],
    data_root: str | Path | DataRoot | None = None,
    *,
    output: str | Path | None = None,
    seed: int = 0,
    options: EvaluationOptions | None = None,
    progress: ProgressCallback = lambda *_: None,
) -> Results:
    """Score systems on tasks and return the results; `print` shows their table.

    systems: names as on the command line, encoders, or a `System`. tasks: suites, views and tasks by name
    ("open", "open/quick", "open/cranfield"), a TOML file of custom tasks, or declarations. data_root: the folder
    of data, by default that of SCIPRISM_DATA. output: the folder of results, where existing ones of the same
    declaration and model are kept; None: no file is left. A task's data are read once for all systems and seeds.
    A task that cannot be scored gets a result that says why, and no number.
    """
    options = options or EvaluationOptions()
    selected, encoded_format = select_tasks(tasks), options.format
    root = data_root.folder if isinstance(data_root, DataRoot) else data_root or os.environ.get("SCIPRISM_DATA")
    data_folder = Path(root) if root else None
    results: list[stored.TaskResult] = []

    def score_seeds(suite: str, data: TaskData, system: System, description: Mapping[str, Any], place: Path) -> None:
        task = data.task
        seeds = range(seed, seed + (options.seeds or task.seeds))
        folders = [place / stored.folder_name(system.name, encoded_format, number) / suite for number in seeds]
        context = EvaluationContext(
            format=cast("Format", encoded_format or task.vector_format(description)),
            # with the format "search", papers of other tasks are encoded as queries (SciRepEval, Table 4)
            role="query" if encoded_format == "search" != task.format else "paper",
            fields=task.fields,
            first_seed=seed,
            grid_file=folders[0] / "grid" / f"{task.name}.jsonl",
            cache=[],
            key=f"{task.key} {system.fingerprint} {json.dumps(stored.library_versions())}",
        )
        facts = {"suite": suite, "system": description, "encoded_format": encoded_format}
        for number, folder in zip(seeds, folders, strict=True):
            result = stored.find_result(folder, task.name)
            if result is None or not stored.is_current(result, task, data_folder, description):
                progress(system, task, None)
                result, item_scores = score_task(data, system, replace(context, seed=number), facts, options.command)
                if result.status == "done" and (dropped := data.input.dropped).keep_all and dropped.ids:
                    path = folder / "dropped" / f"{task.name}.csv"
                    rows = ((reason, name) for reason, names in dropped.ids.items() for name in names)
                    write_lines(path, map(join_cells, (("reason", "id"), *rows)))
                    result = replace(result, details={**result.details, "dropped by the data": f"dropped/{path.name}"})
                stored.write_result(folder, result, item_scores)
            progress(system, task, result)
            results.append(result)

    with TemporaryDirectory() if output is None else nullcontext(output) as folder:
        place = Path(folder)
        cache = (place if output is None else cache_folder()) / "vectors"
        loaded = load_systems(systems, replace(options.loading, seed=seed), cache, options.text_progress)
        stored.check_owners(place, [(stored.folder_name(system.name, encoded_format), system) for system, _ in loaded])
        for part in selected:
            for task in part.tasks:
                data = TaskData(task, data_folder)
                for system, description in loaded:
                    score_seeds(part.suite.folder, data, system, description, place)
    return Results(results, [part.suite for part in selected])


@dataclass(frozen=True, slots=True)
class SelectedTasks:
    """Some tasks of a suite, or of a view of it."""

    suite: Suite
    tasks: tuple[Task, ...]


TaskName = str | Path | Suite | Task | SelectedTasks
"""A suite ("open"), view ("open/quick"), task ("open/cranfield"), TOML file of custom tasks, or a declaration."""


def select_tasks(wanted: TaskName | Sequence[TaskName], only: Sequence[str] = ()) -> list[SelectedTasks]:
    """Return the tasks by suite, each once; only: the names of those to select among them.

    Tasks without a suite belong to a suite "custom". Raises InputError, or KeyError for an unknown suite.
    """
    items: list[TaskName] = [wanted] if isinstance(wanted, TaskName) else list(wanted)
    declared = tuple(item for item in items if isinstance(item, Task))
    parts = [_find_tasks(item) for item in items if not isinstance(item, Task)]
    parts += [SelectedTasks(Suite(name="custom", tasks=declared), declared)] if declared else []
    by_suite: dict[str, SelectedTasks] = {}
    for part in parts:
        earlier = by_suite.get(part.suite.folder, part)
        suite = part.suite if earlier.suite == part.suite else suites[part.suite.folder]
        tasks = {task.name: task for task in (*earlier.tasks, *part.tasks)}
        by_suite[part.suite.folder] = SelectedTasks(suite, tuple(tasks.values()))
    if not only:
        return list(by_suite.values())
    names = [task.name for part in by_suite.values() for task in part.tasks]
    if unknown := [name for name in only if name not in names]:
        where = ", ".join(part.suite.name for part in by_suite.values())
        raise InputError(f"the suite {where} has no task {unknown[0]!r}; known: {', '.join(names)}")
    return [replace(part, tasks=tuple(t for t in part.tasks if t.name in only)) for part in by_suite.values()]


def configure_tasks(
    selected: Sequence[SelectedTasks], solver: SolverName | None, grid: Mapping[str, Sequence[float]]
) -> list[SelectedTasks]:
    """Return the tasks with another solver of linear probes or grid of fine-tuning, where they have any."""

    def configure(task: Task) -> Task:
        protocol: Any = task.protocol
        if isinstance(protocol, ProbeProtocol):
            return replace(task, protocol=replace(protocol, solver=solver or protocol.solver))
        if grid and isinstance(getattr(protocol, "tuning", None), Tuning):
            return replace(task, protocol=replace(protocol, tuning=protocol.tuning.with_grid(grid)))
        return task

    return [replace(part, tasks=tuple(map(configure, part.tasks))) for part in selected]


def _find_tasks(name: str | Path | Suite | SelectedTasks) -> SelectedTasks:
    if isinstance(name, SelectedTasks):
        return name
    if isinstance(name, Path) or (isinstance(name, str) and name.endswith(".toml")):
        name = read_suite(name)
    if isinstance(name, Suite):
        return SelectedTasks(name, name.tasks)
    suite, _, part = name.partition("/")
    whole = suites[suite]
    if tasks := tuple(task for task in whole.tasks if task.name == part):
        return SelectedTasks(whole, tasks)
    selected = whole.select_view(part) if part else whole
    return SelectedTasks(selected, selected.tasks)


ProgressCallback = Callable[[System, Task, stored.TaskResult | None], None]
"""Called with None before a task is scored, and with its result afterwards."""


class TaskData:
    """The data of one task, read when the first system needs them, and the files that were read."""

    def __init__(self, task: Task, folder: Path | None) -> None:
        self.task = task
        self.data_root = DataRoot(folder)  # one each: a result names the files that its own task read

    @cached_property
    def input(self) -> Any:
        """Return the protocol's input. InputError or OSError."""
        try:
            return self.task.data.read(self.data_root)
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"a record lacks or misuses {type(error).__name__}: {error}") from error

    @cached_property
    def uninformative(self) -> Mapping[str, str]:
        """Return the metrics of a custom task that its data cannot inform, with the reason. InputError if all."""
        custom = isinstance(self.task.data, PinnedData)  # published tasks are scored as published
        found = explain_uninformative(self.input, self.task.protocol) if custom else {}
        if len(found) == len(self.task.protocol.metrics):
            reasons = "; ".join(f"{name}: {reason}" for name, reason in found.items())
            raise InputError(f"the data cannot tell systems apart: {reasons}")
        return found


def score_task(
    task_data: TaskData,
    system: System,
    context: EvaluationContext,
    facts: Mapping[str, Any],
    command: str,
) -> tuple[stored.TaskResult, Mapping[str, ItemScores]]:
    """Return the result of a system at a task, and the item scores of each metric.

    facts: suite, description of the system and format, for the result. command: that made it. Where the task cannot be
    scored, the result holds the reason and no metrics.
    """
    task, began, damaged = task_data.task, time.monotonic(), getattr(system, "damaged_vectors", 0)
    of_task = {name: getattr(task, name) for name in ("key", "format", "group", "in_train", "numbers")}
    common: dict[str, Any] = {**facts, "task": task.name, **of_task, "seed": context.seed}
    try:
        data = task_data.input
        without = task_data.uninformative
        outcome = task.scored_protocol(without).evaluate(data, system, context)
    except NotServedError as reason:
        versions = {"versions": stored.library_versions()}
        return stored.TaskResult(**common, status="not served", reason=str(reason), provenance=versions), {}
    except AbsentDataError as reason:
        return stored.TaskResult(**common, status="not here", reason=str(reason)), {}
    except (InputError, OSError, MemoryError, OutOfMemoryError) as reason:
        return stored.TaskResult(**common, status="failed", reason=f"{type(reason).__name__}: {reason}"), {}
    metrics = {}
    for name, items in outcome.item_scores.items():
        low, high = bootstrap_interval(items)
        metrics[name] = stored.Measure(value=estimate(items), low=low, high=high, n=len(items.ids))
    made = {
        "command": command,
        "declaration": to_declaration(task),
        "python": platform.python_version(),
        "versions": stored.library_versions(),
        "machine": platform.machine(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "data": task_data.data_root.provenance(),
        "intervals": METHOD,
        "seconds": round(time.monotonic() - began, 2),
    }
    dropped = data.dropped.to_json() | outcome.dropped.to_json()
    used = "" if context.format in (task.format, facts["encoded_format"]) else context.format
    extra = {
        "without number": without,
        "damaged vectors": getattr(system, "damaged_vectors", 0) - damaged,
        "format": used,
    }
    details = {**outcome.details, **{name: value for name, value in extra.items() if value}}
    common |= {"metrics": metrics, "details": details, "dropped": dropped, "provenance": made}
    return stored.TaskResult(**common, status="done"), outcome.item_scores
