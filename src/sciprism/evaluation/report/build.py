"""Build a report from results: its cells, averages, comparisons and notes; and the results of one run."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import isnan
from typing import TYPE_CHECKING, Any, overload

import sciprism.evaluation.report.model as model
from sciprism.encoders.provenance import describe_untrained, untrained_stage
from sciprism.errors import InputError
from sciprism.evaluation.intervals import holm, mean_samples
from sciprism.evaluation.report.text_tables import first_names, published_columns, show, terminal
from sciprism.evaluation.results import TaskResult
from sciprism.evaluation.task import Published, Suite

if TYPE_CHECKING:
    from rich.console import Console


LineCells = Sequence[tuple[model.ReportLine, list[model.ReportCell]]]  # lines with the cell of each system


def build_notes(
    systems: Sequence[model.SystemResults], baseline: int, results: LineCells, rows: Sequence[model.ReportRow]
) -> list[str]:
    """Return the notes under the tables, the method first."""
    each = [(system.name, result, result.details) for system in systems for result in system.results]
    stages = dict.fromkeys((name, untrained_stage(result.system)) for name, result, _ in each)
    lacking = ((result.task, *why) for _, result, facts in each for why in facts.get("without number", {}).items())
    return [
        *_method(systems, baseline, rows),
        *(f"{name}: {describe_untrained(stage)}." for name, stage in stages if stage),
        *_incomplete(rows),
        *_without_number(systems),
        *dict.fromkeys(f"{task}: no {metric}: {reason}" for task, metric, reason in lacking),
        *(
            f"warning: {name}, {result.task}: {why}"
            for name, result, facts in each
            for why in facts.get("warnings", ())
        ),
        *_not_comparable(systems, results),
        *_seeds(systems),
        *(
            f"{system.name}: its results are of {count} different models (fingerprints)"
            for system in systems
            if (count := len({str(result.system.get("fingerprint", "")) for result in system.results})) > 1
        ),
        *_dropped(systems),
        *(
            f"{system.name}: {count:,} cached vectors were damaged, and were computed again"
            for system in systems
            if (count := sum(result.details.get("damaged vectors", 0) for result in system.results))
        ),
    ]


def collect_remarks(suites: Mapping[str, Suite], results: LineCells) -> dict[str, str]:
    """Return what declarations say about the data: of each suite with results, then of its tasks."""
    remarks: dict[str, str] = {}
    for line, _ in results:
        name, task = line.task[0], line.declared
        if name in suites and suites[name].remark:
            remarks[name] = suites[name].remark
        if task and task.remark and task.key == line.result.key:
            remarks[f"{name}/{task.name}"] = task.remark
    return remarks


def _method(systems: Sequence[model.SystemResults], baseline: int, rows: Sequence[model.ReportRow]) -> Iterator[str]:
    cells = [cell for row in rows for cell in row.cells]
    if any(cell.score and cell.score.low is not None for cell in cells):
        yield (
            "Numbers are times 100; in brackets: 95% interval over test items (Wilson's with the effective number "
            "of items and Student's t; method and coverage: docs/benchmarks.md)."
        )
    else:
        yield "Numbers are times 100."
    if any(cell.score and cell.score.sd is not None for cell in cells):
        yield "± is the standard deviation over seeds; intervals and tests are about items, not about seeds."
    tested = sum(cell.difference is not None for row in rows if row.kind != "part" for cell in row.cells)
    if tested:
        yield (
            f"Differences are to {systems[baseline].name}, paired by item. * : the 95% interval excludes 0 "
            f"(Student's t, p < {model.LEVEL}); ** : also after Holm's correction over the {tested} differences shown. "
            "Read * for one comparison that was chosen before looking, ** to find in the tables where systems differ."
        )
        yield (
            "Intervals and marks are about test items alone: where a probe, a head or an encoder is trained, "
            "another sample of training papers or another seed moves a number further."
        )
    elif len(systems) > 1:
        stored = any(run.folder for system in systems for runs in system.runs.values() for run in runs)
        name = systems[baseline].name
        yield (
            f"No difference is shown: no number of {name} is paired by item with another's; the notes below say why, "
            "and --baseline names another system."
            if stored
            else "No difference is shown: `sciprism compare RESULTS` computes and tests differences."
        )
    if any(cell.difference and cell.difference.apart for cell in cells):
        yield "† marks means over seeds that are more than two standard deviations apart, the larger of both."
    if any(cell.status == "left out" for cell in cells):
        yield "Averages are over tasks that all systems have; one that has no number on some has no average."


def _incomplete(rows: Sequence[model.ReportRow]) -> Iterator[str]:
    lacking: dict[tuple[str, tuple[str, ...]], list[str]] = defaultdict(list)
    for row in rows:
        if row.lacking:
            lacking[row.suite, row.lacking].append(row.name)
    for (suite, tasks), names in lacking.items():
        yield f"incomplete in {suite}: {', '.join(names)}: without {first_names(tasks)}"


def _without_number(systems: Sequence[model.SystemResults]) -> Iterator[str]:
    absent: dict[str, dict[str, None]] = defaultdict(dict)
    for system in systems:
        reasons: dict[str, list[str]] = defaultdict(list)
        for result in system.results:
            if result.status == "not here":
                absent[result.reason][result.task] = None
            elif result.status != "done":
                reasons[f"{result.status}: {result.reason}"].append(result.task)
        for reason, tasks in reasons.items():
            yield f"{system.name}, {first_names(dict.fromkeys(tasks))}: {reason.removesuffix(': ')}"
    for reason, names in absent.items():
        yield f"{first_names(names)}: not here: {reason}"


def _not_comparable(systems: Sequence[model.SystemResults], results: LineCells) -> Iterator[str]:
    remarks: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line, some in results:
        for system, result in zip(systems, some, strict=True):
            if result.remark:
                remarks[system.name, result.remark].append(line.task[1])
    for (name, remark), tasks in remarks.items():
        yield f"not compared: {name}, {first_names(dict.fromkeys(tasks))}: {remark}"


def _seeds(systems: Sequence[model.SystemResults]) -> Iterator[str]:
    used: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for system in systems:
        for seeds in dict.fromkeys(
            tuple(run.result.seed for run in system.done(task)) for task in system.runs if system.done(task)
        ):
            used[seeds].append(system.name)
    if len(used) > 1:
        parts = (f"{', '.join(map(str, seeds))}: {', '.join(names)}" for seeds, names in used.items())
        yield f"seeds differ; differences are over the seeds that both systems have. Seeds {'; '.join(parts)}"


def _dropped(systems: Sequence[model.SystemResults]) -> Iterator[str]:
    """Yield what was dropped, a line for each reason and count: with its tasks, and its systems if not all."""
    tasks_by_reason: dict[tuple[str, str, int, str], dict[str, None]] = defaultdict(dict)
    listed: dict[str, str] = {}
    for system in systems:
        for result in system.results:
            listed.setdefault(result.task, result.details.get("dropped by the data", ""))
            for reason, entry in result.dropped.items():
                first = ", ".join(map(str, entry["first"][:3]))
                tasks_by_reason[result.task, reason, entry["count"], first][system.name] = None
    lines: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (task, reason, count, first), names in tasks_by_reason.items():
        of = "" if len(names) == len(systems) else f" ({', '.join(names)})"
        more = ", ..." if count > 3 else ""
        file = "; all ids: SYSTEM/SUITE/dropped/TASK.csv" if count > 3 and listed[task] else ""
        lines[f"{count:,} x {reason} ({first}{more}){file}", of].append(task)
    for (line, of), tasks in lines.items():
        yield f"{first_names(tasks)}{of}: {line}"


def build_report(
    systems: Sequence[model.SystemResults], suites: Mapping[str, Suite], *, baseline: int = 0
) -> model.Report:
    """Return the report of some systems, with differences to one of them.

    suites: declarations by name, with averages and published rows; results of other suites get averages by
    format and group.
    """
    if not systems:
        raise InputError("no results to report")
    scored = {suite for system in systems for suite, _ in system.runs}
    suites = {name: suites[name] for name in suites if name in scored}
    tasks = model.list_tasks(systems, list(suites.values()))
    declared = {(name, task.name): task for name, suite in suites.items() for task in suite.tasks}
    for name, whole in suites.items():  # the view with exactly the tasks that have results: its others are not missing
        tried = {task for suite, task in tasks if suite == name}
        if view := next((view for view, members in whole.views.items() if set(members) == tried), ""):
            suites[name] = whole.select_view(view)
    ordered = [systems[baseline], *systems]  # others must be comparable to the baseline
    resampler, rows = model.Resampler(), list[model.ReportRow]()
    all_results: list[tuple[model.ReportLine, list[model.ReportCell]]] = []
    for suite in dict.fromkeys(suite for suite, _ in tasks):
        tasks_of_suite = [task for task in tasks if task[0] == suite]
        lines = [line for task in tasks_of_suite for line in model.build_lines(task, ordered, declared.get(task))]
        results = [(line, _score_systems(line, systems, baseline, resampler)) for line in lines]
        view = suites[suite].name.partition("/")[2] if suite in suites else ""
        counted = [(line, some) for line, some in results if line.counted]
        rows += [_task_row(line, some) for line, some in results]
        rows += [
            replace(_average_row(average, counted, systems, baseline), view=view)
            for average in model.build_averages(tasks_of_suite, lines, suites.get(suite))
        ]
        all_results += results
    return model.Report(
        systems=tuple(system.name for system in systems),
        baseline=baseline,
        rows=tuple(_correct_p_values(rows)),
        published={name: _published_scores(suites[name], rows, all_results) for name in dict(tasks) if name in suites},
        notes=tuple(build_notes(systems, baseline, all_results, rows)),
        remarks=collect_remarks(suites, all_results),
    )


def _published_scores(suite: Suite, rows: Sequence[model.ReportRow], results: LineCells) -> tuple[Published, ...]:
    """Return the published rows with the scores that compare: of tasks as declared now, of averages without a gap."""
    declared = {line.task for line, _ in results if line.declared and line.declared.key == line.result.key}
    columns = {
        name
        for row in rows
        if row.suite == suite.name and not row.incomplete
        if all((row.suite, task) in declared for task in row.tasks or [row.task])
        for name in published_columns(row)
    }
    published = (replace(row, scores={c: s for c, s in row.scores.items() if c in columns}) for row in suite.published)
    return tuple(row for row in published if row.scores)


def _score_systems(
    line: model.ReportLine, systems: Sequence[model.SystemResults], baseline: int, resampler: model.Resampler
) -> list[model.ReportCell]:
    comparable = [_select_comparable(line, system) for system in systems]
    scores = [
        model.score_line(line, runs, resampler) if runs and system.status(line.task) == "done" else None
        for system, (runs, _) in zip(systems, comparable, strict=True)
    ]
    base, base_runs = scores[baseline], comparable[baseline][0]
    cells = []
    for i, (system, score, (runs, remark)) in enumerate(zip(systems, scores, comparable, strict=True)):
        if score is None:
            status = "not comparable" if remark else system.status(line.task)
            cells.append(model.ReportCell(status=status, remark=remark))
        elif isnan(score.value):  # such as a correlation with a constant
            cells.append(model.ReportCell(status="undefined", remark=remark))
        else:
            samples, reason = None, ""
            if i != baseline and base and runs[0].folder is not None:  # without items there is no test
                samples, reason = model.compare_line(line, runs, base_runs, resampler)
            difference = model.Difference.build(samples, score, base) if samples else None
            remark = "; ".join(filter(None, (remark, reason)))
            cells.append(model.ReportCell(status="done", score=score, difference=difference, remark=remark))
    return cells


def _select_comparable(line: model.ReportLine, system: model.SystemResults) -> tuple[list[model.StoredResult], str]:
    """Return the runs that compare to the line's result, and why the others do not."""
    runs = [(run, model.explain_incomparable(run.result, line.result, line.declared)) for run in system.done(line.task)]
    reasons = dict.fromkeys(reason for _, reason in runs if reason)
    return [run for run, reason in runs if not reason], "; ".join(reasons)


