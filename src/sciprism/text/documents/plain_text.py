"""Plain text: documents separated by blank lines, one a line, or one a file."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal

from sciprism.text.documents.document import Document, DocumentFile, build_paper, register_reader

MAX_DOCUMENT_CHARS = 1 << 24  # a longer document is split, so that memory stays constant
Separator = Literal["blank line", "line", "file"]
SPLIT = f"text split after {MAX_DOCUMENT_CHARS:,} characters"


def read_plain_text(separator: Separator, file: DocumentFile) -> Iterator[Document]:
    """Yield each document, named by the number of its first line. separator: what separates documents."""
    lines: list[str] = []
    size = first = 0
    for number, line in file.input_file.lines():
        blank = not line.strip()
        ends = separator == "line" or (blank and separator == "blank line")
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


# texts separated by blank lines are recognised; the other kinds must be named
register_reader("text", (".txt",), lambda _: True)(partial(read_plain_text, "blank line"))
register_reader("text-line", (".txt",), lambda _: False)(partial(read_plain_text, "line"))
register_reader("text-file", (".txt",), lambda _: False)(partial(read_plain_text, "file"))
