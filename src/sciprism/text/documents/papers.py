"""Papers in every format that `sciprism.papers` reads: title and abstract."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from sciprism.drop_report import DropReport
from sciprism.papers.readers.registry import paper_readers
from sciprism.papers.reading import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.papers.s2orc import read_s2orc
from sciprism.text.documents.document import NOT_READ, Document, DocumentFile, joined
from sciprism.text.documents.registry import document_readers

_OURS = re.compile(r'"(title|abstract|abstract_inverted_index)"\s*:')


class Papers:
    """Read papers one at a time; rows with neither a title nor an abstract are left to `rows`."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Return the suffixes of all formats of papers."""
        return tuple(dict.fromkeys(suffix for reader in paper_readers.values() for suffix in reader.suffixes))

    def recognises(self, head: str) -> bool:
        """Ask every reader of papers."""
        rows = head.lstrip()[:1] in ("{", "[")
        return not (rows and _OURS.search(head) is None) and any(
            reader.recognises(head) for reader in paper_readers.values()
        )

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield each paper; a record that cannot be read is counted with what is wrong with it."""
        report = ReadReport()
        try:
            for paper in read_papers(file.path, skip_bad=True, report=report):
                yield of_paper(paper)
        finally:
            unnamed = report.skipped_count - len(report.skipped)
            for name in [*map(str, report.skipped), *[str(file.path)] * unnamed]:
                file.dropped.add(NOT_READ, name)
            for each in report.files:
                file.noted(each.note)


def of_paper(paper: Paper) -> Document:
    """Return the title and the abstract of a paper as a document."""
    return Document(id=paper.id, text=joined(paper.title, paper.abstract), paper=paper)


def s2orc_documents(folder: Path, dropped: DropReport) -> Iterator[Document]:
    """Yield the papers of a folder of S2ORC."""
    return map(of_paper, read_s2orc(folder, tally=dropped))


document_readers.register("papers")(Papers())
