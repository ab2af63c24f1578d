"""Read the documents of files and folders of any kind; unreadable ones are counted."""

from __future__ import annotations

import tarfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.s2orc import is_s2orc, read_s2orc
from sciprism.text.documents.document import Document, DocumentFile, open_input_file, read_head
from sciprism.text.documents.papers import build_document
from sciprism.text.documents.registry import document_readers

EMPTY, UNKNOWN = "empty file", "file of no known kind"
BROKEN = "file that is damaged or truncated"
NO_TEXT = "no text"
_FAULTS = (InputError, OSError, EOFError, zlib.error, tarfile.TarError)


def read_documents(
    path: Path, *, kind: str = "", columns: Sequence[str] = (), dropped: DropReport
) -> Iterator[Document]:
    """Yield the documents with text of a file, or of all files of a folder in sorted order.

    kind: of all files, else recognised by suffix and content. columns: columns of rows that hold the text.
    dropped: counts files and records without a text; a file that is not UTF-8 is counted but read. Raises
    InputError for a missing path and for a single file of no known kind.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if kind:
        document_readers[kind]  # raises InputError for an unknown kind
    if path.is_dir() and is_s2orc(path):
        yield from map(build_document, read_s2orc(path, dropped=dropped))
        return
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    for each in files:
        if not each.name.startswith(".") and (chosen := _find_kind(each, kind, dropped, alone=each == path)):
            yield from _read_file(DocumentFile(open_input_file(each), tuple(columns), dropped), chosen)


def _find_kind(path: Path, kind: str, dropped: DropReport, *, alone: bool) -> str:
    """Return the kind of a file, or count the reason why it cannot be read and return ""."""
    try:
        head = read_head(path)
    except _FAULTS as error:
        dropped.add(BROKEN, f"{path}: {error}")
        return ""
    if not head.strip("\x00\x1a \t\r\n"):
        dropped.add(EMPTY, str(path))
        return ""
    name = path.name.lower().removesuffix(".gz").removesuffix(".bz2")
    if kind and (alone or name.endswith(document_readers[kind].suffixes)):
        return kind
    for found, reader in document_readers.items() if not kind else ():
        if name.endswith(reader.suffixes) and reader.recognises(head):
            return found
    if alone:
        known = ", ".join(f"{n} ({' '.join(r.suffixes)})" for n, r in document_readers.items())
        raise InputError(f"{path}: of no known kind; known: {known}; name one with --kind")
    dropped.add(UNKNOWN, str(path))
    return ""


def _read_file(file: DocumentFile, kind: str) -> Iterator[Document]:
    try:
        for document in document_readers[kind].read(file):
            if document.text.strip():
                yield document
            else:
                file.dropped.add(NO_TEXT, document.id)
    except _FAULTS as error:
        file.dropped.add(BROKEN, str(error) if str(file.path) in str(error) else f"{file.path}: {error}")
    if file.input_file.encoding:
        file.note_repairs(f"read as {file.input_file.encoding}")
    elif damaged := file.input_file.damaged_characters:
        file.note_repairs(f"{damaged:,} damaged characters replaced")
