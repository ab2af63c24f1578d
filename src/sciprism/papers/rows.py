"""Read rows of any file by the names of their values; of a table its delimiter, its columns, its cells by field."""

from __future__ import annotations

import csv
import re
import shlex
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from importlib.resources import files
from itertools import islice
from typing import Any

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.limits import LINE_SIZE, describe_excess, limit
from sciprism.papers.input_file import FilePath, InputFile
from sciprism.papers.json_rows import MAX_REASON_CHARS, NOT_READ, read_json_values

FIELD_NAMES: dict[str, Any] = tomllib.loads((files(__package__) / "field_names.toml").read_text(encoding="utf-8"))
"""Of papers and labels: field -> the normalized headers of its columns, the best first; and where names vary."""
_DELIMITERS = ("\t", ",", ";", "|")  # a table of one column is read as if between tabs
_MAX_READ_AGAIN = 16  # times the lines of a table, where its quotation marks are not closed
_MAX_HEADER_ROW = 3
_BATCH_ROWS = 256  # rows of Parquet in memory
_MIN_SIMILARITY = 0.7
_MAX_COMPARED = 200  # headers that are compared with a name, a tenth of a millisecond each
_EXCEL = re.compile(r"sep=(.)\s*")


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How a table is written: its headers (none in a table without), its delimiter, and where its rows begin."""

    headers: tuple[str, ...]
    delimiter: str
    first_line: int  # counted from 1


def detect_layout(head: str, find_known: Callable[[Sequence[str]], Collection[str]]) -> TableLayout:
    """Choose the delimiter that yields the most known headers, then the most headers.

    find_known: returns the fields that headers name.
    """
    csv.field_size_limit(limit("field"))  # fifty times the longest abstract; more is an unclosed quotation mark
    lines = head.split("\n")
    declared = _EXCEL.fullmatch(lines[0])  # Excel's own first line
    filled = (n for n, line in enumerate(lines) if line.strip() and (n > 0 or not declared))
    skipped = next(filled, len(lines))
    delimiters = [declared[1]] if declared else _DELIMITERS
    layouts = [list(_read_headers(lines, skipped, delimiter)) for delimiter in delimiters]
    counts = {layout: len(find_known(layout.headers)) for rows in layouts for layout in rows}
    # A later line only where it names several fields more: Dimensions says above its headers what they are.
    best = max(counts, key=lambda layout: (counts[layout], -layout.first_line, len(layout.headers)))
    plain = max((rows[0] for rows in layouts), key=lambda layout: (counts[layout], len(layout.headers)))
    return best if counts[best] > max(1, counts[plain]) + 1 else plain


def _read_headers(lines: Sequence[str], skipped: int, delimiter: str) -> Iterator[TableLayout]:
    """Yield the first rows as layouts; the first one may be without headers."""
    reader = csv.reader((f"{line}\n" for line in lines[skipped:]), delimiter=delimiter)
    for _ in range(_MAX_HEADER_ROW):
        try:
            headers = tuple(cell.strip() for cell in next(reader, []))
        except csv.Error:
            headers = ()
        yield TableLayout(headers, delimiter, skipped + max(1, reader.line_num) + 1)


def is_table(head: str, find_known: Callable[[Sequence[str]], Collection[str]], required: str) -> bool:
    """Say whether a text begins with a header line that names the required field and another known one."""
    fields = find_known(detect_layout(head, find_known).headers)
    return required in fields and len(fields) > 1


def sample_rows(head: str, layout: TableLayout, count: int) -> list[list[str]]:
    """Return the cells of the first rows in the head of a file; the last may be cut."""
    rows: list[list[str]] = []
    reader = csv.reader(head.splitlines(keepends=True)[layout.first_line - 1 :], delimiter=layout.delimiter)
    with suppress(csv.Error):
        rows.extend(islice(reader, count))
    return rows


def read_rows(file: InputFile, layout: TableLayout) -> Iterator[tuple[list[str], str]]:
    """Yield the cells of each row that has any, and what is wrong with it, else an empty text.

    Sets `file.record_line`. An unclosed quotation mark swallows the text that follows. Then only its line is
    bad, and reading continues with the next. Between tabs, such a mark may be mere text.
    """
    lines = ((line, text) for line, text in file.lines() if line >= layout.first_line)
    again, read = list[tuple[int, str]](), list[tuple[int, str]]()  # lines to be read again; those of the current row
    longest = limit("field")

    def feed() -> Iterator[str]:
        size = 0
        while (item := again.pop() if again else next(lines, None)) is not None:
            read.append(item)
            if (size := size + len(item[1]) + LINE_SIZE if len(read) > 1 else 0) > 2 * longest:
                raise csv.Error(f"a row with {describe_excess('field')}")
            yield item[1] + "\n"

    reader = csv.reader(feed(), delimiter=layout.delimiter, strict=True)
    width, read_again = len(layout.headers) or longest, 0
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
            if (read_again := read_again + len(read)) > _MAX_READ_AGAIN * (read[-1][0] + 10_000):
                raise InputError(f"{file.path}, line {read[0][0]}: its quotation marks are not closed") from error
            reader = csv.reader(feed(), delimiter=layout.delimiter, strict=True)
        if any(cells):
            if not fault and any(cells[width:]):
                fault = f"{len(cells)} cells, but the header has {width}; is a text unquoted?"
            file.record_line = read[0][0]
            yield cells, fault


def read_named_rows(
    file: InputFile, dropped: DropReport | None = None, columns: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield place ("line 3") and values by name of each row: of JSON, of Parquet, else of a table with a header line.

    What is no such row is counted in `dropped`; without one it raises InputError. columns: those of a Parquet file that
    are read, as far as it has them; () for all.
    """
    for place, row, fault in _read_any_rows(file, columns):
        if fault or not isinstance(row, dict):
            reason = fault or f"{row!r:.60} is not an object"
            if dropped is None:
                raise InputError(f"{file.path}, {place}: {reason}")
            dropped.add(NOT_READ, f"{file.path.name}, {place}: {reason}"[:MAX_REASON_CHARS])
        else:
            yield place, row


