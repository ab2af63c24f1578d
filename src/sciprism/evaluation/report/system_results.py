"""The results of each system, with its seeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sciprism.evaluation import stored_results
from sciprism.evaluation.results import TaskResult

TaskId = tuple[str, str]
"""Suite and task."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """One result and its folder (`stored_results`), None where only its numbers are known."""

    result: TaskResult
    folder: Path | None = None

    @property
    def task(self) -> TaskId:
        """Return the suite and the name of the task."""
        return self.result.suite, self.result.task


@dataclass(frozen=True, slots=True)
class SystemResults:
    """One column of a comparison: a system, with one run per task and seed, in order of seed."""

    name: str
    runs: Mapping[TaskId, tuple[StoredResult, ...]]

    def done(self, task: TaskId) -> tuple[StoredResult, ...]:
        """Return the runs of a task that have numbers."""
        return tuple(run for run in self.runs.get(task, ()) if run.result.status == "done")

    def status(self, task: TaskId) -> str:
        """Return done, failed, not served, or not run; a task is done only if all its seeds are."""
        found = [run.result.status for run in self.runs.get(task, ())]
        return next((status for status in ("failed", "not served", "done") if status in found), "not run")


def read_stored_results(folders: Iterable[Path]) -> list[StoredResult]:
    """Read every result below some folders, each once. Raises InputError where a folder has none."""
    found: dict[tuple[Path, str, str], StoredResult] = {}
    for root in folders:
        for folder, result in stored_results.read_results(root):
            found.setdefault((folder.resolve(), result.suite, result.task), StoredResult(result, folder))
    return list(found.values())


def group_by_system(runs: Sequence[StoredResult]) -> list[SystemResults]:
    """Group the runs of each system, in order of first appearance.

    Vectors of another format make a system of their own; seeds do not. Where one name has two results of one
    task and seed, they are two systems, named with their folders.
    """
    by_name: dict[str, list[StoredResult]] = defaultdict(list)
    for run in runs:
        name = str(run.result.system.get("name") or "unnamed system")
        by_name[f"{name} as {run.result.encoded_format}" if run.result.encoded_format else name].append(run)
    systems = []
    for name, members in by_name.items():
        if len({(run.task, run.result.seed) for run in members}) == len(members):
            systems.append(_build_system(name, members))
            continue
        by_folder: dict[str, list[StoredResult]] = defaultdict(list)
        for run in members:
            by_folder[f"{name} ({run.folder or run.result.system.get('fingerprint', '')})"].append(run)
        systems += [_build_system(longer, some) for longer, some in by_folder.items()]
    return systems


def choose_baseline(systems: Sequence[SystemResults]) -> int:
    """Return the position of the system with numbers on the most tasks, the first of equals."""
    counts = [sum(system.status(task) == "done" for task in system.runs) for system in systems]
    return counts.index(max(counts))


def _build_system(name: str, runs: Iterable[StoredResult]) -> SystemResults:
    by_task: dict[TaskId, list[StoredResult]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.result.seed):
        by_task[run.task].append(run)
    return SystemResults(name, {task: tuple(some) for task, some in by_task.items()})
