"""Vocabularies as tables with a header line: CSV or TSV with a name and perhaps more in each row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence

from sciprism.errors import InputError
from sciprism.papers.label_readers.registry import label_readers
from sciprism.papers.notations import split_list
from sciprism.papers.records import Label
from sciprism.papers.source import BadRecord, ReadOptions, Source

_HEADERS = {
    "id": ("id", "identifier", "uri", "code", "notation"),
    "name": ("name", "label", "preflabel", "preferredlabel", "preferredterm", "term"),
    "synonyms": ("synonyms", "synonym", "altlabels", "altlabel", "altnames", "aliases", "entryterms"),
    "definition": ("definition", "description", "scopenote", "note"),
    "broader": ("broader", "parent", "parents", "parentid", "parentids"),
    "codes": ("codes", "treenumbers", "notations"),
}
_DELIMITERS = ",\t;|"


class Tables:
    """Read one label from each row; a table without ids takes the names for them.

    Several synonyms, broader labels or codes in one cell are divided by semicolons or bars.
    """

    suffixes: tuple[str, ...] = (".csv", ".tsv", ".tab")

    def recognises(self, head: str) -> bool:
        """Look for a header line that names a label and something else we know."""
        places = _guess(_cells(head.lstrip().partition("\n")[0]))
        return "name" in places and len(places) > 1

    def read(self, source: Source, options: ReadOptions) -> Iterator[Label | BadRecord]:
        """Yield the labels; without a column for the name the whole table is refused."""
        lines = ((line, text) for line, text in source.lines() if text.strip())
        first, header = next(lines, (1, ""))
        headers = _cells(header)
        places = _places(source, headers, options.columns)
        rows = csv.reader(_told(source, lines, first), delimiter=_delimiter(header), strict=True)
        number = 0
        while True:
            number += 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:  # the text of an unclosed quotation mark may run to the end
                yield BadRecord(
                    number, source.record_line, f"{error} in a table; look at the quotation marks"
                )
                continue
            if any(cells[len(headers) :]):
                reason = f"{len(cells)} cells, but the header has {len(headers)}; is a text unquoted?"
                yield BadRecord(number, source.record_line, reason)
            else:
                yield _label(cells, places)


def _delimiter(header: str) -> str:
    """Return the delimiter that occurs most often in the header."""
    return max(_DELIMITERS, key=header.count)


def _cells(header: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([header], delimiter=_delimiter(header)), [])]
    except csv.Error:  # a cell beyond csv's size limit, so not a header
        return []


def _told(source: Source, lines: Iterator[tuple[int, str]], first: int) -> Iterator[str]:
    """Pass lines on and keep count of them; of a row over several lines the last one is told."""
    source.record_line = first
    for source.record_line, text in lines:
        yield f"{text}\n"


def _guess(headers: Sequence[str]) -> dict[str, int]:
    """Return the place of each of our fields among the headers."""
    plain = ["".join(filter(str.isalnum, header.lower())) for header in headers]
    found = {
        field: [plain.index(name) for name in known if name in plain] for field, known in _HEADERS.items()
    }
    return {field: places[0] for field, places in found.items() if places}


def _places(source: Source, headers: Sequence[str], columns: Mapping[str, str]) -> dict[str, int]:
    """Return the place of each field, the user's word before the guess."""
    places = _guess(headers)
    for field, header in columns.items():
        if field not in _HEADERS:
            raise InputError(f"--columns {field}={header}: no field {field!r}; fields: {', '.join(_HEADERS)}")
        if header not in headers:
            raise InputError(f"{source.path}: no column {header!r}; columns: {', '.join(headers)}")
        places[field] = headers.index(header)
    if "name" not in places:
        raise InputError(
            f"{source.path}: no column holds the labels' names; columns: {', '.join(headers)}; "
            "name it, for example: --columns name=Term"
        )
    return places


def _label(cells: Sequence[str], places: Mapping[str, int]) -> Label:
    def text(field: str) -> str:
        place = places.get(field, len(cells))
        return cells[place].strip() if place < len(cells) else ""

    name = text("name")
    return Label(
        id=text("id") or name,
        name=name,
        synonyms=split_list(text("synonyms")),
        definition=text("definition"),
        broader=split_list(text("broader")),
        codes=split_list(text("codes")),
    )


label_readers.register("tables")(Tables())