def _read_any_rows(file: InputFile, columns: Sequence[str]) -> Iterator[tuple[str, Any, str]]:
    """Yield place, row, and what is wrong with it, else an empty text."""
    head = file.head()
    if head.startswith("PAR1"):
        for number, row in enumerate(read_parquet_rows(file.path, columns), 1):
            yield f"record {number}", row, ""
    elif head.lstrip()[:1] in ("{", "["):
        for number, line, value, fault in read_json_values(file):
            yield f"record {number}" if line is None else f"line {line}", value, fault
    else:
        layout = detect_layout(head, lambda _: ())
        width = len(layout.headers)
        for cells, fault in read_rows(file, layout):
            wrong = (
                f"{len(cells)} cells, but the header has {width}; is a text unquoted?" if len(cells) != width else ""
            )
            yield f"line {file.record_line}", dict(zip(layout.headers, cells, strict=False)), fault or wrong


def read_parquet_rows(path: FilePath, columns: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Yield the rows of a Parquet file, with all columns or some; raises InputError where it is damaged."""
    import pyarrow
    from pyarrow import parquet

    try:
        with path.open("rb") as stream, parquet.ParquetFile(stream) as table:
            names = [name for name in table.schema_arrow.names if name in columns] if columns else None
            for batch in table.iter_batches(_BATCH_ROWS, columns=names, use_threads=False):
                yield from batch.to_pylist()
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a whole Parquet file ({error}); fetch it again") from error


def normalize_header(header: str) -> str:
    """Return a header without case, spaces and punctuation, unless it is nothing else."""
    return "".join(filter(str.isalnum, header.casefold())) or header


Columns = Mapping[str, Sequence[int]]
"""Field -> the columns that may hold it, the best first; of a row, the first that is not empty does."""


def guess_columns(headers: Sequence[str], known_headers: Mapping[str, str]) -> dict[str, Sequence[int]]:
    """Return the columns of the fields that have one.

    known_headers: field -> its normalized headers, separated by spaces, the best first.
    """
    normalized = list(map(normalize_header, headers))
    columns = {
        field: [normalized.index(name) for name in dict.fromkeys(names.split()) if name in normalized]
        for field, names in known_headers.items()
    }
    return {field: numbers for field, numbers in columns.items() if numbers}


def detect_columns(head: str, known_headers: Mapping[str, str]) -> tuple[TableLayout, dict[str, Sequence[int]]]:
    """Return how a table is written and the columns of known fields, as `guess_columns`, by the head of the file."""
    layout = detect_layout(head, lambda headers: guess_columns(headers, known_headers))
    return layout, guess_columns(layout.headers, known_headers)


def find_columns(
    path: FilePath,
    headers: Sequence[str],
    known_headers: Mapping[str, str],
    *,
    chosen: Mapping[str, str],
    required: str = "",
    option: str = "--columns",
) -> dict[str, Sequence[int]]:
    """Return the columns of fields: as the user chose (field -> header), else as guessed from `known_headers`.

    option: of the commands that read such tables, "" without one. Raises InputError for an unknown field or header,
    and where the `required` field, if any, has no column.
    """
    columns = guess_columns(headers, known_headers)
    normalized = list(map(normalize_header, headers))
    listed = ", ".join(" ".join(header.split()) for header in headers if header)
    for field, header in chosen.items():
        if field not in known_headers:
            raise InputError(f"--columns {field}={header}: no field {field!r}; fields: {', '.join(known_headers)}")
        if normalize_header(header) not in normalized:
            raise InputError(f"{path}: no column {header!r} for {field}; columns: {listed}")
        exact = header in headers
        columns[field] = [headers.index(header) if exact else normalized.index(normalize_header(header))]
    if required and required not in columns:
        nearest = " ".join(find_nearest_header(headers, known_headers[required]).split())  # a message is one line
        hint = f"; nearest: {nearest!r}" if nearest else ""
        example = shlex.quote(f"{required}={nearest or 'HEADER'}")
        advice = (
            f"name it, for example: {option} {example}"
            if option
            else f"rename one to {required!r}, or put a header line first if there is none"
        )
        raise InputError(f"{path}: no column {required!r}{hint}; columns: {listed}; {advice}")
    return columns


def find_nearest_header(headers: Sequence[str], names: str) -> str:
    """Return the header most like one of the known names, or an empty text where none is like them."""

    def similarity(header: str) -> float:
        normalized = normalize_header(header)
        words = [normalized, *map(normalize_header, header.split())]
        return max(
            SequenceMatcher(None, word, name).ratio() for word in words for name in names.split() if len(name) > 2
        )

    scores = {header: similarity(header) for header in headers[:_MAX_COMPARED] if header}
    best = max(scores, key=lambda header: scores[header], default="")
    return best if scores.get(best, 0.0) >= _MIN_SIMILARITY else ""


def cell_getter(cells: Sequence[str], columns: Columns) -> Callable[[str], str]:
    """Return a function of a field that gives the text of its cell, empty where there is none."""

    def text(field: str) -> str:
        for column in columns.get(field, ()):
            if column < len(cells) and (cell := cells[column].strip()):
                return cell
        return ""

    return text
