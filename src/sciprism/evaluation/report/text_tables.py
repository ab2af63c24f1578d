"""A report as tables of text cells, for all outputs except JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sciprism.evaluation.report.model import Difference, Report, ReportCell, ReportRow, Score

LONGEST_NAME = 44
HEAD_WIDTH = 12
"""Characters of a system's name on one line, where its numbers are not wider."""
GAP = 2


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


def split_table(table: TextTable, width: int) -> Iterator[TextTable]:
    """Yield parts of a table of at most `width`, each with the names and at least one other column."""
    widths = [
        GAP + max([min(len(head), HEAD_WIDTH), *(len(row[i]) for row in table.rows)])
        for i, head in enumerate(table.heads)
    ]
    names = min(widths[0], LONGEST_NAME + GAP, max(width // 3, HEAD_WIDTH))
    column, title = 1, table.title
    while column < len(widths):
        end, left = column + 1, width - names - widths[column]
        while end < len(widths) and widths[end] <= left:
            left -= widths[end]
            end += 1
        picked = [0, *range(column, end)]
        yield TextTable(title, _pick(table.heads, picked), tuple(_pick(row, picked) for row in table.rows))
        column, title = end, f"{table.title} (continued)"


def score_text(score: Score) -> str:
    """Return a score times 100, such as 71.23 ±0.41 [70.1, 72.3]."""
    parts = [f"{100 * score.value:.2f}"]
    if score.sd is not None:
        parts.append(f"±{100 * score.sd:.2f}")
    if score.low is not None and score.high is not None:
        parts.append(f"[{100 * score.low:.1f}, {100 * score.high:.1f}]")
    return " ".join(parts)


def difference_text(found: Difference) -> str:
    """Return a difference times 100: +1.20 [0.3, 2.1] *, or ** after Holm's correction."""
    interval = f"{100 * found.value:+.2f} [{_limit(100 * found.low)}, {_limit(100 * found.high)}]"
    mark = "**" if found.marked_among_all else "*" * found.marked
    return " ".join(filter(None, [interval, mark, "†" * found.apart]))


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
                (
                    row_label(row),
                    *(difference_text(d) if (d := row.cells[i].difference) else "-" for i in others),
                )
                for row in sorted(tested, key=lambda row: row.kind != "average")
            ),
        )


def _compare_published(suite: str, report: Report, rows: Sequence[ReportRow]) -> Iterator[TextTable]:
    """Yield published rows under ours, with systems as rows and the columns that both have."""
    scored = [row for row in rows if any(cell.score for cell in row.cells)]
    columns = dict.fromkeys(name for row in report.published.get(suite, ()) for name in row.scores)
    mine = {name: row for name in columns for row in scored if name in published_columns(row)}
    ours = [(system, *(_short_text(row, i) for row in mine.values())) for i, system in enumerate(report.systems)]
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


def _short_text(row: ReportRow, system: int) -> str:
    found = row.cells[system]
    if found.score is None:
        return cell_text(found)
    text = f"{100 * found.score.value:.2f}"
    return f"{text} ({len(row.tasks)} of {len(row.tasks) + len(row.lacking)})" if row.lacking else text


def _pick(row: tuple[str, ...], columns: Iterable[int]) -> tuple[str, ...]:
    return tuple(row[i] for i in columns)
