"""Results in, report out: which cells there are, what may be averaged and compared, and what must be said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan

from sciprism.errors import InputError
from sciprism.evaluation.item_scores import holm
from sciprism.evaluation.report.entrants import Entrant, Run, TaskId
from sciprism.evaluation.report.lines import Line, Mean, difference_in_kind, lines_of, means_of, tasks_of
from sciprism.evaluation.report.model import Cell, Report, Row
from sciprism.evaluation.report.notes import notes_of
from sciprism.evaluation.report.numbers import (
    Number,
    Trial,
    difference,
    gap_of,
    mean_gap,
    mean_of,
    number_of,
    score,
)
from sciprism.evaluation.report.resampling import Resampler
from sciprism.evaluation.task import Suite


def build(
    entrants: Sequence[Entrant], suites: Mapping[str, Suite], *, baseline: int = 0, seed: int = 0
) -> Report:
    """Return the report of some systems, with differences to one of them.

    suites: declarations by name, for the averages and rows that papers print; results of a suite that is not
    among them get averages by format and group. seed: of the bootstrap.
    """
    if not entrants:
        raise InputError("no results to report")
    tasks = tasks_of(entrants, list(suites.values()))
    suites = {name: _fitting(suite, tasks) for name, suite in suites.items()}
    ordered = [entrants[baseline], *entrants]  # the baseline says what others must be comparable to
    resampler, rows, all_trials = Resampler(seed), list[Row](), list[tuple[Line, list[Trial]]]()
    for suite in dict.fromkeys(suite for suite, _ in tasks):
        own = [task for task in tasks if task[0] == suite]
        lines = [line for task in own for line in lines_of(task, ordered)]
        trials = [(line, _trials(line, entrants, baseline, resampler)) for line in lines]
        counted = [(line, some) for line, some in trials if line.counted]
        rows += [_task_row(line, some, some[baseline]) for line, some in trials]
        rows += [
            _average_row(mean, counted, entrants, baseline)
            for mean in means_of(own, lines, suites.get(suite))
        ]
        all_trials += trials
    return Report(
        systems=tuple(entrant.name for entrant in entrants),
        baseline=baseline,
        rows=tuple(_corrected(rows, len(entrants))),
        published={name: suites[name].published for name in dict(tasks) if name in suites},
        notes=tuple(notes_of(entrants, baseline, all_trials, rows)),
    )


def _fitting(suite: Suite, tasks: Sequence[TaskId]) -> Suite:
    """Return the view that holds just the tasks there are, if any: what it leaves out is not missing."""
    tried = {task for name, task in tasks if name == suite.name}
    return next((suite.part(view) for view, names in suite.views.items() if set(names) == tried), suite)


def _trials(line: Line, entrants: Sequence[Entrant], baseline: int, resampler: Resampler) -> list[Trial]:
    runs = [_comparable(line, entrant) for entrant in entrants]
    found = []
    for i, (entrant, (mine, remark)) in enumerate(zip(entrants, runs, strict=True)):
        status = entrant.status(line.task)
        if status != "done" or not mine:
            found.append(Trial("not comparable" if remark else status, remark=remark))
            continue
        number = number_of(line, mine, resampler)
        if isnan(number.value):  # a correlation with a constant, say
            found.append(Trial("undefined", remark=remark))
            continue
        trial = Trial("done", number, remark=remark)
        tested = i != baseline and mine[0].home is not None  # without items there is nothing to test
        if tested and runs[baseline][0] and entrants[baseline].status(line.task) == "done":
            trial.gap, reason = gap_of(line, mine, runs[baseline][0], resampler)
            trial.remark = "; ".join(filter(None, (remark, reason)))
        found.append(trial)
    return found


def _comparable(line: Line, entrant: Entrant) -> tuple[list[Run], str]:
    """Return the runs that compare to the line's, and what the others differ in."""
    reasons = {id(run): difference_in_kind(run.result, line.result) for run in entrant.done(line.task)}
    kept = [run for run in entrant.done(line.task) if not reasons[id(run)]]
    return kept, "; ".join(dict.fromkeys(filter(None, reasons.values())))


