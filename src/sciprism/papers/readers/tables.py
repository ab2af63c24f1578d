"""Tables with a header line (CSV, TSV ...): from Zotero, Scopus, Web of Science, or written by hand."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciprism.papers.bibliographic_fields import find_year, split_keywords, split_list, split_names
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import ID_SYSTEMS, Paper
from sciprism.papers.table_columns import (
    cell_getter,
    describe_extra_cells,
    find_columns,
    guess_columns,
    normalise_header,
)

_DELIMITERS = (",", "\t", ";", "|")
_MAX_CELL_CHARS = 1 << 24  # fifty times the longest abstract; more is an unclosed quotation mark
_EXCEL = re.compile(r"sep=(.)\s*")
# Our fields and their normalised headers, the best first.
_HEADERS = {
    "id": "id key citationkey paperid articleid recordid documentid eid uniquewosid utuniquewosid ut",
    "title": "title articletitle documenttitle papertitle primarytitle ti t1",
    "abstract": "abstract abstractnote abstracttext summary ab n2",
    "authors": "authorfullnames authorsfullnames authors author authornames creators creator af au a1",
    "venue": "venue journal sourcetitle publicationtitle journaltitle journalbook containertitle booktitle "
    "conference conferencetitle conferencename publication source so jo jf t2",
    "year": "year publicationyear pubyear py publicationdate datepublished coverdate published pubdate date issued y1",
    "fields": "fields field fieldsofstudy subjects subject subjectareas categories category researchareas "
    "woscategories wc sc",
    "keywords": "keywords keyword authorkeywords manualtags tags mesh meshterms de kw",
    "references": "references referencedworks citedids",
    "doi": "doi di do digitalobjectidentifier doilink",
    "pmid": "pmid pubmedid pm",
    "pmcid": "pmcid pmc",
    "arxiv": "arxiv arxivid",
    "openalex": "openalex openalexid",
    "s2": "s2 s2id semanticscholarid corpusid",
    "isbn": "isbn",
    "url": "url link articleurl ur",
}
_AUTHOR_NUMBER = re.compile(r"\s*\(\d+\)")  # Scopus: "Smith, John (57000000000); ..."


class PaperTableReader:
    """Read one paper from each row; the header or `options.columns` says which field a column holds."""

    suffixes: tuple[str, ...] = (".csv", ".tsv", ".tab")

    def recognises(self, head: str) -> bool:
        """Look for a header line with a title and another known field."""
        columns = _guess_columns(_detect_layout(head).headers)
        return "title" in columns and len(columns) > 1

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        """Yield the papers; raises InputError for a table without a title column."""
        layout = _detect_layout(file.head())
        known = _known_headers(layout.headers)
        columns = find_columns(file.path, layout.headers, known, chosen=options.columns, required="title")
        for number, (line, cells) in enumerate(_read_rows(file, layout), 1):
            file.record_line = line
            reason = cells if isinstance(cells, str) else describe_extra_cells(cells, layout.headers)
            yield BadRecord(number, line, reason) if reason else _build_paper(cells, columns)


paper_readers.register("tables")(PaperTableReader())


@dataclass(frozen=True, slots=True)
class _TableLayout:
    """How a table is written: its headers, the delimiter of its cells, and where its rows begin."""

    headers: tuple[str, ...]
    delimiter: str
    first_line: int  # counted from 1

    def reader(self, lines: Iterator[str]) -> Iterator[list[str]]:
        return csv.reader(lines, delimiter=self.delimiter, strict=True)


def _detect_layout(head: str) -> _TableLayout:
    """Choose the delimiter that yields the most known headers, then the most headers."""
    csv.field_size_limit(_MAX_CELL_CHARS)
    lines = head.split("\n")
    declared = _EXCEL.fullmatch(lines[0])  # Excel's own first line
    filled = (n for n, line in enumerate(lines) if line.strip() and (n > 0 or not declared))
    skipped = next(filled, len(lines))
    layouts = [
        _split_header(lines[skipped:], skipped, delimiter) for delimiter in ([declared[1]] if declared else _DELIMITERS)
    ]
    return max(layouts, key=lambda layout: (len(_guess_columns(layout.headers)), len(layout.headers)))


def _split_header(lines: Sequence[str], skipped: int, delimiter: str) -> _TableLayout:
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    try:
        headers = tuple(cell.strip() for cell in next(reader, []))
    except csv.Error:
        headers = ()
    return _TableLayout(headers, delimiter, skipped + max(1, reader.line_num) + 1)


def _known_headers(headers: Sequence[str]) -> dict[str, str]:
    """Return the known headers of each field; in Web of Science's tables ID means further keywords."""
    web_of_science = {"pt", "ti", "ut"} <= set(map(normalise_header, headers))
    return _HEADERS | {"id": _HEADERS["id"].removeprefix("id ")} if web_of_science else _HEADERS


def _guess_columns(headers: Sequence[str]) -> dict[str, int]:
    return guess_columns(headers, _known_headers(headers))


def _read_rows(file: InputFile, layout: _TableLayout) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the line in which a row begins, and its cells or what is wrong with it.

    An unclosed quotation mark swallows the text that follows. Then only its line is bad, and reading
    continues with the next. Between tabs, such a mark may be mere text.
    """
    lines = ((line, text) for line, text in file.lines() if line >= layout.first_line)
    again: list[tuple[int, str]] = []
    read: list[tuple[int, str]] = []  # the lines of the current row

    def feed() -> Iterator[str]:
        while (item := again.pop() if again else next(lines, None)) is not None:
            read.append(item)
            yield item[1] + "\n"

    reader = layout.reader(feed())
    while True:
        read.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            line, text = read[0]
            plain = text.split("\t")
            whole = layout.delimiter == "\t" and len(plain) == len(layout.headers)
            yield line, plain if whole else f"not a row of a table: {error}; check its quotation marks"
            again.extend(reversed(read[1:]))
            reader = layout.reader(feed())
            continue
        if any(cells):
            yield read[0][0], cells


def _build_paper(cells: Sequence[str], columns: Mapping[str, int]) -> Paper:
    text = cell_getter(cells, columns)
    return Paper(
        id=text("id"),
        title=text("title"),
        abstract=text("abstract"),
        authors=split_names(_AUTHOR_NUMBER.sub("", text("authors"))),
        venue=text("venue"),
        year=find_year(text("year")),
        fields=split_list(text("fields")),
        keywords=split_keywords(text("keywords")),
        # Ids have no spaces; Scopus writes whole references under this header.
        references=tuple(item for item in split_list(text("references")) if " " not in item),
        ids={system: text(system) for system in ID_SYSTEMS if text(system)},
    )
