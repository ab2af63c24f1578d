"""Build a report from results, its cells, averages, comparisons and notes, and write it as tables of text."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from io import StringIO
from itertools import chain
from math import isnan
from textwrap import fill
from typing import TYPE_CHECKING, Any, overload

import sciprism.evaluation.report.model as model
from sciprism.encoders.settings import describe_untrained, untrained_stage
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import holm, mean_samples
from sciprism.evaluation.report.model import Difference, Report, ReportCell, ReportRow, Score
from sciprism.evaluation.results import TaskResult
from sciprism.evaluation.task import Average, Published, Suite

if TYPE_CHECKING:
    from rich.console import Console

LONGEST_NAME = 44
GAP = 2
NAMED = 8  # tasks or systems that a note names; the tables show all


@dataclass(frozen=True, slots=True)
class TextTable:
    """One table: its title, the heads of its columns (the first is of the names), and its rows."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def build_tables(report: Report, only: str = "") -> Iterator[TextTable]:
    """Yield the tables of each suite, or of one: averages, tasks by group, differences, published rows."""
    for suite in (only,) if only else report.suites:
        rows = [row for row in report.rows if row.suite == suite]
        if averages := [row for row in rows if row.kind == "average" and row.in_family]:
            yield _scores(f"{suite}: averages", report, averages)
        for group in dict.fromkeys(row.group or row.format for row in rows if row.kind != "average"):
            members = [row for row in rows if row.kind != "average" and (row.group or row.format) == group]
            yield _scores(f"{suite}: {group}", report, members)
        yield from _differences(f"{suite}: difference to {report.systems[report.baseline]}", report, rows)
        yield from _compare_published(suite, report, rows)


def _measure(table: TextTable) -> list[int]:
    """Return the width of each column with its gap: of names a long line, of others the longest word of the head."""
    names, *columns = zip(table.heads, *table.rows, strict=True)
    words = [max(map(len, head.split()), default=0) for head, *_ in columns]
    cells = [max(map(len, rest), default=0) for _, *rest in columns]
    return [
        GAP + min(max(map(len, names)), LONGEST_NAME),
        *(GAP + max(pair) for pair in zip(words, cells, strict=True)),
    ]


def first_names(names: Iterable[str]) -> str:
    """Return the first `NAMED` names, and how many more there are."""
    first = list(names)
    more = f" and {len(first) - NAMED} more" if len(first) > NAMED else ""
    return ", ".join(first[:NAMED]) + more


def split_table(table: TextTable, width: int) -> Iterator[TextTable]:
    """Yield parts of a table of at most `width`, each with the names and at least one other column."""
    names, *_ = widths = _measure(table)
    column, title = 1, table.title
    while column < len(widths):
        end, left = column + 1, width + GAP - names - widths[column]
        while end < len(widths) and widths[end] <= left:
            left -= widths[end]
            end += 1
        heads, *rows = ((row[0], *row[column:end]) for row in (table.heads, *table.rows))
        yield TextTable(title, heads, tuple(rows))
        column, title = end, f"{table.title} (continued)"


def score_text(score: Score) -> str:
    """Return a score times 100, such as 71.23 ±0.41 [70.1, 72.3]."""
    parts = [f"{100 * score.value:.2f}"]
    if score.sd is not None:
        parts.append(f"±{100 * score.sd:.2f}")
    if score.low is not None and score.high is not None:
        parts.append(f"[{100 * score.low:.1f}, {100 * score.high:.1f}]")
    return " ".join(parts)


def difference_text(difference: Difference) -> str:
    """Return a difference times 100: +1.20 [0.3, 2.1] *, or ** after Holm's correction."""
    interval = f"{100 * difference.value:+.2f} [{_limit(100 * difference.low)}, {_limit(100 * difference.high)}]"
    mark = "**" if difference.marked_among_all else "*" * difference.marked
    return " ".join(filter(None, [interval, mark, "†" * difference.apart]))


def _limit(number: float) -> str:
    """Return one decimal, or as many as show on which side of 0 the number is."""
    text = f"{number:.1f}"
    return f"{number:.1g}" if number and not float(text) else text


