"""Papers in rows: tables (CSV, TSV, workbooks of Excel and OpenDocument), JSON with the same names, Parquet.

They come from Zotero, Scopus, Web of Science, Dimensions, Lens, BEIR, or are your own. Of a workbook the first sheet
with a title column is read, or the one of `FILE.xlsx#SHEET`. Rows of Parquet are read in small batches, without its
columns of vectors.
"""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import sciprism.papers.readers.registry as registry
import sciprism.papers.rows as rows
from sciprism.errors import InputError
from sciprism.limits import describe_excess, limit
from sciprism.papers.bibliographic_fields import parse_texts
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions, copy_file
from sciprism.papers.paper_rows import (
    RECORD_IDS,
    RecordRows,
    guess_paper_columns,
    known_headers,
    list_unread,
    table_row_builder,
)
from sciprism.papers.records import Deletion, Paper
from sciprism.papers.remote.objects import RemoteObject

if TYPE_CHECKING:
    import pyarrow as pa
    from python_calamine import CalamineWorkbook

Records = Iterator[Paper | Deletion | BadRecord]
_SAMPLE_ROWS = 200  # rows that show how a column joins its names and keywords
_ZIP = b"PK\x03\x04"
_MAX_HEADER_ROW = 10
_MIN_BYTES, _MAX_BYTES = 1 << 24, 1 << 32
_CELL_BYTES = 64  # of memory, at most, when a workbook is opened
# What a workbook asks for is known once it is open: it is opened first where that does no harm.
_COUNT_CELLS = """
import io, sys
from contextlib import suppress
with suppress(ImportError):
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
from python_calamine import CalamineWorkbook
try:
    workbook = CalamineWorkbook.from_object(io.BytesIO(sys.stdin.buffer.read()))
    sheets = map(workbook.get_sheet_by_name, workbook.sheet_names)
    print(max(((sheet.total_width + 1) * (sheet.total_height + 1) for sheet in sheets), default=0))
except MemoryError:
    sys.exit(1)
except Exception:  # the reader says what is wrong
    print(0)
"""
_ANNIF = re.compile(r".*\bsubject_uris\b")  # the header of a corpus of Annif, which has a reader
_JSON_LAYOUT = rows.JsonLayout(
    ("results", "items", "data", "articles", "papers", "records", "docs", "hit", "References"),
    containers=("response", "result", "hits"),
)


@registry.paper_readers.reader(
    "tables", check=lambda head: rows.is_table(head, guess_paper_columns, "title") and not _ANNIF.match(head)
)
def read_table(file: InputFile, options: ReadOptions) -> Records:
    """Yield one paper from each row; the header or `options.columns` says which field a column holds.

    Raises InputError for a table without a title (`options.required_column`).
    """
    layout = rows.detect_layout(file.head(), guess_paper_columns)
    lines, sample = file.head().splitlines(keepends=True)[layout.first_line - 1 :], list[list[str]]()
    with suppress(csv.Error):  # the last line may be cut
        sample.extend(islice(csv.reader(lines, delimiter=layout.delimiter), _SAMPLE_ROWS))
    build = _find_row_builder(file, layout.headers, options, sample)
    for number, (cells, fault) in enumerate(rows.read_rows(file, layout), 1):
        yield BadRecord(number, file.record_line, fault) if fault else registry.build_record(build, cells, number, file)


