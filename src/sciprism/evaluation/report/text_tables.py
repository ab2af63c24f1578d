"""A report as tables of text cells: in the terminal, as Markdown and as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from textwrap import fill
from typing import TYPE_CHECKING

from sciprism.evaluation.report.model import Difference, Report, ReportCell, ReportRow, Score

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
        averages = [row for row in rows if row.kind == "average"]
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
    if cell.score:
        return score_text(cell.score)
    return {"not served": "-", "left out": "-", "not run": ""}.get(cell.status, cell.status)


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
    tested = [row for row in rows if row.kind != "part" and any(row.cells[i].difference for i in others)]
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