def _task_row(line: model.ReportLine, cells: Sequence[model.ReportCell]) -> model.ReportRow:
    return model.ReportRow(
        name=line.name,
        kind="task" if line.counted else "part",
        suite=line.task[0],
        task=line.task[1],
        metric=", ".join(line.metrics),
        format=line.result.format,
        group=line.result.group,
        cells=tuple(cells),
    )


def _average_row(
    average: model.ReportAverage, counted: LineCells, systems: Sequence[model.SystemResults], baseline: int
) -> model.ReportRow:
    """Average the tasks that all systems have; systems that do not serve some, or have none, get none."""
    inside = [(line, results) for line, results in counted if line.task in average.tasks]
    statuses = [{results[i].status for _, results in inside} for i in range(len(systems))]
    members = [i for i, of_system in enumerate(statuses) if "done" in of_system and "not served" not in of_system]
    reasons = {
        task: _explain_lacking([some for line, some in inside if line.task == task], systems, members)
        for task in average.tasks
    }
    lacking = {task: f"{task[1]} ({reason})" for task, reason in reasons.items() if reason}
    groups: dict[str, list[list[model.ReportCell]]] = {}
    for line, results in inside if members else ():
        if line.task not in lacking:
            groups.setdefault(line.result.group if average.by_group else "", []).append(results)
    by_system = [[[results[i] for results in group] for group in groups.values()] for i in range(len(systems))]
    means = []
    for i, groups_of_system in enumerate(by_system):
        scores = [[result.score for result in results if result.score] for results in groups_of_system]
        has_mean = i in members and any(scores)
        means.append(model.average_scores([model.average_scores(some) for some in scores]) if has_mean else None)
    return model.ReportRow(
        name=average.name,
        kind="average",
        suite=average.tasks[0][0],
        cells=tuple(
            _average_cell(some, mean, None if i == baseline else means[baseline])
            for i, (some, mean) in enumerate(zip(by_system, means, strict=True))
        ),
        tasks=tuple(task for _, task in (t for t in average.tasks if t not in lacking)) if members else (),
        lacking=tuple(lacking.values()) if members else (),
    )