def cell_text(cell: ReportCell) -> str:
    """Return a cell's score, or why there is none."""
    no_score = {"not served": "-", "left out": "-", "not run": ""}
    return score_text(cell.score) if cell.score else no_score.get(cell.status, cell.status)


def row_label(row: ReportRow) -> str:
    """Return the name of a row in a table; the parts of a mean are marked."""
    return f"· {row.name}" if row.kind == "part" else row.title


def published_columns(row: ReportRow) -> tuple[str, ...]:
    """Return the names of a row's column in a paper's table: average, task, or task and metric."""
    return (row.name, row.task) if row.kind == "task" else (row.name,)


def _scores(title: str, report: Report, rows: Sequence[ReportRow]) -> TextTable:
    lines = []
    for row in rows:
        counts = sorted({cell.score.n for cell in row.cells if cell.score})
        items = "-".join(f"{count:,}" for count in dict.fromkeys((*counts[:1], *counts[-1:])))
        lines.append((row_label(row), items, *map(cell_text, row.cells)))
    return TextTable(title, ("", "items", *report.systems), tuple(lines))


def _differences(title: str, report: Report, rows: Sequence[ReportRow]) -> Iterator[TextTable]:
    others = [i for i in range(len(report.systems)) if i != report.baseline]
    tested = [
        row for row in rows if (row.in_family or row.kind == "part") and any(row.cells[i].difference for i in others)
    ]
    if tested:
        yield TextTable(
            title,
            ("", *(report.systems[i] for i in others)),
            tuple(
                (row_label(row), *(difference_text(d) if (d := row.cells[i].difference) else "-" for i in others))
                for row in sorted(tested, key=lambda row: row.kind != "average")
            ),
        )


def _compare_published(suite: str, report: Report, rows: Sequence[ReportRow]) -> Iterator[TextTable]:
    """Yield published rows under ours, with systems as rows and the columns that both have."""
    scored = [row for row in rows if any(cell.score for cell in row.cells)]
    columns = dict.fromkeys(name for row in report.published.get(suite, ()) for name in row.scores)
    mine = {name: row for name in columns for row in scored if name in published_columns(row)}
    ours = []
    for i, system in enumerate(report.systems):
        cells = [row.cells[i] for row in mine.values()]
        ours.append((system, *(f"{100 * c.score.value:.2f}" if c.score else cell_text(c) for c in cells)))
    theirs = [
        (
            f"{row.name} (published: {row.source})",
            *(f"{row.scores[name]:g}" if name in row.scores else "" for name in mine),
        )
        for row in report.published.get(suite, ())
        if row.scores.keys() & mine.keys()
    ]
    if theirs:
        yield TextTable(f"{suite}: next to published numbers", ("", *mine), (*ours, *theirs))


def terminal(report: Report, *, width: int = 110) -> str:
    """Return the report as text without colours, for a file."""
    from rich.console import Console

    text = StringIO()
    show(report, Console(file=text, width=width, highlight=False, markup=False, emoji=False))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def show(report: Report, console: Console | None = None) -> None:
    """Print the report; tables wider than the terminal continue below."""
    from rich.console import Console
    from rich.table import Table

    console = console or Console(highlight=False, markup=False, emoji=False)
    for text_table in build_tables(report):
        for part in split_table(text_table, console.width):
            table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
            names, *widths = _measure(part)
            table.add_column("", overflow="fold", max_width=max(names - GAP, LONGEST_NAME))
            for head, column in zip(part.heads[1:], widths, strict=True):
                table.add_column(head, justify="right", overflow="fold", min_width=column - GAP, max_width=column - GAP)
            for row in part.rows:
                table.add_row(*row)
            console.print(part.title, style="bold")
            console.print(table, end="\n\n")
    for note in (*report.notes, *shorten_remarks(report.remarks)):
        lines = fill(f"- {note}", console.width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        console.print(lines, style="dim", soft_wrap=True)


def shorten_remarks(remarks: Mapping[str, str]) -> list[str]:
    """Return the remarks as notes; of many tasks, only where they are."""
    tasks = [name for name in remarks if "/" in name]
    shown = [name for name in remarks if len(tasks) <= NAMED or name not in tasks]
    more = [f"what the data of these {len(tasks)} tasks are: docs/benchmarks.md, or `sciprism compare -o PAGE.html`"]
    return [f"{name}: {remarks[name]}" for name in shown] + more * (len(tasks) > NAMED)


LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "·": r"\quad",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
} | {mark: f"\\{mark}" for mark in "&%$#_{}"}

