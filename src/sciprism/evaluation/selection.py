"""Select the tasks to score: by suite, view or task name, by file of custom tasks, or as declarations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.evaluation.protocols.probe import ProbeProtocol
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import Suite, Task
from sciprism.evaluation.task_files import read_suite
from sciprism.evaluation.tuning.settings import Tuning
from sciprism.probes.grid import SolverName


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
    own = tuple(item for item in items if isinstance(item, Task))
    parts = [_find_tasks(item) for item in items if not isinstance(item, Task)]
    parts += [SelectedTasks(Suite(name="custom", tasks=own), own)] if own else []
    found: dict[str, SelectedTasks] = {}
    for part in parts:
        known = found.get(part.suite.folder, part)
        suite = part.suite if known.suite == part.suite else suites[part.suite.folder]
        tasks = {task.name: task for task in (*known.tasks, *part.tasks)}
        found[part.suite.folder] = SelectedTasks(suite, tuple(tasks.values()))
    if not only:
        return list(found.values())
    names = [task.name for part in found.values() for task in part.tasks]
    if unknown := [name for name in only if name not in names]:
        where = ", ".join(part.suite.name for part in found.values())
        raise InputError(f"the suite {where} has no task {unknown[0]!r}; known: {', '.join(names)}")
    return [replace(part, tasks=tuple(t for t in part.tasks if t.name in only)) for part in found.values()]


def configure_tasks(
    selected: Sequence[SelectedTasks], solver: SolverName, grid: Mapping[str, Sequence[float]]
) -> list[SelectedTasks]:
    """Return the tasks with another solver of linear probes or grid of fine-tuning, where they have any."""

    def configure(task: Task) -> Task:
        protocol: Any = task.protocol
        if isinstance(protocol, ProbeProtocol):
            return replace(task, protocol=replace(protocol, solver=solver))
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
    if part and part not in whole.views:
        known = ", ".join(whole.views) or "none"
        raise InputError(f"no task {name!r}, and the suite {suite} has no view {part!r}; known: {known}")
    selected = whole.select_view(part) if part else whole
    return SelectedTasks(selected, selected.tasks)
