"""Vocabularies as tables with a header line: CSV or TSV, one label in each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sciprism.papers.bibliographic_fields import split_list
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.label_readers.registry import label_readers
from sciprism.papers.records import Label
from sciprism.papers.table_columns import cell_getter, find_columns, guess_columns
from sciprism.papers.table_rows import detect_layout, read_rows

_HEADERS = {
    "id": "id identifier uri code notation",
    "name": "name label preflabel preferredlabel preferredterm term",
    "synonyms": "synonyms synonym altlabels altlabel altnames aliases entryterms",
    "definition": "definition description scopenote note",
    "broader": "broader parent parents parentid parentids",
    "codes": "codes treenumbers notations",
}


class LabelTableReader:
    """Read one label from each row; in a table without ids the names are the ids.

    Several synonyms, broader labels or codes in one cell are separated by semicolons or bars.
    """

    suffixes: tuple[str, ...] = (".csv", ".tsv", ".tab")

    def recognises(self, head: str) -> bool:
        """Look for a header line that names a label and another known field."""
        columns = _guess_columns(detect_layout(head, _guess_columns).headers)
        return "name" in columns and len(columns) > 1

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Label | BadRecord]:
        """Yield the labels; raises InputError for a table without a column of names."""
        layout = detect_layout(file.head(), _guess_columns)
        chosen = options.columns
        columns = find_columns(file.path, layout.headers, _HEADERS, chosen=chosen, required="name", option="")
        for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
            if fault:
                yield BadRecord(number, file.record_line, fault)
                continue
            text = cell_getter(cells, columns)
            yield Label(
                id=text("id") or text("name"),
                name=text("name"),
                synonyms=split_list(text("synonyms")),
                definition=text("definition"),
                broader=split_list(text("broader")),
                codes=split_list(text("codes")),
            )


def _guess_columns(headers: Sequence[str]) -> dict[str, int]:
    return guess_columns(headers, _HEADERS)


label_readers.register("tables")(LabelTableReader())
