"""Read the rows of a table with a header line (CSV, TSV ...), whatever its delimiter."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from sciprism.papers.input_file import InputFile

_DELIMITERS = (",", "\t", ";", "|")
_MAX_CELL_CHARS = 1 << 24  # fifty times the longest abstract; more is an unclosed quotation mark
_MAX_HEADER_ROW = 3
_EXCEL = re.compile(r"sep=(.)\s*")


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How a table is written: its headers, the delimiter of its cells, and where its rows begin."""

    headers: tuple[str, ...]
    delimiter: str
    first_line: int  # counted from 1


def detect_layout(head: str, find_known: Callable[[Sequence[str]], Collection[str]]) -> TableLayout:
    """Choose the delimiter that yields the most known headers, then the most headers.

    find_known: returns the fields that headers name.
    """
    csv.field_size_limit(_MAX_CELL_CHARS)
    lines = head.split("\n")
    declared = _EXCEL.fullmatch(lines[0])  # Excel's own first line
    filled = (n for n, line in enumerate(lines) if line.strip() and (n > 0 or not declared))
    skipped = next(filled, len(lines))
    delimiters = [declared[1]] if declared else _DELIMITERS
    layouts = [layout for delimiter in delimiters for layout in _read_headers(lines, skipped, delimiter)]
    known = {layout: len(find_known(layout.headers)) for layout in layouts}
    # A later line only where it names several fields more: Dimensions says above its headers what they are.
    best = max(layouts, key=lambda layout: (known[layout], -layout.first_line, len(layout.headers)))
    first = [layout for layout in layouts if layout.first_line == min(each.first_line for each in layouts)]
    plain = max(first, key=lambda layout: (known[layout], len(layout.headers)))
    return best if known[best] > max(1, known[plain]) + 1 else plain


def _read_headers(lines: Sequence[str], skipped: int, delimiter: str) -> Iterator[TableLayout]:
    """Yield the first rows as layouts; the first one may be without headers."""
    reader = csv.reader((f"{line}\n" for line in lines[skipped:]), delimiter=delimiter)
    for _ in range(_MAX_HEADER_ROW):
        try:
            headers = tuple(cell.strip() for cell in next(reader, []))
        except csv.Error:
            headers = ()
        yield TableLayout(headers, delimiter, skipped + max(1, reader.line_num) + 1)


def read_rows(file: InputFile, layout: TableLayout) -> Iterator[tuple[list[str], str]]:
    """Yield the cells of each row that has any, and what is wrong with it, else an empty text.

    Sets `file.record_line`. An unclosed quotation mark swallows the text that follows. Then only its line is
    bad, and reading continues with the next. Between tabs, such a mark may be mere text.
    """
    lines = ((line, text) for line, text in file.lines() if line >= layout.first_line)
    again: list[tuple[int, str]] = []
    read: list[tuple[int, str]] = []  # the lines of the current row

    def feed() -> Iterator[str]:
        while (item := again.pop() if again else next(lines, None)) is not None:
            read.append(item)
            yield item[1] + "\n"

    reader = csv.reader(feed(), delimiter=layout.delimiter, strict=True)
    width = len(layout.headers)
    while True:
        read.clear()
        fault = ""
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            cells = read[0][1].split("\t")
            if layout.delimiter != "\t" or len(cells) != width:
                fault = f"not a row of a table: {error}; check its quotation marks"
            again.extend(reversed(read[1:]))
            reader = csv.reader(feed(), delimiter=layout.delimiter, strict=True)
        if any(cells):
            if not fault and any(cells[width:]):
                fault = f"{len(cells)} cells, but the header has {width}; is a text unquoted?"
            file.record_line = read[0][0]
            yield cells, fault
