"""Plain text: documents separated by blank lines, one a line, or one a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sciprism.text.documents.document import Document, DocumentFile, build_paper, document_readers

MAX_DOCUMENT_CHARS = 1 << 24
"""A longer document is split, so that memory stays constant."""
SPLIT = f"text split after {MAX_DOCUMENT_CHARS:,} characters"


@dataclass(frozen=True, slots=True)
class PlainTextReader:
    """Read plain text. separator: what separates documents."""

    separator: Literal["blank line", "line", "file"]
    suffixes: tuple[str, ...] = (".txt",)

    def recognises(self, head: str) -> bool:  # noqa: ARG002 (the readers' signature)
        """Accept every text if blank lines separate documents; the other kinds must be named."""
        return self.separator == "blank line"

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield each document, named by the number of its first line."""
        lines: list[str] = []
        size = first = 0
        for number, line in file.input_file.lines():
            blank = not line.strip()
            ends = self.separator == "line" or (blank and self.separator == "blank line")
            if lines and (ends or size >= MAX_DOCUMENT_CHARS):
                if size >= MAX_DOCUMENT_CHARS:
                    file.dropped.add(SPLIT, file.input_file.locate(0, first))
                yield _build_document(file, lines, first)
                lines, size = [], 0
            if lines or not blank:
                first = first if lines else number
                lines.append(line)
                size += len(line)
        if lines:
            yield _build_document(file, lines, first)


def _build_document(file: DocumentFile, lines: list[str], first: int) -> Document:
    text, name = "\n".join(lines).strip(), file.input_file.locate(0, first)
    return Document(id=name, text=text, paper=build_paper(text, name))


document_readers.register("text")(PlainTextReader("blank line"))
document_readers.register("text-line")(PlainTextReader("line"))
document_readers.register("text-file")(PlainTextReader("file"))
