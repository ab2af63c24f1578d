"""Excel and OpenDocument workbooks: the first sheet with a title column, or the one of `FILE.xlsx#SHEET`."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

from sciprism.errors import InputError
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.paper_columns import build_paper, guess_paper_columns, known_headers
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper
from sciprism.papers.table_columns import cell_getter, find_columns, normalise_header

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

_ZIP, _COMPOUND = "PK\x03\x04", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SHEETS = re.compile(r"xl/|opendocument\.spreadsheet")
_SIZE = re.compile(rb'<dimension ref="(?:[A-Z]+\d+:)?([A-Z]{1,3})(\d+)"')
_MAX_HEADER_ROW = 10
_MAX_CELLS = 100_000_000  # each takes a place in memory, even if it is empty
_MAX_BYTES = 1 << 32


class ExcelReader:
    """Read one paper from each row; columns are found as in other tables. The whole sheet is in memory."""

    suffixes: tuple[str, ...] = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
    reads_parts = True

    def recognises(self, head: str) -> bool:
        """Look for the first bytes of a workbook."""
        return head.startswith(_COMPOUND) or (head.startswith(_ZIP) and _SHEETS.search(head) is not None)

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        """Yield the papers; raises InputError for an unknown sheet, or where none has a title column."""
        from python_calamine import CalamineError, CalamineWorkbook

        with file.binary() as stream:
            content = io.BytesIO(stream.read())
        try:
            _check_size(content)
            workbook = CalamineWorkbook.from_object(content)
            rows, start = _find_table(workbook, file, options)
        except (CalamineError, zipfile.BadZipFile, OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            yield BadRecord(1, None, f"not a workbook that can be read: {error}; save it again, or as CSV")
            return
        headers = [_text(cell) for cell in rows[start]] if rows else []
        columns = find_columns(file.path, headers, known_headers(headers), chosen=options.columns, required="title")
        for number, row in enumerate(rows[start + 1 :], start + 2):
            cells = [_text(cell) for cell in row]
            if any(cells):
                file.record_line = number
                yield build_paper(cell_getter(cells, columns))


paper_readers.register("excel")(ExcelReader())


def _check_size(content: io.BytesIO) -> None:
    """Raise InputError for a workbook that unpacks to more than fits: a stray cell far below counts."""
    if content.getbuffer()[:4] != _ZIP.encode():
        return
    with zipfile.ZipFile(content) as archive:
        if sum(member.file_size for member in archive.infolist()) > _MAX_BYTES:
            raise InputError("the workbook is too large to be read; save the sheet as CSV")
        for name in archive.namelist():
            if name.startswith("xl/worksheets/"):
                with archive.open(name) as sheet:
                    size = _SIZE.search(sheet.read(1 << 12))
                if size and _column_number(size[1]) * int(size[2]) > _MAX_CELLS:
                    where = f"{size[1].decode()}{size[2].decode()}"
                    raise InputError(
                        f"{name} extends to cell {where}; delete the cells beyond the table, or save it as CSV"
                    )
    content.seek(0)


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number


def _find_table(workbook: CalamineWorkbook, file: InputFile, options: ReadOptions) -> tuple[list[list[Any]], int]:
    """Return the rows of the chosen sheet, or of the first with a title, and the position of its headers."""
    names = workbook.sheet_names
    if file.part and file.part not in names:
        close = get_close_matches(file.part, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InputError(f"{file.path}: no sheet {file.part!r}; sheets: {', '.join(names)}{hint}")
    title = normalise_header(options.columns.get("title", ""))
    first: tuple[list[list[Any]], int] = ([], 0)
    for name in [file.part] if file.part else names:
        rows = _read_sheet(workbook.get_sheet_by_name(name))
        for position, row in enumerate(islice(rows, _MAX_HEADER_ROW)):
            headers = [_text(cell) for cell in row]
            named = title in map(normalise_header, headers) if title else "title" in guess_paper_columns(headers)
            if named:
                others = (other for other in names if other != name and not file.part)
                file.unread_sheets = tuple(each for each in others if workbook.get_sheet_by_name(each).height)
                return rows, position
            first = first if first[0] or not any(headers) else (rows, position)
    return first


def _read_sheet(sheet: CalamineSheet) -> list[list[Any]]:
    return list(sheet.iter_rows()) if sheet.height else []


def _text(cell: Any) -> str:
    """Return a cell as text: whole numbers without point, dates as 2001-02-03."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, date | datetime):
        return cell.isoformat()
    return str(cell).strip()
