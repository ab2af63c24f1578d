"""Rows with a text: JSON lines, a JSON array, or a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sciprism.errors import InputError
from sciprism.papers.json_rows import get_first, read_json_objects
from sciprism.papers.records import PAPER_ID_SYSTEMS, Paper
from sciprism.text.documents.document import (
    JSON_SUFFIXES,
    Document,
    DocumentFile,
    build_paper,
    is_json,
    join_paragraphs,
    normalise_licence,
    register_reader,
)

TEXTS = ("text", "body", "content", "contents", "abstract")
IDS = ("id", "_id", "paper_id", *PAPER_ID_SYSTEMS)
LANGUAGES, LICENCES = ("language", "lang"), ("licence", "license")
_READ = {*IDS, *LANGUAGES, *LICENCES, *TEXTS, "title"}
BATCH_ROWS = 256  # rows of a Parquet file in memory


@register_reader("rows", JSON_SUFFIXES, is_json)
def read_json_rows(file: DocumentFile) -> Iterator[Document]:
    """Yield the text of each object: its title and the first of `TEXTS`, or the columns given."""
    for location, row in read_json_objects(file.input_file, file.dropped):
        yield build_row_document(row, file.columns, location)


def build_row_document(row: Mapping[str, Any], columns: tuple[str, ...], location: str) -> Document:
    """Return a row as a document; its text may be empty. location: its id if it has none."""
    name, title = _text(get_first(row, *IDS)) or location, _text(row.get("title"))
    parts = [_text(row.get(column)) for column in columns] or [title, _text(get_first(row, *TEXTS))]
    text = join_paragraphs(*parts)
    paper = Paper(id=name, title=title, abstract=text) if title else build_paper(text, name)
    ids = {system: _text(row[system]) for system in PAPER_ID_SYSTEMS if row.get(system)}
    return Document(
        id=name,
        text=text,
        paper=replace(paper, ids=ids),
        language=_text(get_first(row, *LANGUAGES)),
        licence=normalise_licence(_text(get_first(row, *LICENCES))),
    )


def _text(value: Any) -> str:
    """Return a text or number as text, the texts of a list joined, and "" for anything else."""
    if isinstance(value, list):
        return join_paragraphs(*map(_text, value))
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


@register_reader("parquet", (".parquet",), lambda head: head.startswith("PAR1"))
def read_parquet_rows(file: DocumentFile) -> Iterator[Document]:
    """Yield what `read_json_rows` does; raises InputError for a damaged file and for missing columns."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(file.path) as table:
            names = table.schema_arrow.names
            if missing := [column for column in file.columns if column not in names]:
                raise InputError(f"{file.path}: no column {missing[0]!r}; it has {', '.join(names)}")
            wanted = [name for name in names if name in _READ or name in file.columns]
            batches = table.iter_batches(BATCH_ROWS, columns=wanted)
            for number, row in enumerate((row for batch in batches for row in batch.to_pylist()), 1):
                yield build_row_document(row, file.columns, file.input_file.locate(number, None))
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file.path}: the Parquet file is damaged ({error}); fetch it again") from error
