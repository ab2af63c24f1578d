"""What a report is of: the results of each system, one line per number of a task, and averages over tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from sciprism.evaluation.results import UNDONE, TaskResult, explain_other_scoring, read_results
from sciprism.evaluation.task import Suite, Task

TaskId = tuple[str, str]  # suite and task


@dataclass(frozen=True, slots=True)
class StoredResult:
    """One result and its folder (`evaluation.results`), None where only its numbers are known."""

    result: TaskResult
    folder: Path | None = None

    @property
    def task(self) -> TaskId:
        """Return the suite and the name of the task."""
        return self.result.suite, self.result.task

    @property
    def name(self) -> str:
        """Return the name of the system, with the format of its vectors where that is not the task's."""
        name = str(self.result.system.get("name") or "unnamed system")
        return f"{name} as {self.result.encoded_format}" if self.result.encoded_format else name


@dataclass(frozen=True, slots=True)
class SystemResults:
    """One column of a comparison: a system, with one run per task and seed, in order of seed."""

    name: str
    runs: Mapping[TaskId, tuple[StoredResult, ...]]

    @property
    def results(self) -> list[TaskResult]:
        """Return the results of all tasks and seeds."""
        return [run.result for some in self.runs.values() for run in some]

    def done(self, task: TaskId) -> tuple[StoredResult, ...]:
        """Return the runs of a task that have numbers."""
        return tuple(run for run in self.runs.get(task, ()) if run.result.status == "done")

    def status(self, task: TaskId) -> str:
        """Return done, failed, not here, not served, or not run; a task is done only if all its seeds are."""
        statuses = [run.result.status for run in self.runs.get(task, ())]
        return next((status for status in (*UNDONE, "done") if status in statuses), "not run")


def read_stored_results(folders: Iterable[Path]) -> list[StoredResult]:
    """Read every result below some folders, each once: folders as named, the systems of each as commands named them.

    Raises InputError where a folder has none.
    """
    results: dict[tuple[Path, str, str], StoredResult] = {}
    for root in folders:
        runs = [StoredResult(result, folder) for folder, result in read_results(root)]
        began: dict[str, str] = {}
        for made in (run.result.provenance for run in runs):
            command, date = made.get("command", ""), made.get("date", NEVER[0])
            began[command] = min(date, began.get(command, NEVER[0]))
        first: dict[str, tuple[str, int]] = {}
        for run in runs:
            command = run.result.provenance.get("command", "")
            place = began[command], command.find(str(run.result.system.get("name")))
            first[run.name] = min(place, first.get(run.name, NEVER))
        for run in sorted(runs, key=lambda run: first[run.name]):
            results.setdefault((Path(run.folder or "").resolve(), *run.task), run)
    return list(results.values())


NEVER = ("~", 0)  # after every date of a command, and a system's place in it


def group_by_system(runs: Sequence[StoredResult]) -> list[SystemResults]:
    """Group the runs of each system, in order of first appearance.

    Vectors of another format make a system of their own; seeds do not. Where one name has two results of one
    task and seed, they are two systems, named with their folders.
    """
    by_name: dict[str, list[StoredResult]] = defaultdict(list)
    for run in runs:
        by_name[run.name].append(run)
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
    """Return the position of the first system that has a number."""
    return next((i for i, system in enumerate(systems) if any(map(system.done, system.runs))), 0)