def _explain_lacking(
    results: Sequence[list[model.ReportCell]], systems: Sequence[model.SystemResults], members: Sequence[int]
) -> str:
    """Return which systems lack a task and why, "" if none does."""
    if not results:
        return "not run"
    lacking: dict[str, list[str]] = {}
    for i in members:
        status = next((some[i].status for some in results if some[i].status != "done"), "")
        if status:
            lacking.setdefault(status, []).append(systems[i].name)
    return "; ".join(f"{status}: {', '.join(names)}" for status, names in lacking.items())


def _average_cell(
    groups: Sequence[Sequence[model.ReportCell]], score: model.Score | None, base: model.Score | None
) -> model.ReportCell:
    """Return the mean of the groups' means, and its difference to the baseline's where all are paired."""
    if score is None:
        return model.ReportCell(status="left out")
    if base is None or not all(cell.difference for cells in groups for cell in cells if cell.score):
        return model.ReportCell(status="done", score=score)
    differences = [[cell.difference.samples for cell in cells if cell.difference] for cells in groups]
    samples = mean_samples([mean_samples(some) for some in differences])
    return model.ReportCell(status="done", score=score, difference=model.Difference.build(samples, score, base))


def _correct_p_values(rows: Sequence[model.ReportRow]) -> list[model.ReportRow]:
    """Correct p by Holm over all differences that a report shows: tasks and averages of all systems."""
    shown = [cell.difference for row in rows if row.kind != "part" for cell in row.cells if cell.difference]
    corrected = iter(holm([difference.p for difference in shown]))

    def correct(cell: model.ReportCell) -> model.ReportCell:
        if not cell.difference:
            return cell
        return replace(cell, difference=replace(cell.difference, corrected=float(next(corrected))))

    return [row if row.kind == "part" else replace(row, cells=tuple(map(correct, row.cells))) for row in rows]


