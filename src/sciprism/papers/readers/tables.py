"""Tables with a header line: CSV, TSV and their kin, from Zotero, Scopus, Web of Science and by hand."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciprism.errors import InputError
from sciprism.papers.notations import find_year, split_keywords, split_list, split_names
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper
from sciprism.papers.source import BadRecord, ReadOptions, Source

_DELIMITERS = (",", "\t", ";", "|")
_LONGEST_CELL = 1 << 24  # characters: fifty times the longest abstract; more is a quotation mark left open
_EXCEL = re.compile(r"sep=(.)\s*")
# Our fields and the headers that mean them, the most telling first, without case, spaces and punctuation.
_HEADERS = {
    "id": "id key citationkey paperid articleid recordid documentid eid uniquewosid utuniquewosid ut",
    "title": "title articletitle documenttitle papertitle primarytitle ti t1",
    "abstract": "abstract abstractnote abstracttext summary ab n2",
    "authors": "authorfullnames authorsfullnames authors author authornames creators creator af au a1",
    "venue": "venue journal sourcetitle publicationtitle journaltitle journalbook containertitle booktitle "
    "conference conferencetitle conferencename publication source so jo jf t2",
    "year": "year publicationyear pubyear py publicationdate datepublished coverdate published pubdate date "
    "issued y1",
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
_SYSTEMS = ("doi", "pmid", "pmcid", "arxiv", "openalex", "s2", "isbn", "url")
_AUTHOR_NUMBER = re.compile(r"\s*\(\d+\)")  # Scopus: "Smith, John (57000000000); ..."
_SPLIT: dict[str, Callable[[str], tuple[str, ...]]] = {
    "fields": split_list,
    "keywords": split_keywords,
    "references": split_list,
}


class Tables:
    """Read one paper from each row; what a column holds is told by its header or by `options.columns`."""

    suffixes: tuple[str, ...] = (".csv", ".tsv", ".tab")

    def recognises(self, head: str) -> bool:
        """Look for a header line that names a title and something else we know."""
        known = _guess(_shape(head).headers)
        return "title" in known and len(known) > 1

    def read(self, source: Source, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        """Yield the papers; without a title column the whole table is refused."""
        shape = _shape(source.head())
        places = _places(source, shape.headers, options.columns)
        for number, (line, cells) in enumerate(_rows(source, shape), 1):
            source.record_line = line
            if isinstance(cells, str):
                yield BadRecord(number, line, cells)
            elif any(cells[len(shape.headers) :]):
                reason = f"{len(cells)} cells, but the header has {len(shape.headers)}; is a text unquoted?"
                yield BadRecord(number, line, reason)
            else:
                yield _paper(cells, places)


paper_readers.register("tables")(Tables())


@dataclass(frozen=True, slots=True)
class _Shape:
    """How a table is written: its headers, what divides its cells, and where its rows begin."""

    headers: tuple[str, ...]
    delimiter: str
    first_line: int  # counted from 1

    def reader(self, lines: Iterator[str]) -> Iterator[list[str]]:
        return csv.reader(lines, delimiter=self.delimiter, strict=True)


def _shape(head: str) -> _Shape:
    """Take the delimiter that yields the most headers we know, else the one that yields most headers."""
    csv.field_size_limit(_LONGEST_CELL)
    lines = head.split("\n")
    declared = _EXCEL.fullmatch(lines[0])  # Excel's own first line
    skipped = 1 if declared else 0
    while skipped < len(lines) and not lines[skipped].strip():
        skipped += 1
    shapes = [
        _header(lines[skipped:], skipped, delimiter)
        for delimiter in ([declared[1]] if declared else _DELIMITERS)
    ]
    return max(shapes, key=lambda shape: (len(_guess(shape.headers)), len(shape.headers)))


def _header(lines: Sequence[str], skipped: int, delimiter: str) -> _Shape:
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter)
    try:
        headers = tuple(cell.strip() for cell in next(reader, []))
    except csv.Error:
        headers = ()
    return _Shape(headers, delimiter, skipped + max(1, reader.line_num) + 1)


def _plain(header: str) -> str:
    return "".join(character for character in header.casefold() if character.isalnum())


def _guess(headers: Sequence[str]) -> dict[str, int]:
    """Return the place of each of our fields among the headers."""
    plain = [_plain(header) for header in headers]
    names = {field: known.split() for field, known in _HEADERS.items()}
    if {"pt", "ti", "ut"} <= set(plain):  # Web of Science: there ID means further keywords
        names["id"].remove("id")
    places: dict[str, int] = {}
    for field, known in names.items():
        found = [plain.index(name) for name in known if name in plain]
        if found:
            places[field] = found[0]
    return places


def _places(source: Source, headers: Sequence[str], columns: Mapping[str, str]) -> dict[str, int]:
    """Return the place of each field, the user's word before the guess."""
    places = _guess(headers)
    listed = ", ".join(header for header in headers if header)
    plain = [_plain(header) for header in headers]
    for field, header in columns.items():
        if field not in _HEADERS:
            raise InputError(f"--columns {field}={header}: no field {field!r}; fields: {', '.join(_HEADERS)}")
        if _plain(header) not in plain:
            raise InputError(f"{source.path}: no column {header!r} for {field}; columns: {listed}")
        places[field] = headers.index(header) if header in headers else plain.index(_plain(header))
    if "title" not in places:
        raise InputError(
            f"{source.path}: no column holds the title; columns: {listed}; "
            f"name it, for example: --columns title={headers[0] if headers else 'Headline'}"
        )
    return places


def _rows(source: Source, shape: _Shape) -> Iterator[tuple[int, list[str] | str]]:
    """Yield the line in which a row begins, and its cells or what is wrong with it.

    A quotation mark that is never closed swallows what follows it. Then only its line is bad, and reading
    goes on with the next. Where tabs divide, such a mark may be mere text.
    """
    lines = ((line, text) for line, text in source.lines() if line >= shape.first_line)
    again: list[tuple[int, str]] = []
    taken: list[tuple[int, str]] = []

    def feed() -> Iterator[str]:
        while True:
            item = again.pop() if again else next(lines, None)
            if item is None:
                return
            taken.append(item)
            yield item[1] + "\n"

    reader = shape.reader(feed())
    while True:
        taken.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            line, text = taken[0]
            plain = text.split("\t")
            whole = shape.delimiter == "\t" and len(plain) == len(shape.headers)
            yield line, plain if whole else f"not a row of a table: {error}; look at its quotation marks"
            again.extend(reversed(taken[1:]))
            reader = shape.reader(feed())
            continue
        if any(cells):
            yield taken[0][0], cells


def _paper(cells: Sequence[str], places: Mapping[str, int]) -> Paper:
    def text(field: str) -> str:
        place = places.get(field, len(cells))
        return cells[place].strip() if place < len(cells) else ""

    lists = {field: split(text(field)) for field, split in _SPLIT.items()}
    return Paper(
        id=text("id"),
        title=text("title"),
        abstract=text("abstract"),
        authors=split_names(_AUTHOR_NUMBER.sub("", text("authors"))),
        venue=text("venue"),
        year=find_year(text("year")),
        fields=lists["fields"],
        keywords=lists["keywords"],
        # Ids have no spaces; Scopus writes whole references under this header.
        references=tuple(item for item in lists["references"] if " " not in item),
        ids={system: text(system) for system in _SYSTEMS if text(system)},
    )
