"""Tables of papers with a header line: CSV, TSV, and workbooks of Excel and OpenDocument.

They come from Zotero, Scopus, Web of Science, Dimensions, Lens, or are your own. Of a workbook the first sheet with a
title column is read, or the one of `FILE.xlsx#SHEET`.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from difflib import get_close_matches
from functools import reduce
from itertools import chain, islice
from typing import IO, TYPE_CHECKING, Any

from sciprism.errors import InputError
from sciprism.limits import describe_excess, limit
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.paper_rows import guess_paper_columns, known_headers, list_unread, table_row_builder
from sciprism.papers.printed_values import parse_texts
from sciprism.papers.readers.registry import build_record, paper_readers
from sciprism.papers.records import Deletion, Paper
from sciprism.papers.rows import (
    detect_layout,
    find_columns,
    is_table,
    normalize_header,
    read_rows,
    sample_rows,
)

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

FLATTENED = {
    "openalex": (
        {"authorships", "primary_location", "abstract_inverted_index"},
        re.compile(
            r"id|ids\..*|doi|title|display_name|abstract|abstract_inverted_index.*|publication_(?:year|date)|ids"
            r"|authorships(?:\.author\.display_name|\.raw_author_name)?|referenced_works|host_venue(?:\.display_name)?"
            r"|primary_location(?:\.source\.display_name|\.raw_source_name)?|keywords(?:\.display_name|\.keyword)?"
            r"|topics(?:(?:\.(?:sub)?field)?\.display_name)?|primary_topic(?:\.(?:sub)?field\.display_name)?"
            r"|mesh(?:\.descriptor_name)?|is_retracted|concepts(?:\.(?:display_name|level|score))?"
        ),
    ),
    "semantic_scholar": (
        {"externalIds"},
        re.compile(
            r"(?:citedPaper\.|citingPaper\.)?(?:paperId|corpusId|title|abstract|authors|venue|year|publicationDate"
            r"|(?:journal|publicationVenue)(?:\.name)?|externalIds.*|(?:s2F|f)ieldsOfStudy|references)"
        ),
    ),
}
"""JSON formats that tables flatten: what marks their columns, and which of these are read."""
_SAMPLE_ROWS = 200  # rows that show how a column joins its names and keywords
_ZIP = b"PK\x03\x04"
_WORKBOOK = re.compile(r"\A(?:\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1|PK\x03\x04[\s\S]*?(?:xl/|opendocument\.spreadsheet))")
_PLACE = rb"""\b(?:r|(?<=dimension )ref)=["'](?:[A-Z]+\d+:)?"""
_COLUMN, _ROW = re.compile(_PLACE + rb"([A-Z]{1,3})\d"), re.compile(_PLACE + rb"[A-Z]{0,3}(\d{1,7})")
_MAX_REFERENCE = 32  # bytes of the name of a cell
_MAX_HEADER_ROW = 10
_MIN_BYTES, _MAX_BYTES = 1 << 24, 1 << 32
_CELL_BYTES = 64  # of memory, at most, when a workbook is opened
# What a workbook that is no .xlsx asks for is known once it is open: it is opened first where that does no harm.
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


@paper_readers.reader(
    "tables",
    "Tables with a header line (CSV, TSV ...) of Zotero, Scopus, Lens and others, or your own",
    (".csv", ".tsv", ".tab"),
    check=lambda head: is_table(head, guess_paper_columns, "title") and not _ANNIF.match(head),
)
def read_table(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield one paper from each row; the header or `options.columns` says which field a column holds.

    Raises InputError for a table without a title (`options.required_column`).
    """
    layout = detect_layout(file.head(), guess_paper_columns)
    build = _find_row_builder(file, layout.headers, options, sample_rows(file.head(), layout, _SAMPLE_ROWS))
    for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
        yield BadRecord(number, file.record_line, fault) if fault else build_record(build, cells, number, file)


def _find_row_builder(
    file: InputFile, headers: Sequence[str], options: ReadOptions, sample: Sequence[Sequence[str]]
) -> Callable[[Sequence[str]], Paper | Deletion]:
    """Return a function that builds the paper of a row's cells; says in `file` which columns it does not read.

    sample: rows that show how the cells of a column join several values.
    """
    roots = {header.partition(".")[0] for header in headers}
    for format, (marks, read) in FLATTENED.items():
        build = paper_readers[format].build
        if build and marks & roots and not options.columns:
            file.unread_columns = tuple(header for header in headers if header and not read.fullmatch(header))
            return lambda cells: build(parse_texts(dict(zip(headers, cells, strict=False))))
    required = options.required_column
    option = "--columns" if required == "title" else ""
    columns = find_columns(
        file.path, headers, known_headers(headers), chosen=options.columns, required=required, option=option
    )
    file.unread_columns = list_unread(headers, columns)
    return table_row_builder(headers, columns, sample)


@paper_readers.reader(
    "excel",
    "Excel and OpenDocument workbooks: the first sheet with a title column, or the one of `FILE.xlsx#SHEET`",
    (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"),
    patterns=(_WORKBOOK,),
    reads_parts=True,
)
def read_workbook(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield one paper from each row of a sheet, all of which is in memory; columns are found as in other tables.

    Raises InputError for an unknown sheet, or where none has a title column.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    with file.binary() as stream:
        content = io.BytesIO(stream.read())
    try:
        names = _check_size(content)
        if "xl/workbook.xml" not in names or not names.isdisjoint(("xl/workbook.bin", "content.xml")):
            _check_apart(content)
        workbook = CalamineWorkbook.from_object(content)
        rows, start = _find_table(workbook, file, options)
    except (CalamineError, zipfile.BadZipFile, EOFError, OSError, ValueError, RuntimeError) as error:  # last: encrypted
        if isinstance(error, InputError):
            raise
        yield BadRecord(1, None, f"not a workbook that can be read: {error}; save it again, or as CSV")
        return
    headers = [_text(cell) for cell in rows[start]] if rows else []
    texts = ([_text(cell) for cell in row] for row in rows[start + 1 :])
    sample = list(islice(texts, _SAMPLE_ROWS))
    build = _find_row_builder(file, headers, replace(options, required_column="title"), sample)
    for number, cells in enumerate(chain(sample, texts), start + 2):
        if any(cells):
            file.record_line = number
            yield build_record(build, cells, number, file)


def _check_size(content: io.BytesIO) -> set[str]:
    """Return the parts, in lower case; raise InputError if they unpack to too much: a stray cell far below counts."""
    if content.getbuffer()[:4] != _ZIP:
        return set()
    with zipfile.ZipFile(content) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > max(_MIN_BYTES, limit("ratio") * len(content.getbuffer())):
            raise InputError(f"the workbook unpacks to {describe_excess('ratio')}")
        if unpacked > _MAX_BYTES:
            raise InputError("the workbook is too large to be read; save the sheet as CSV")
        for name in archive.namelist():
            if name.startswith("xl/"):  # all are read: of one that states a wrong size the checksum is wrong
                with archive.open(name) as part:
                    column, row = _find_last_cell(part)
                if column * row > limit("cells"):
                    raise InputError(
                        f"{name} extends to row {row:,} and column {column:,}, {describe_excess('cells')}; else delete "
                        "the cells beyond the table, or save it as CSV"
                    )
        names = {name.lower() for name in archive.namelist()}
    content.seek(0)
    return names


def _check_apart(content: io.BytesIO) -> None:
    """Raise InputError for a workbook with too many cells, or that a subprocess cannot open in bounded memory."""
    memory = (1 << 30) + _CELL_BYTES * limit("cells")
    command = [sys.executable, "-c", _COUNT_CELLS, str(memory)]
    done = subprocess.run(command, input=content.getvalue(), capture_output=True, check=False)
    if done.returncode or int(done.stdout) > limit("cells"):
        raise InputError(
            f"the workbook asks for over {memory >> 30} GB, or has {describe_excess('cells')}; else delete the cells "
            "beyond the table, or save it as CSV"
        )


def _find_last_cell(part: IO[bytes]) -> tuple[int, int]:
    """Return the last column and the last row that a sheet names, as far as they matter."""
    columns, rows, rest = {b""}, 0, b""
    while piece := part.read(1 << 20):
        piece = rest + piece
        columns.update(_COLUMN.findall(piece))
        rows = max(rows, *map(int, _ROW.findall(piece)), 0)
        rest = piece[-_MAX_REFERENCE:]
    last = max(columns, key=lambda letters: (len(letters), letters))
    return reduce(lambda number, letter: 26 * number + letter - 64, last, 0) or 1, rows


def _find_table(workbook: CalamineWorkbook, file: InputFile, options: ReadOptions) -> tuple[list[list[Any]], int]:
    """Return the rows of the chosen sheet, or of the first with a title, and the position of its headers."""
    names = workbook.sheet_names
    if file.part and file.part not in names:
        close = get_close_matches(file.part, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InputError(f"{file.path}: no sheet {file.part!r}; sheets: {', '.join(names)}{hint}")
    title = normalize_header(options.columns.get("title", ""))
    first: tuple[list[list[Any]], int] = ([], 0)
    for name in [file.part] if file.part else names:
        sheet = workbook.get_sheet_by_name(name)
        rows = list(sheet.iter_rows()) if sheet.height else []
        for position, row in enumerate(islice(rows, _MAX_HEADER_ROW)):
            headers = [_text(cell) for cell in row]
            if title in map(normalize_header, headers) if title else "title" in guess_paper_columns(headers):
                others = (other for other in names if other != name and not file.part)
                file.unread_sheets = tuple(other for other in others if workbook.get_sheet_by_name(other).height)
                return rows, position
            first = first if first[0] or not any(headers) else (rows, position)
    return first


def _text(cell: Any) -> str:
    """Return a cell as text: whole numbers without point, dates as 2001-02-03."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, date | datetime):
        return cell.isoformat()
    return str(cell).strip()