PAGE = 100  # characters in a line of a printed table


def markdown(report: Report) -> str:
    """Return the report as Markdown tables, its notes as a list."""
    parts = [format_markdown(table, _md) for table in build_tables(report)]
    parts += ["\n".join(f"- {_md(note)}" for note in report.notes)]
    if report.remarks:
        parts += ["### Data", "\n".join(f"- {_md(name)}: {_md(remark)}" for name, remark in report.remarks.items())]
    return "\n\n".join(parts) + "\n"


def format_markdown(table: TextTable, escape: Callable[[str], str] = lambda text: text.replace("|", "\\|")) -> str:
    """Return a heading and a table of aligned columns, readable in a terminal too."""
    rows = [tuple(map(escape, row)) for row in (table.heads, *table.rows)]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    heads, *body = (
        [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))]
        for name, *cells in rows
    )
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, rule, *body)]
    return "\n".join([f"### {escape(table.title)}", "", *lines])


def latex(report: Report) -> str:
    """Return the report as LaTeX tables, which need the package booktabs. All text is escaped."""
    parts = [
        "% needs \\usepackage{booktabs}",
        *(latex_table(part) for table in build_tables(report) for part in split_table(table, PAGE)),
    ]
    notes = "\n".join(f"  \\item {_tex(note)}" for note in (*report.notes, *shorten_remarks(report.remarks)))
    return "\n\n".join([*parts, f"\\begin{{itemize}}\n{notes}\n\\end{{itemize}}"]) + "\n"


def _md(text: str) -> str:
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", " ".join(text.split()))


def _tex(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in " ".join(text.split()))


def latex_table(table: TextTable) -> str:
    """Return one table in LaTeX, with its title as caption."""
    # A row that begins with a bracket or a star would be read as an argument of the \\ before it.
    head, *rows = (
        " & ".join(["{}" + _tex(row[0]), *map(_tex, row[1:])]) + r" \\" for row in (table.heads, *table.rows)
    )
    body = "\n".join([r"\toprule", head, r"\midrule", *rows, r"\bottomrule"])
    columns = "l" + "r" * (len(table.heads) - 1)
    return (
        f"\\begin{{table}}\n\\centering\\small\n\\caption{{{_tex(table.title)}}}\n"
        f"\\begin{{tabular}}{{{columns}}}\n{body}\n\\end{{tabular}}\n\\end{{table}}"
    )


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
            "of items and Student's t; method and coverage: docs/concepts/statistics.md)."
        )
    else:
        yield "Numbers are times 100."
    if any(cell.score and cell.score.sd is not None for cell in cells):
        yield "± is the standard deviation over seeds; intervals and tests are about items, not about seeds."
    tested = sum(cell.difference is not None for row in rows if row.in_family for cell in row.cells)
    if tested:
        yield (
            f"Differences are to {systems[baseline].name}, paired by item. * : the 95% interval excludes 0 "
            f"(Student's t, p < {model.LEVEL}); ** : also after Holm's correction over {tested} of tasks and averages. "
            "Read * for one comparison that was chosen before looking, ** to find in the tables where systems differ."
        )
        yield (
            "Intervals and marks are about test items alone: where a probe, a head or an encoder is trained, "
            "another sample of training papers or another seed moves a number further."
        )
    elif len(systems) > 1:
        yield (
            f"No difference is shown: no number of {systems[baseline].name} is paired by item with another's; the "
            "notes below say why, and --baseline names another system."
            if any(run.folder for system in systems for runs in system.runs.values() for run in runs)
            else "No difference is shown: `sciprism compare RESULTS` computes and tests differences."
        )
    if any(cell.difference and cell.difference.apart for cell in cells):
        yield "† marks means over seeds that are more than two standard deviations apart, the larger of both."
    if any(cell.status == "left out" for cell in cells):
        yield "Averages are over tasks that all systems have; one that has no number on some has no average."