def _build_system(name: str, runs: Iterable[StoredResult]) -> SystemResults:
    by_task: dict[TaskId, list[StoredResult]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.result.seed):
        by_task[run.task].append(run)
    return SystemResults(name, {task: tuple(some) for task, some in by_task.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLine:
    """One number of a task: the mean of its metrics or one of them.

    counted: it enters averages; the parts of a mean do not. result: what others must be comparable to.
    declared: the task as its suite declares it now, None where it is not known.
    """

    task: TaskId
    name: str
    metrics: tuple[str, ...]
    counted: bool
    result: TaskResult
    declared: Task | None = None

    def value(self, run: StoredResult) -> float:
        """Return the number in a run."""
        return sum(run.result.metrics[name].value for name in self.metrics) / len(self.metrics)


@dataclass(frozen=True, slots=True)
class ReportAverage:
    """A mean over the numbers of some tasks. by_group: the mean of the means of the tasks' groups."""

    name: str
    tasks: tuple[TaskId, ...]
    by_group: bool = False


def list_tasks(systems: Sequence[SystemResults], suites: Sequence[Suite]) -> list[TaskId]:
    """Return every task with a result, by suite, in the order of the declarations where known."""
    tasks = list(dict.fromkeys(chain.from_iterable(system.runs for system in systems)))
    declared = {(suite.name, task.name): i for suite in suites for i, task in enumerate(suite.tasks)}
    order = {name: i for i, name in enumerate(dict.fromkeys(suite for suite, _ in tasks))}
    return sorted(tasks, key=lambda task: (order[task[0]], declared.get(task, len(declared))))


def build_lines(task: TaskId, systems: Sequence[SystemResults], declared: Task | None = None) -> list[ReportLine]:
    """Return the lines of a task; the metrics are those of the first system that has it."""
    run = next(chain.from_iterable(system.done(task) for system in systems), None)
    if run is None:
        result = next(system.runs[task][0] for system in systems if task in system.runs).result
        return [ReportLine(task=task, name=task[1], metrics=(), counted=True, result=result)]
    result, names = run.result, tuple(run.result.metrics)
    every_metric = result.numbers == "each" or len(names) == 1
    counted = names if every_metric else names[:1] if result.numbers == "first" else ()

    def line(label: str, metrics: tuple[str, ...], is_counted: bool) -> ReportLine:
        name = f"{task[1]} {label}"
        return ReportLine(task=task, name=name, metrics=metrics, counted=is_counted, result=result, declared=declared)

    lines = [line(name, (name,), name in counted) for name in names]
    return lines if counted else [line("(mean)", names, True), *lines]


def build_averages(tasks: Sequence[TaskId], lines: Sequence[ReportLine], suite: Suite | None) -> list[ReportAverage]:
    """Return the averages of one suite: those declared, then by format, by group, in and out of train.

    Names and sets of tasks that the suite declares are not averaged again. Tasks of the suite without a result
    are members too.
    """
    facts: dict[TaskId, TaskResult | Task] = {line.task: line.result for line in lines}
    for task in suite.tasks if suite else ():
        facts.setdefault((tasks[0][0], task.name), task)  # not run: averages without it are incomplete
    averages = [
        ReportAverage(average.name, tuple((tasks[0][0], task) for task in average.tasks), average.by_group)
        for average in (suite.averages if suite else ())
        if average.tasks
    ]
    groupings: tuple[Callable[[TaskResult | Task], str], ...] = (
        lambda result: f"format {result.format}" if result.format else "",
        lambda result: result.group,
        lambda result: {True: "in-train", False: "out-of-train", None: ""}[result.in_train],
        lambda _: "all",
    )
    for label in groupings:
        labels = {task: label(fact) for task, fact in facts.items()}
        for name in dict.fromkeys(filter(None, (labels[task] for task in tasks))):
            members = tuple(task for task in facts if labels[task] == name)
            declared_names = {mean.name.casefold() for mean in averages}
            if name.casefold() not in declared_names and set(members) not in [set(mean.tasks) for mean in averages]:
                averages.append(ReportAverage(name, members))
    return averages


def explain_incomparable(result: TaskResult, wanted: TaskResult, declared: Task | None = None) -> str:
    """Return why two results of a task do not compare, "" if they do: declaration, scoring, metrics, data."""
    if result.key != wanted.key:
        return f"another declaration (key {result.key}, not {wanted.key})"
    if declared and result.key == declared.key and (other := explain_other_scoring(result, declared)):
        return f"{other}; score it again"
    if set(result.metrics) != set(wanted.metrics):
        return f"other metrics ({', '.join(result.metrics)})"
    mine, theirs = (dict(either.provenance.get("data") or {}) for either in (result, wanted))
    changed = sorted(name for name in mine.keys() & theirs.keys() if mine[name] != theirs[name])
    if changed:
        return f"other data ({', '.join(changed[:3])} changed)"
    if mine and theirs and set(mine.values()) != set(theirs.values()):
        return "other data (other files were read)"
    return ""