def _find_row_builder(
    file: InputFile, headers: Sequence[str], options: ReadOptions, sample: Sequence[Sequence[str]]
) -> Callable[[Sequence[str]], Paper | Deletion]:
    """Return a function that builds the paper of a row's cells; says in `file` which columns it does not read.

    sample: rows that show how the cells of a column join several values.
    """
    roots = {header.partition(".")[0] for header in headers}
    for flattened in rows.FIELD_NAMES["flattened"]:
        build = registry.paper_readers[flattened["format"]].build
        if build and not roots.isdisjoint(flattened["marks"]) and not options.columns:
            read = re.compile(flattened["read"], re.VERBOSE)
            file.unread_columns = tuple(header for header in headers if header and not read.fullmatch(header))
            return lambda cells: build(parse_texts(dict(zip(headers, cells, strict=False))))
    required = options.required_column
    option = "--columns" if required == "title" else ""
    columns = rows.find_columns(
        file.path, headers, known_headers(headers), chosen=options.columns, required=required, option=option
    )
    file.unread_columns = list_unread(headers, columns)
    return table_row_builder(headers, columns, sample)


@registry.paper_readers.reader("excel")
def read_workbook(file: InputFile, options: ReadOptions) -> Records:
    """Yield one paper from each row of a sheet, all of which is in memory; columns are found as in other tables.

    Raises InputError for an unknown sheet, or where none has a title column.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    with file.binary() as stream:
        content = io.BytesIO(stream.read())
    try:
        _check_size(content)
        content.seek(0)
        workbook = CalamineWorkbook.from_object(content)
        lines, start = _find_table(workbook, file, options)
    except (CalamineError, zipfile.BadZipFile, EOFError, OSError, ValueError, RuntimeError) as error:  # last: encrypted
        if isinstance(error, InputError):
            raise
        yield BadRecord(1, None, f"not a workbook that can be read: {error}; save it again, or as CSV")
        return
    headers = [_text(cell) for cell in lines[start]] if lines else []
    texts = ([_text(cell) for cell in row] for row in lines[start + 1 :])
    sample = list(islice(texts, _SAMPLE_ROWS))
    build = _find_row_builder(file, headers, replace(options, required_column="title"), sample)
    for number, cells in enumerate(chain(sample, texts), start + 2):
        if any(cells):
            file.record_line = number
            yield registry.build_record(build, cells, number, file)


def _check_size(content: io.BytesIO) -> None:
    """Raise InputError for a workbook that unpacks to too much, or that a subprocess cannot open in bounded memory."""
    if content.getbuffer()[:4] == _ZIP:
        with zipfile.ZipFile(content) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > max(_MIN_BYTES, limit("ratio") * len(content.getbuffer())):
            raise InputError(f"the workbook unpacks to {describe_excess('ratio')}")
        if unpacked > _MAX_BYTES:
            raise InputError("the workbook is too large to be read; save the sheet as CSV")
    memory = (1 << 30) + _CELL_BYTES * limit("cells")
    command = [sys.executable, "-c", _COUNT_CELLS, str(memory)]
    done = subprocess.run(command, input=content.getvalue(), capture_output=True, check=False)
    if done.returncode or int(done.stdout) > limit("cells"):
        raise InputError(
            f"the workbook asks for over {memory >> 30} GB, or has {describe_excess('cells')}; else delete the cells "
            "beyond the table, or save it as CSV"
        )


def _find_table(workbook: CalamineWorkbook, file: InputFile, options: ReadOptions) -> tuple[list[list[Any]], int]:
    """Return the rows of the chosen sheet, or of the first with a title, and the position of its headers."""
    names = workbook.sheet_names
    if file.part and file.part not in names:
        raise InputError(f"{file.path}: no sheet {file.part!r}; sheets: {', '.join(names)}")
    title = rows.normalize_header(options.columns.get("title", ""))
    first: tuple[list[list[Any]], int] = ([], 0)
    for name in [file.part] if file.part else names:
        sheet = workbook.get_sheet_by_name(name)
        lines = list(sheet.iter_rows()) if sheet.height else []
        for position, row in enumerate(islice(lines, _MAX_HEADER_ROW)):
            headers = [_text(cell) for cell in row]
            if title in map(rows.normalize_header, headers) if title else "title" in guess_paper_columns(headers):
                others = (other for other in names if other != name and not file.part)
                file.unread_sheets = tuple(other for other in others if workbook.get_sheet_by_name(other).height)
                return lines, position
            first = first if first[0] or not any(headers) else (lines, position)
    return first


def _text(cell: Any) -> str:
    """Return a cell as text: whole numbers without point, dates as 2001-02-03."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, date | datetime):
        return cell.isoformat()
    return str(cell).strip()


