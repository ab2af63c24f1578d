"""Title and abstract of papers in every format that `sciprism.papers` reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sciprism.papers.json_rows import NOT_READ
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.readers.registry import FileFormat, paper_readers
from sciprism.papers.records import Paper
from sciprism.text.documents.document import Document, DocumentFile, build_document, document_readers

_TABLES_OF_OTHERS = "parquet"
"""Reader of papers whose files the reader of documents of the same name reads: text is in any column."""
_PAPER_KEYS = re.compile(r'"(title|abstract|abstract_inverted_index)"\s*:')


class PaperDocumentReader:
    """Read papers one at a time; JSON with neither titles nor abstracts is left to `rows`."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Return the suffixes of all paper formats."""
        return tuple(dict.fromkeys(suffix for reader in _list_readers() for suffix in reader.suffixes))

    def recognises(self, head: str) -> bool:
        """Ask every paper reader."""
        rows = head.lstrip()[:1] in ("{", "[")
        return not (rows and _PAPER_KEYS.search(head) is None) and any(
            reader.recognises(head) for reader in _list_readers()
        )

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield each paper; a record that cannot be read is counted with the reason."""
        report = ReadReport()
        try:
            for paper in read_papers(file.path, skip_bad=True, report=report):
                yield build_document(paper)
        finally:
            unnamed = report.skipped_count - len(report.skipped)
            for name in [*map(str, report.skipped), *[str(file.path)] * unnamed]:
                file.dropped.add(NOT_READ, name)
            for each in report.files:
                file.note_repairs(each.note)


def _list_readers() -> list[FileFormat[Paper]]:
    return [reader for name, reader in paper_readers.items() if name != _TABLES_OF_OTHERS]


document_readers.register("papers")(PaperDocumentReader())
