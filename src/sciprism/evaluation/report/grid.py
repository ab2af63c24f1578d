"""A report as blocks of text cells, which every output but JSON writes in its own way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sciprism.evaluation.report.model import Cell, Difference, Report, Row, Score

LONGEST_NAME = 44
HEAD = 12
"""Letters of a system's name before it goes to a second line, where its numbers are no wider."""
GAP = 2


@dataclass(frozen=True, slots=True)
class Block:
    """One table: its title, the heads of its columns (the first is that of the names), and rows as long."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def blocks(report: Report, only: str = "") -> Iterator[Block]:
    """Yield the tables of each suite, or of one: averages, tasks by group, differences, published rows."""
    for suite in (only,) if only else report.suites:
        rows = [row for row in report.rows if row.suite == suite]
        averages = [row for row in rows if row.kind == "average"]
        yield _scores(f"{suite}: averages", report, averages)
        for group in dict.fromkeys(row.group or row.format for row in rows if row.kind != "average"):
            members = [row for row in rows if row.kind != "average" and (row.group or row.format) == group]
            yield _scores(f"{suite}: {group}", report, members)
        yield from _differences(f"{suite}: above {report.systems[report.baseline]}", report, rows)
        yield from _beside_published(suite, report, rows)


def narrowed(block: Block, width: int) -> Iterator[Block]:
    """Yield the block in parts that are so wide, each with all rows and at least one column beside names."""
    cells = list(zip(*block.rows, strict=True))
    widths = [max(map(len, column), default=0) + GAP for column in cells]
    widths = [max(width, min(len(head), HEAD) + GAP) for width, head in zip(widths, block.heads, strict=True)]
    names, column, title = min(widths[0], LONGEST_NAME + GAP, max(width // 3, HEAD)), 1, block.title
    while column < len(widths):
        end, left = column + 1, width - names - widths[column]
        while end < len(widths) and widths[end] <= left:
            left -= widths[end]
            end += 1
        picked = [0, *range(column, end)]
        yield Block(title, _pick(block.heads, picked), tuple(_pick(row, picked) for row in block.rows))
        column, title = end, f"{block.title} (continued)"


def score_text(score: Score) -> str:
    """Return a score times 100: 71.23 ±0.41 [70.1, 72.3], with what of it there is."""
    parts = [f"{100 * score.value:.2f}"]
    if score.sd is not None:
        parts.append(f"±{100 * score.sd:.2f}")
    if score.low is not None and score.high is not None:
        parts.append(f"[{100 * score.low:.1f}, {100 * score.high:.1f}]")
    return " ".join(parts)


def difference_text(found: Difference) -> str:
    """Return a difference times 100: +1.20 [0.3, 2.1] *."""
    interval = f"{100 * found.value:+.2f} [{100 * found.low:.1f}, {100 * found.high:.1f}]"
    return " ".join([interval, *["*"] * found.marked, *["†"] * found.apart])


def cell_text(cell: Cell) -> str:
    """Return a cell's score, or the word for why there is none."""
    if cell.score:
        return score_text(cell.score)
    return {"not served": "-", "left out": "-", "not run": ""}.get(cell.status, cell.status)


def label(row: Row) -> str:
    """Return how a row is named in a table; the parts of a mean stand under it."""
    return f"· {row.name}" if row.kind == "part" else row.title


def printed_as(row: Row) -> tuple[str, ...]:
    """Return the columns of a paper's table that stand for a row: average, task, or task and metric."""
    return (row.name, row.task) if row.kind == "task" else (row.name,)


def _scores(title: str, report: Report, rows: Sequence[Row]) -> Block:
    lines = ((label(row), _items(row), *map(cell_text, row.cells)) for row in rows)
    return Block(title, ("", "items", *report.systems), tuple(lines))


def _items(row: Row) -> str:
    counts = sorted({cell.score.n for cell in row.cells if cell.score})
    return "-".join(f"{count:,}" for count in dict.fromkeys((*counts[:1], *counts[-1:])))


def _differences(title: str, report: Report, rows: Sequence[Row]) -> Iterator[Block]:
    others = [i for i in range(len(report.systems)) if i != report.baseline]
    tested = [row for row in rows if row.kind != "part" and any(row.cells[i].difference for i in others)]
    if tested:
        yield Block(
            title,
            ("", *(report.systems[i] for i in others)),
            tuple(
                (
                    label(row),
                    *(difference_text(d) if (d := row.cells[i].difference) else "-" for i in others),
                )
                for row in sorted(tested, key=lambda row: row.kind != "average")
            ),
        )


def _beside_published(suite: str, report: Report, rows: Sequence[Row]) -> Iterator[Block]:
    """Put rows of papers under ours, systems as rows as papers print them: the columns that both have."""
    scored = [row for row in rows if any(cell.score for cell in row.cells)]
    printed = dict.fromkeys(name for row in report.published.get(suite, ()) for name in row.scores)
    mine = {name: row for name in printed for row in scored if name in printed_as(row)}
    ours = [(system, *(_short(row, i) for row in mine.values())) for i, system in enumerate(report.systems)]
    theirs = [
        (f"{row.name} (published: {row.source})", *(_printed(row.scores.get(name)) for name in mine))
        for row in report.published.get(suite, ())
        if row.scores.keys() & mine.keys()
    ]
    if theirs:
        yield Block(f"{suite}: beside published numbers", ("", *mine), (*ours, *theirs))


def _short(row: Row, system: int) -> str:
    found = row.cells[system]
    if found.score is None:
        return cell_text(found)
    text = f"{100 * found.score.value:.2f}"
    return f"{text} ({len(row.tasks)} of {len(row.tasks) + len(row.lacking)})" if row.lacking else text


def _printed(score: float | None) -> str:
    return "" if score is None else f"{score:g}"


def _pick(row: tuple[str, ...], columns: Iterable[int]) -> tuple[str, ...]:
    return tuple(row[i] for i in columns)
