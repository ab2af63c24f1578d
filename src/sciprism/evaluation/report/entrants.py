"""Who is compared: the results of each system brought together, its seeds beside each other."""

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
class Run:
    """One result and its place (`stored_results`); no place where only the numbers are at hand."""

    result: TaskResult
    home: Path | None = None

    @property
    def task(self) -> TaskId:
        """Return the suite and the name of the task."""
        return self.result.suite, self.result.task


@dataclass(frozen=True, slots=True)
class Entrant:
    """One column of a comparison: a system, with one run per task and seed, in order of seed."""

    name: str
    runs: Mapping[TaskId, tuple[Run, ...]]

    def done(self, task: TaskId) -> tuple[Run, ...]:
        """Return the runs of a task that have numbers."""
        return tuple(run for run in self.runs.get(task, ()) if run.result.status == "done")

    def status(self, task: TaskId) -> str:
        """Return done, failed, not served, or not run; a task is done only with every seed that was tried."""
        found = [run.result.status for run in self.runs.get(task, ())]
        return next((status for status in ("failed", "not served", "done") if status in found), "not run")


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Read every result below some folders, each once. Raises InputError where a folder has none."""
    found: dict[tuple[Path, str, str], Run] = {}
    for folder in folders:
        for home, result in stored_results.read_all(folder):
            found.setdefault((home.resolve(), result.suite, result.task), Run(result, home))
    return list(found.values())


def entrants_of(runs: Sequence[Run]) -> list[Entrant]:
    """Bring together the runs of each system, in order of first appearance.

    Vectors of another format make an entrant of their own. Seeds do not; but where one name has two results
    of one task and seed, they are two systems, told apart by their folders.
    """
    named: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        named[_name(run.result)].append(run)
    entrants = []
    for name, members in named.items():
        once = {(run.task, run.result.seed) for run in members}
        if len(once) == len(members):
            entrants.append(_entrant(name, members))
            continue
        apart: dict[str, list[Run]] = defaultdict(list)
        for run in members:
            apart[f"{name} ({run.home or run.result.system.get('fingerprint', '')})"].append(run)
        entrants += [_entrant(longer, some) for longer, some in apart.items()]
    return entrants


def fingerprint_notes(entrants: Iterable[Entrant]) -> list[str]:
    """Name the entrants whose seeds are of different weights: trained apart, or two models of one name."""
    notes = []
    for entrant in entrants:
        prints = {
            str(run.result.system.get("fingerprint", "")) for some in entrant.runs.values() for run in some
        }
        if len(prints) > 1:
            notes.append(f"{entrant.name}: its results are of {len(prints)} different models (fingerprints)")
    return notes


def _name(result: TaskResult) -> str:
    name = str(result.system.get("name") or "unnamed system")
    return f"{name} as {result.as_format}" if result.as_format else name


def _entrant(name: str, runs: Iterable[Run]) -> Entrant:
    by_task: dict[TaskId, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.result.seed):
        by_task[run.task].append(run)
    return Entrant(name, {task: tuple(some) for task, some in by_task.items()})