class Results(Sequence[TaskResult]):
    """The results of some systems at some tasks, one per task, system and seed.

    `results["open/cranfield", "bm25"]` is a number: the task's main metric, the mean over seeds; a third word
    names another metric. `print(results)` shows the table of `sciprism evaluate`. failed: whether a task failed, or no
    task had its data here.
    """

    def __init__(self, results: Sequence[TaskResult], suites: Sequence[Suite] = ()) -> None:
        self._results = list(results)
        statuses = {result.status for result in results}
        self.failed = "failed" in statuses or statuses == {"not here"}
        self._suites = {suite.folder: suite for suite in suites}  # a view has its suite's results

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, key: int) -> TaskResult: ...
    @overload
    def __getitem__(self, key: slice) -> list[TaskResult]: ...
    @overload
    def __getitem__(self, key: tuple[str, ...]) -> float: ...
    def __getitem__(self, key: int | slice | tuple[str, ...]) -> TaskResult | list[TaskResult] | float:
        return self._score(*key) if isinstance(key, tuple) else self._results[key]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one flat row per metric, for a data frame; of a task without a number, one row with the reason."""
        rows = []
        for result in self:
            names = {"suite": result.suite, "task": result.task, "system": result.system["name"], "seed": result.seed}
            if not result.metrics:
                rows.append({**names, "status": result.status, "reason": result.reason})
            for metric, measure in result.metrics.items():
                rows.append({**names, "status": result.status, "metric": metric, **asdict(measure)})
        return rows

    def to_json(self) -> list[dict[str, Any]]:
        """Return all results as JSON values, as in their files."""
        return [asdict(result) for result in self]

    def report(self) -> model.Report:
        """Return the report of the results, with averages, and notes on what is missing.

        Differences are not tested: that needs the item scores, which `sciprism compare` reads.
        """
        tried = {(result.suite, result.task) for result in self}
        missing = [
            f"incomplete: {len(absent)} of {len(suite.tasks)} tasks not run: {', '.join(absent)}"
            for name, suite in self._suites.items()
            if (absent := [task.name for task in suite.tasks if (name, task.name) not in tried])
        ]
        report = build_report(model.group_by_system([model.StoredResult(result) for result in self]), self._suites)
        return replace(report, notes=(*report.notes, *missing))

    def __str__(self) -> str:
        width = shutil.get_terminal_size((110, 24)).columns
        return terminal(self.report(), width=width).rstrip("\n") if self else "no results"

    def show(self, console: Console | None = None) -> None:
        """Print the table, in the style and width of the terminal. console: another to print on."""
        if self:
            show(self.report(), console)
        else:
            print("no results")

    def _score(self, task: str, system: str, metric: str = "") -> float:
        results = [r for r in self if r.system["name"] == system and task in (r.task, f"{r.suite}/{r.task}")]
        if not results:
            tasks = ", ".join(dict.fromkeys(f"{r.suite}/{r.task}" for r in self))
            systems = ", ".join(dict.fromkeys(str(r.system["name"]) for r in self))
            raise KeyError(f"no result of {system!r} at {task!r}; tasks: {tasks}; systems: {systems}")
        if lacking := [result for result in results if result.status != "done"]:
            raise KeyError(f"{system} has no number at {task}: {lacking[0].status}: {lacking[0].reason}")
        metric = metric or next(iter(results[0].metrics))
        if metric not in results[0].metrics:
            raise KeyError(f"{task} has no metric {metric!r}; known: {', '.join(results[0].metrics)}")
        return sum(result.metrics[metric].value for result in results) / len(results)