def _incomplete(rows: Sequence[model.ReportRow]) -> Iterator[str]:
    lacking = model.group(((row.suite, row.lacking), row.name) for row in rows if row.lacking)
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
    cells = ((line, system, cell) for line, some in results for system, cell in zip(systems, some, strict=True))
    remarks = model.group(((system.name, cell.remark), line.task[1]) for line, system, cell in cells if cell.remark)
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
    tasks = list(dict.fromkeys(chain.from_iterable(system.runs for system in systems)))
    declared = {(name, task.name): task for name, suite in suites.items() for task in suite.tasks}
    for name, whole in suites.items():  # the view with exactly the tasks that have results: its others are not missing
        tried = {task for suite, task in tasks if suite == name}
        if view := next((view for view, members in whole.views.items() if set(members) == tried), ""):
            suites[name] = whole.select_view(view)
    ordered = [systems[baseline], *systems]  # others must be comparable to the baseline
    resampler, rows = model.Resampler(), list[model.ReportRow]()
    all_results: list[tuple[model.ReportLine, list[model.ReportCell]]] = []
    for suite in dict.fromkeys(suite for suite, _ in tasks):
        known = [task for task in declared if task[0] == suite and task in tasks]
        tasks_of_suite = dict.fromkeys([*known, *(task for task in tasks if task[0] == suite)])
        lines = [line for task in tasks_of_suite for line in model.build_lines(task, ordered, declared.get(task))]
        results = [(line, _score_systems(line, systems, baseline, resampler)) for line in lines]
        view = suites[suite].name.partition("/")[2] if suite in suites else ""
        counted = [(line, some) for line, some in results if line.counted]
        rows += [_task_row(line, some) for line, some in results]
        rows += [
            replace(_average_row(suite, average, counted, systems, baseline), view=view)
            for average in model.build_averages(lines, suites.get(suite))
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
    suite: str, average: Average, counted: LineCells, systems: Sequence[model.SystemResults], baseline: int
) -> model.ReportRow:
    """Average the tasks that all systems have; systems that do not serve some, or have none, get none."""
    inside = [(line, results) for line, results in counted if line.task[1] in average.tasks]
    statuses = [{results[i].status for _, results in inside} for i in range(len(systems))]
    members = [i for i, of_system in enumerate(statuses) if "done" in of_system and "not served" not in of_system]
    reasons = {
        task: _explain_lacking([some for line, some in inside if line.task[1] == task], systems, members)
        for task in average.tasks
    }
    lacking = {task: f"{task} ({reason})" for task, reason in reasons.items() if reason}
    groups: dict[str, list[list[model.ReportCell]]] = {}
    for line, results in inside if members else ():
        if line.task[1] not in lacking:
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
        suite=suite,
        cells=tuple(
            _average_cell(some, mean, None if i == baseline else means[baseline])
            for i, (some, mean) in enumerate(zip(by_system, means, strict=True))
        ),
        tasks=tuple(task for task in average.tasks if task not in lacking) if members else (),
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
        if status := next((some[i].status for some in results if some[i].status != "done"), ""):
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
    """Correct p by Holm over differences of tasks and of averages over several, of all systems."""
    shown = [cell.difference for row in rows if row.in_family for cell in row.cells if cell.difference]
    corrected = iter(holm([difference.p for difference in shown]))

    def correct(cell: model.ReportCell) -> model.ReportCell:
        found = cell.difference
        return replace(cell, difference=replace(found, corrected=float(next(corrected)))) if found else cell

    return [replace(row, cells=tuple(map(correct, row.cells))) if row.in_family else row for row in rows]


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
