"""Tables A1 and A2 of the paper, with its figures beside ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from sciprism.prepare.scimult.desk import Made
from sciprism.prepare.scimult.prepare import SECOND, Prepared, Purpose

TITLES: dict[Purpose, str] = {"pretrain": "Table A1: pre-training sources", "test": "Table A2: test sets"}


def tables(prepared: Mapping[Purpose, Prepared]) -> str:
    """Return both tables as text, then what is missing and what was done without."""
    made = [_table(TITLES[name], SECOND[name], part.made) for name, part in prepared.items() if part.made]
    parts = [*made, *map(_lost, prepared.values()), _missing(prepared.values())]
    return "\n\n".join(filter(None, ("\n".join(lines) for lines in parts)))


def _table(title: str, counted: str, made: Sequence[Made]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("", "queries", "published", counted, "published")]
    rows += [
        (each.name, *map(_number, (each.first, each.published[0], each.second, each.published[1])))
        for each in made
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    yield title
    for name, *figures in rows:
        cells = (figure.rjust(width) for figure, width in zip(figures, widths[1:], strict=True))
        yield "  ".join((name.ljust(widths[0]), *cells))


def _number(figure: float) -> str:
    return f"{figure:,}" if isinstance(figure, int) else f"{figure:,.2f}"


def _lost(prepared: Prepared) -> Iterator[str]:
    """Yield what each part lost, and what it was made without."""
    for made in prepared.made:
        yield from (f"{made.name}: made without {name}" for name in made.lacking)
        for reason in made.tally.ids:
            yield f"{made.name}: {made.tally.count(reason):,} x {reason}"


def _missing(prepared: Iterable[Prepared]) -> Iterator[str]:
    lines = [f"  {name}: {file}" for part in prepared for name, file in part.missing.items()]
    yield from ["Not made, for want of:", *lines] if lines else ()
