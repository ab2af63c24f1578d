"""Tables A1 and A2 of the paper, with the published counts next to ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from sciprism.prepare.scimult.context import PreparedDataSet
from sciprism.prepare.scimult.prepare import SECOND_COUNT, PreparedPurpose, Purpose

TITLES: dict[Purpose, str] = {"pretrain": "Table A1: pre-training sources", "test": "Table A2: test sets"}


def format_tables(prepared: Mapping[Purpose, PreparedPurpose]) -> str:
    """Return both tables as text, then what was dropped and what is missing."""
    made = [
        _format_table(TITLES[name], SECOND_COUNT[name], part.data_sets)
        for name, part in prepared.items()
        if part.data_sets
    ]
    files = [f"  {name}: {file}" for part in prepared.values() for name, file in part.missing.items()]
    missing = ["Not written, because files are missing:", *files] if files else []
    parts = [*made, *map(_format_dropped, prepared.values()), missing]
    return "\n\n".join(filter(None, ("\n".join(lines) for lines in parts)))


def _format_table(title: str, counted: str, made: Sequence[PreparedDataSet]) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [("", "queries", "published", counted, "published")]
    for each in made:
        counts = (each.queries, each.published[0], each.targets, each.published[1])
        cells = (f"{count:,}" if isinstance(count, int) else f"{count:,.2f}" for count in counts)
        rows.append((each.name, *cells))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    yield title
    for name, *texts in rows:
        aligned = (text.rjust(width) for text, width in zip(texts, widths[1:], strict=True))
        yield "  ".join((name.ljust(widths[0]), *aligned))


def _format_dropped(prepared: PreparedPurpose) -> Iterator[str]:
    """Yield the missing inputs of each data set and what it dropped."""
    for made in prepared.data_sets:
        yield from (f"{made.name}: written without {name}" for name in made.missing_inputs)
        for reason in made.dropped.ids:
            yield f"{made.name}: {made.dropped.count(reason):,} x {reason}"
