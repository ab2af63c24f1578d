"""Plain text: documents parted by blank lines, a document a line, or a document a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sciprism.text.documents.document import Document, DocumentFile, titled
from sciprism.text.documents.registry import document_readers

LONGEST = 1 << 24
"""Characters of a document; a longer one is cut, so that memory stays flat."""
CUT = f"text cut after {LONGEST:,} characters"


@dataclass(frozen=True, slots=True)
class Plain:
    """Read plain text. parted: by what documents are parted."""

    parted: Literal["blank line", "line", "file"]
    suffixes: tuple[str, ...] = (".txt",)

    def recognises(self, head: str) -> bool:  # noqa: ARG002 (the readers' signature)
        """Take every text by its suffix; the others of these kinds are asked for by name."""
        return self.parted == "blank line"

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield each document, named by the line it begins in."""
        held: list[str] = []
        size = begun = 0
        for number, line in file.source.lines():
            blank = not line.strip()
            if held and ((blank and self.parted == "blank line") or self.parted == "line" or size >= LONGEST):
                if size >= LONGEST:
                    file.dropped.add(CUT, file.place(0, begun))
                yield _document(file, held, begun)
                held, size = [], 0
            if held or not blank:
                begun = begun if held else number
                held.append(line)
                size += len(line)
        if held:
            yield _document(file, held, begun)


def _document(file: DocumentFile, lines: list[str], begun: int) -> Document:
    text, name = "\n".join(lines).strip(), file.place(0, begun)
    return Document(id=name, text=text, paper=titled(text, name))


document_readers.register("text")(Plain("blank line"))
document_readers.register("text-line")(Plain("line"))
document_readers.register("text-file")(Plain("file"))
