"""Which numbers a report shows: one line per number of a task, and the averages over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from sciprism.evaluation.report.entrants import Entrant, Run, TaskId
from sciprism.evaluation.results import TaskResult
from sciprism.evaluation.task import Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One number of a task: the mean of its metrics, one of them (counted), or a part of the mean (not)."""

    task: TaskId
    name: str
    metrics: tuple[str, ...]
    counted: bool
    result: TaskResult
    """The result that others must be comparable to."""

    def value(self, run: Run) -> float:
        """Return the number in a result."""
        return sum(run.result.metrics[name].value for name in self.metrics) / len(self.metrics)


@dataclass(frozen=True, slots=True)
class Mean:
    """An average to show: its name and its tasks. by_group: it is the mean of the means of their groups."""

    name: str
    tasks: tuple[TaskId, ...]
    by_group: bool = False


def tasks_of(entrants: Sequence[Entrant], suites: Sequence[Suite]) -> list[TaskId]:
    """Return every task that has a result, suite by suite, in the order of the declarations where known."""
    found = list(dict.fromkeys(chain.from_iterable(entrant.runs for entrant in entrants)))
    declared = {(suite.name, task.name): i for suite in suites for i, task in enumerate(suite.tasks)}
    order = {name: i for i, name in enumerate(dict.fromkeys(suite for suite, _ in found))}
    return sorted(found, key=lambda task: (order[task[0]], declared.get(task, len(declared))))


def lines_of(task: TaskId, entrants: Sequence[Entrant]) -> list[Line]:
    """Return the lines of a task; the first entrant that has it says which metrics there are."""
    run = next(chain.from_iterable(entrant.done(task) for entrant in entrants), None)
    if run is None:
        result = next(entrant.runs[task][0] for entrant in entrants if task in entrant.runs).result
        return [Line(task=task, name=task[1], metrics=(), counted=True, result=result)]
    result, names = run.result, tuple(run.result.metrics)
    counted = names if result.numbers == "each" else names[:1] if result.numbers == "first" else ()
    if len(names) == 1:
        counted = names
    lines = [
        Line(task=task, name=f"{task[1]} {name}", metrics=(name,), counted=name in counted, result=result)
        for name in names
    ]
    if counted:
        return lines
    return [Line(task=task, name=f"{task[1]} (mean)", metrics=names, counted=True, result=result), *lines]


def means_of(tasks: Sequence[TaskId], lines: Sequence[Line], suite: Suite | None) -> list[Mean]:
    """Return the averages of one suite: as its paper forms them, by format, by group, in and out of train.

    What the paper averages by one of these names is left at that, and the same tasks are not averaged twice.
    """
    results = {line.task: line.result for line in lines}
    named = [
        Mean(average.name, tuple((tasks[0][0], task) for task in average.tasks), average.by_group)
        for average in (suite.averages if suite else ())
        if average.tasks
    ]

    labellings: tuple[Callable[[TaskResult], str], ...] = (
        lambda result: f"format {result.format}" if result.format else "",
        lambda result: result.group,
        lambda result: {True: "in-train", False: "out-of-train", None: ""}[result.in_train],
        lambda _: "all",
    )
    for label in labellings:
        labels = {task: label(results[task]) for task in tasks}
        for name in dict.fromkeys(filter(None, labels.values())):
            members = tuple(task for task in tasks if labels[task] == name)
            known = {mean.name.casefold() for mean in named}
            if name.casefold() not in known and set(members) not in [set(mean.tasks) for mean in named]:
                named.append(Mean(name, members))
    return named


def difference_in_kind(result: TaskResult, wanted: TaskResult) -> str:
    """Say why two results of a task do not compare: another declaration, or other data; "" if they do."""
    if result.key != wanted.key:
        return f"another declaration (key {result.key}, not {wanted.key})"
    if set(result.metrics) != set(wanted.metrics):
        return f"other metrics ({', '.join(result.metrics)})"
    mine, theirs = (dict(found.provenance.get("data") or {}) for found in (result, wanted))
    changed = sorted(name for name in mine.keys() & theirs.keys() if mine[name] != theirs[name])
    if changed:
        return f"other data ({', '.join(changed[:3])} changed)"
    if mine and theirs and set(mine.values()) != set(theirs.values()):
        return "other data (other files were read)"
    return ""