@registry.paper_readers.reader("jsonl")
@registry.paper_readers.reader("beir")
def read_json_papers(file: InputFile, options: ReadOptions) -> Records:
    """Yield one paper from each object; its keys may be the headers of any table of papers."""
    return registry.read_objects(file, RecordRows(file, exact=True).build, _JSON_LAYOUT)


@registry.paper_readers.reader("parquet")
def read_parquet(file: InputFile, options: ReadOptions) -> Records:
    """Yield one paper from each row; the names of the columns say which format the rows have.

    Raises InputError for a table without a title. A damaged file is one BadRecord.
    """
    import pyarrow as pa
    from pyarrow import parquet

    number = 0
    try:
        with _open_table(file) as source, parquet.ParquetFile(source, pre_buffer=isinstance(source, Path)) as table:
            names = [field.name for field in table.schema_arrow if not _is_vector(field.type)]
            maps = [field.name for field in table.schema_arrow if pa.types.is_map(field.type)]
            folders = {name: value for name, value in file.folder_columns.items() if name in options.columns.values()}
            build = None if options.columns else _find_json_builder(names)
            if build is None:
                columns = [*names, *folders]
                required = options.required_column if RECORD_IDS.isdisjoint(columns) else ""
                rows.find_columns(file.path, columns, known_headers(columns), chosen=options.columns, required=required)
                build = RecordRows(file, chosen=options.columns).build
            # No threads: one of Arrow's that reads through a Python object can abort the exit of the process.
            batches = table.iter_batches(rows.BATCH_ROWS, columns=names, use_threads=False)
            for number, row in enumerate((row for batch in batches for row in batch.to_pylist()), 1):
                row |= folders | {name: dict(row[name]) for name in maps if row[name] is not None}
                values = {name: _to_json(cell) for name, cell in row.items()}
                yield registry.build_record(build, values, number, file)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, InputError):
            raise
        reason = " ".join(str(error).split())[: rows.MAX_REASON_CHARS]
        yield BadRecord(number + 1, None, f"not a Parquet file that can be read: {reason}; fetch it again")


@contextmanager
def _open_table(file: InputFile) -> Iterator[Path | BinaryIO]:
    """Yield a file that can be read from any position: a packed one or a pipe is copied first.

    Of an object only the ranges of the columns are fetched, where its server sends ranges.
    """
    ranged = not isinstance(file.path, RemoteObject) or file.path.version.ranged
    if file.path.is_file() and ranged:
        with file.path.open("rb") as stream:
            ranged = stream.read(4) == b"PAR1"
    if not (ranged and file.path.is_file()):
        with copy_file(file) as copy:
            yield copy
    elif isinstance(file.path, Path):
        yield file.path
    else:
        with file.path.open("rb") as stream:
            yield stream


def _is_vector(kind: pa.DataType) -> bool:
    import pyarrow as pa

    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(listed) and bool(pa.types.is_floating(kind.value_type) or pa.types.is_int8(kind.value_type))


def _find_json_builder(names: list[str]) -> Callable[[rows.JsonObject], Paper | Deletion] | None:
    """Return the builder of the JSON format whose objects have these keys, if one has."""
    head = json.dumps(dict.fromkeys((name.partition(".")[0] for name in names), ""))
    for name in sorted(registry.paper_readers):
        if (build := registry.paper_readers[name].build) and registry.paper_readers[name].recognizes(head):
            return lambda row: build(parse_texts(row))
    return None


def _to_json(value: Any) -> Any:
    """Return a value as JSON has it; of a missing number, which pandas writes as NaN, None."""
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, date):
        return value.isoformat()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
