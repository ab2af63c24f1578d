"""Vocabularies as tables with a header line: CSV or TSV, one label in each row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from itertools import count

from sciprism.papers.bibliographic_fields import split_list
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.label_readers.registry import label_readers
from sciprism.papers.records import Label
from sciprism.papers.table_columns import cell_getter, describe_extra_cells, find_columns, guess_columns

_HEADERS = {
    "id": "id identifier uri code notation",
    "name": "name label preflabel preferredlabel preferredterm term",
    "synonyms": "synonyms synonym altlabels altlabel altnames aliases entryterms",
    "definition": "definition description scopenote note",
    "broader": "broader parent parents parentid parentids",
    "codes": "codes treenumbers notations",
}
_DELIMITERS = ",\t;|"


class LabelTableReader:
    """Read one label from each row; in a table without ids the names are the ids.

    Several synonyms, broader labels or codes in one cell are separated by semicolons or bars.
    """

    suffixes: tuple[str, ...] = (".csv", ".tsv", ".tab")

    def recognises(self, head: str) -> bool:
        """Look for a header line that names a label and another known field."""
        columns = guess_columns(_split_header(head.lstrip().partition("\n")[0]), _HEADERS)
        return "name" in columns and len(columns) > 1

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
        """Yield the labels; raises InputError for a table without a column of names."""
        lines = ((line, text) for line, text in file.lines() if text.strip())
        first, header = next(lines, (1, ""))
        headers = _split_header(header)
        columns = find_columns(file.path, headers, _HEADERS, chosen=options.columns, required="name")
        rows = csv.reader(_count_lines(file, lines, first), delimiter=_find_delimiter(header), strict=True)
        for number in count(1):
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:  # the text of an unclosed quotation mark may run to the end
                reason = f"{error} in a table; check the quotation marks"
            else:
                reason = describe_extra_cells(cells, headers)
            yield BadRecord(number, file.record_line, reason) if reason else _build_label(cells, columns)


def _find_delimiter(header: str) -> str:
    """Return the delimiter that occurs most often in the header."""
    return max(_DELIMITERS, key=header.count)


def _split_header(header: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([header], delimiter=_find_delimiter(header)), [])]
    except csv.Error:  # a cell beyond csv's size limit, so not a header
        return []


def _count_lines(file: InputFile, lines: Iterator[tuple[int, str]], first: int) -> Iterator[str]:
    """Pass lines on and set `record_line`; of a row over several lines, to the last one."""
    file.record_line = first
    for file.record_line, text in lines:
        yield f"{text}\n"


def _build_label(cells: Sequence[str], columns: Mapping[str, int]) -> Label:
    text = cell_getter(cells, columns)
    name = text("name")
    return Label(
        id=text("id") or name,
        name=name,
        synonyms=split_list(text("synonyms")),
        definition=text("definition"),
        broader=split_list(text("broader")),
        codes=split_list(text("codes")),
    )


label_readers.register("tables")(LabelTableReader())
