"""Tables of papers with a header line: CSV, TSV, and workbooks of Excel and OpenDocument.

They come from Zotero, Scopus, Web of Science, Dimensions, Lens, or are your own. Of a workbook the first sheet with a
title column is read, or the one of `FILE.xlsx#SHEET`.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any

from sciprism.errors import InputError
from sciprism.papers.bibliographic_fields import find_year, split_keywords, split_list, split_names
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import ID_SYSTEMS, Paper
from sciprism.papers.rows import cell_getter, detect_layout, find_columns, guess_columns, normalise_header, read_rows

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

# Our fields and their normalised headers, the best first.
PAPER_HEADERS = {
    "id": "id key citationkey paperid articleid recordid documentid publicationid lensid eid uniquewosid utuniquewosid "
    "ut",
    "title": "title articletitle documenttitle papertitle itemtitle primarytitle ti t1",
    "abstract": "abstract abstractnote abstracttext summary ab n2",
    "authors": "authorfullnames authorsfullnames authors author authornames contributors creators creator af au a1",
    "venue": "venue journal sourcetitle publicationtitle journaltitle journalbook pubtitle containertitle booktitle "
    "conference conferencetitle conferencename publication source so jo jf t2",
    "year": "year publicationyear pubyear py publicationdate datepublished coverdate published pubdate date issued y1",
    "fields": "fields field fieldsofstudy fieldsofresearch fieldsofresearchanzsrc2020 subjects subject "
    "subjectareas categories category researchareas woscategories wc sc",
    "keywords": "keywords keyword authorkeywords manualtags tags mesh meshterms de kw",
    "more_keywords": "indexkeywords keywordsplus automatictags meshterms",
    "references": "references referencedworks citedids",
    "doi": "doi di do digitalobjectidentifier itemdoi doilink",
    "pmid": "pmid pubmedid medlinepmid pm",
    "pmcid": "pmcid pmc",
    "arxiv": "arxiv arxivid",
    "openalex": "openalex openalexid",
    "s2": "s2 s2id semanticscholarid corpusid",
    "isbn": "isbn",
    "url": "url link articleurl dimensionsurl externalurl ur",
}
_AUTHOR_NUMBER = re.compile(r"\s*\(\d+\)")  # Scopus: "Smith, John (57000000000); ..."
_NO_AUTHOR = re.compile(r"\[no author name available\]", re.IGNORECASE)  # Scopus
_ZIP = b"PK\x03\x04"
_WORKBOOK = re.compile(r"\A(?:\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1|PK\x03\x04[\s\S]*?(?:xl/|opendocument\.spreadsheet))")
_SIZE = re.compile(rb'<dimension ref="(?:[A-Z]+\d+:)?([A-Z]{1,3})(\d+)"')
_MAX_HEADER_ROW = 10
_MAX_CELLS = 100_000_000  # each takes a place in memory, even if it is empty
_MAX_BYTES = 1 << 32


def _is_table(head: str) -> bool:
    """Look for a header line with a title and another known field."""
    columns = guess_paper_columns(detect_layout(head, guess_paper_columns).headers)
    return "title" in columns and len(columns) > 1


@paper_readers.reader(
    "tables",
    "Tables with a header line (CSV, TSV ...) of Zotero, Scopus, Lens and others, or your own",
    (".csv", ".tsv", ".tab"),
    check=_is_table,
)
def read_table(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield one paper from each row; the header or `options.columns` says which field a column holds.

    Raises InputError for a table without a title (`options.required_column`).
    """
    layout = detect_layout(file.head(), guess_paper_columns)
    headers = known_headers(layout.headers)
    required = options.required_column
    if required == "abstract" and required not in guess_columns(layout.headers, headers):
        listed = ", ".join(filter(None, layout.headers))
        raise InputError(f"{file.path}: no column holds the abstract; columns: {listed}; rename one to abstract")
    columns = find_columns(file.path, layout.headers, headers, chosen=options.columns, required=required)
    for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
        if fault:
            yield BadRecord(number, file.record_line, fault)
        else:
            yield build_paper(cell_getter(cells, columns))


def known_headers(headers: Sequence[str]) -> Mapping[str, str]:
    """Return the known headers of each field; in Web of Science's tables ID means further keywords."""
    web_of_science = {"pt", "ti", "ut"} <= set(map(normalise_header, headers))
    if not web_of_science:
        return PAPER_HEADERS
    return PAPER_HEADERS | {"id": PAPER_HEADERS["id"].removeprefix("id "), "more_keywords": "id"}


def guess_paper_columns(headers: Sequence[str]) -> dict[str, int]:
    """Return field -> column, of the fields that have one."""
    return guess_columns(headers, known_headers(headers))


def build_paper(text: Callable[[str], str]) -> Paper:
    """Build the paper of one row. text: returns the text of a field's cell."""
    authors = _NO_AUTHOR.sub("", _AUTHOR_NUMBER.sub("", text("authors")))
    return Paper(
        id=text("id"),
        title=text("title"),
        abstract=text("abstract"),
        # PubMed ends the list with a full stop.
        authors=split_names(authors.removesuffix(".") if authors.count(".") == 1 else authors),
        venue=text("venue"),
        year=find_year(text("year")),
        fields=split_list(text("fields")),
        keywords=tuple(dict.fromkeys(split_keywords(text("keywords")) + split_keywords(text("more_keywords")))),
        # Ids have no spaces; Scopus writes whole references under this header.
        references=tuple(item for item in split_list(text("references")) if " " not in item),
        ids={system: text(system) for system in ID_SYSTEMS if text(system)},
    )


@paper_readers.reader(
    "excel",
    "Excel and OpenDocument workbooks: the first sheet with a title column, or the one of `FILE.xlsx#SHEET`",
    (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods"),
    patterns=(_WORKBOOK,),
    reads_parts=True,
)
def read_workbook(file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
    """Yield one paper from each row of a sheet, all of which is in memory; columns are found as in other tables.

    Raises InputError for an unknown sheet, or where none has a title column.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    with file.binary() as stream:
        content = io.BytesIO(stream.read())
    try:
        _check_size(content)
        workbook = CalamineWorkbook.from_object(content)
        rows, start = _find_table(workbook, file, options)
    except (CalamineError, zipfile.BadZipFile, OSError, ValueError, RuntimeError) as error:  # the last: encrypted
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


def _check_size(content: io.BytesIO) -> None:
    """Raise InputError for a workbook that unpacks to more than fits: a stray cell far below counts."""
    if content.getbuffer()[:4] != _ZIP:
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
        sheet = workbook.get_sheet_by_name(name)
        rows = list(sheet.iter_rows()) if sheet.height else []
        for position, row in enumerate(islice(rows, _MAX_HEADER_ROW)):
            headers = [_text(cell) for cell in row]
            named = title in map(normalise_header, headers) if title else "title" in guess_paper_columns(headers)
            if named:
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
