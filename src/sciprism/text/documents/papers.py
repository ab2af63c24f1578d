"""Title and abstract of papers in every format that `sciprism.papers` reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.papers.json_rows import NOT_READ
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.readers.registry import paper_readers
from sciprism.text.documents.document import Document, DocumentFile, build_document, is_json, register_reader

_TABLES_OF_OTHERS = "parquet"
"""Reader of papers whose files the reader of documents of the same name reads: text is in any column."""
_PAPER_KEYS = re.compile(r'"(title|abstract|abstract_inverted_index)"\s*:')


_FORMATS = [reader for name, reader in paper_readers.items() if name != _TABLES_OF_OTHERS]
_SUFFIXES = tuple(dict.fromkeys(suffix for reader in _FORMATS for suffix in reader.suffixes))


def _recognises(head: str) -> bool:
    """Ask every paper reader; JSON with neither titles nor abstracts is left to `rows`."""
    has_papers = not is_json(head) or _PAPER_KEYS.search(head) is not None
    return has_papers and any(reader.recognises(head) for reader in _FORMATS)


@register_reader("papers", _SUFFIXES, _recognises)
def read_paper_documents(file: DocumentFile) -> Iterator[Document]:
    """Yield each paper; a record that cannot be read is counted with the reason."""
    report = ReadReport()
    try:
        for paper in read_papers(file.path, skip_bad=True, report=report):
            yield build_document(paper)
    finally:
        unnamed = report.skipped_count - len(report.skipped)
        for name in [*map(str, report.skipped), *[str(file.path)] * unnamed]:
            file.dropped.add(NOT_READ, name)
        for read_file in report.files:
            file.note_repairs(read_file.note)
