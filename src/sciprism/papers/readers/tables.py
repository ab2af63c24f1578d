"""Tables with a header line (CSV, TSV ...): of Zotero, Scopus, Web of Science, Dimensions, Lens, or your own."""

from __future__ import annotations

from collections.abc import Iterator

from sciprism.errors import InputError
from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.paper_columns import build_paper, guess_paper_columns, known_headers
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.records import Paper
from sciprism.papers.table_columns import cell_getter, find_columns, guess_columns
from sciprism.papers.table_rows import detect_layout, read_rows


class PaperTableReader:
    """Read one paper from each row; the header or `options.columns` says which field a column holds."""

    suffixes: tuple[str, ...] = (".csv", ".tsv", ".tab")

    def recognises(self, head: str) -> bool:
        """Look for a header line with a title and another known field."""
        columns = guess_paper_columns(detect_layout(head, guess_paper_columns).headers)
        return "title" in columns and len(columns) > 1

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        """Yield the papers; raises InputError for a table without a title (`options.required_column`)."""
        layout = detect_layout(file.head(), guess_paper_columns)
        known = known_headers(layout.headers)
        required = options.required_column
        if required == "abstract" and required not in guess_columns(layout.headers, known):
            listed = ", ".join(filter(None, layout.headers))
            raise InputError(f"{file.path}: no column holds the abstract; columns: {listed}; rename one to abstract")
        columns = find_columns(file.path, layout.headers, known, chosen=options.columns, required=required)
        for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
            if fault:
                yield BadRecord(number, file.record_line, fault)
            else:
                yield build_paper(cell_getter(cells, columns))


paper_readers.register("tables")(PaperTableReader())