def _task_row(line: Line, trials: Sequence[Trial], base: Trial) -> Row:
    return Row(
        name=line.name,
        kind="task" if line.counted else "part",
        suite=line.task[0],
        task=line.task[1],
        metric=", ".join(line.metrics),
        format=line.result.format,
        group=line.result.group,
        cells=tuple(_cell(trial, base) for trial in trials),
    )


def _cell(trial: Trial, base: Trial) -> Cell:
    number, gap = trial.number, trial.gap
    return Cell(
        status=trial.status,
        score=score(number) if number else None,
        difference=difference(gap, number, base.number) if gap and number else None,
    )


def _average_row(
    mean: Mean,
    counted: Sequence[tuple[Line, list[Trial]]],
    entrants: Sequence[Entrant],
    baseline: int,
) -> Row:
    """Average the tasks that all systems have; who does not serve some, or has none of them, is left out."""
    inside = [(line, trials) for line, trials in counted if line.task in mean.tasks]
    members = []
    for i in range(len(entrants)):
        statuses = {trials[i].status for _, trials in inside}
        if "done" in statuses and "not served" not in statuses:
            members.append(i)
    lacking = {}
    for task in mean.tasks:
        without = _without([trials for line, trials in inside if line.task == task], entrants, members)
        if without:
            lacking[task] = f"{task[1]} ({without})"
    groups: dict[str, list[list[Trial]]] = {}
    for line, trials in inside if members else ():
        if line.task not in lacking:
            groups.setdefault(line.result.group if mean.by_group else "", []).append(trials)
    by_group = [[[trials[i] for trials in group] for group in groups.values()] for i in range(len(entrants))]
    means = [_mean_number(some) if i in members else None for i, some in enumerate(by_group)]
    return Row(
        name=mean.name,
        kind="average",
        suite=mean.tasks[0][0],
        cells=tuple(
            _average_cell(some, number, None if i == baseline else means[baseline])
            for i, (some, number) in enumerate(zip(by_group, means, strict=True))
        ),
        tasks=tuple(task for _, task in (t for t in mean.tasks if t not in lacking)) if members else (),
        lacking=tuple(lacking.values()) if members else (),
    )


def _without(trials: Sequence[list[Trial]], entrants: Sequence[Entrant], members: Sequence[int]) -> str:
    """Say which systems lack a task and why, or nothing if none does."""
    if not trials:
        return "not run"
    lacking: dict[str, list[str]] = {}
    for i in members:
        status = next((some[i].status for some in trials if some[i].status != "done"), "")
        if status:
            lacking.setdefault(status, []).append(entrants[i].name)
    return "; ".join(f"{status}: {', '.join(names)}" for status, names in lacking.items())


def _mean_number(groups: Sequence[Sequence[Trial]]) -> Number | None:
    """Return the mean of the groups' means, None where there is none."""
    numbers = [[trial.number for trial in trials if trial.number] for trials in groups]
    return mean_of([mean_of(some) for some in numbers]) if any(numbers) else None


def _average_cell(groups: Sequence[Sequence[Trial]], number: Number | None, base: Number | None) -> Cell:
    """Return the mean of the groups' means, and its difference to the baseline's where all are paired."""
    if number is None:
        return Cell(status="left out")
    gaps = [[trial.gap for trial in trials if trial.gap] for trials in groups]
    paired = base is not None and all(trial.gap for trials in groups for trial in trials if trial.number)
    gap = mean_gap([mean_gap(some) for some in gaps]) if paired else None
    return Cell(status="done", score=score(number), difference=difference(gap, number, base) if gap else None)


def _corrected(rows: Sequence[Row], systems: int) -> list[Row]:
    """Correct p by Holm over the tasks of each system's comparison; averages are one family of their own."""
    cells = [list(row.cells) for row in rows]
    for kind in ("task", "average"):
        for i in range(systems):
            family = [j for j, row in enumerate(rows) if row.kind == kind and cells[j][i].difference]
            tested = [d for j in family if (d := cells[j][i].difference)]
            for j, found, p in zip(family, tested, holm([d.p for d in tested]), strict=True):
                cells[j][i] = replace(cells[j][i], difference=replace(found, corrected=float(p)))
    return [replace(row, cells=tuple(some)) for row, some in zip(rows, cells, strict=True)]
