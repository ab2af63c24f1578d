"""Documents to train on: their files, the registry of their readers, and reading files and folders of any kind."""

from __future__ import annotations

import bz2
import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.input_file import HEAD_BYTES, InputFile
from sciprism.papers.records import Paper
from sciprism.papers.rows import NOT_READ
from sciprism.papers.s2orc import is_s2orc, read_s2orc
from sciprism.registry import Registry

PARAGRAPH_BREAK = "\n\n"  # separates the title and the paragraphs of a text; no sentence crosses it

EMPTY, UNKNOWN = "empty file", "file of no known kind"
BROKEN = "file that is damaged or truncated"
NO_TEXT = "no text"
_FAULTS = (InputError, OSError, EOFError, zlib.error, tarfile.TarError)
NOT_UTF8 = "file that is not valid UTF-8, still read"

_COMMONS = re.compile(r"creativecommons\.org/(?:licen[sc]es|publicdomain)/([a-z-]+)", re.IGNORECASE)
_CC = re.compile(r"(?:cc|creative commons)[\s-]*(0|by(?:[\s-]+(?:nc|nd|sa))*)(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text with its metadata; unknown metadata are empty.

    language: a code (`en`) or a name (`English`). licence: in the form of `normalize_licence`. paper: title
    and ids, to recognize papers of tests.
    """

    id: str
    text: str
    paper: Paper
    language: str = ""
    licence: str = ""


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A file, as its reader sees it.

    columns: columns of rows that hold the text. dropped: unusable records, by reason.
    """

    input_file: InputFile
    columns: tuple[str, ...] = ()
    dropped: DropReport = field(default_factory=DropReport)

    @property
    def path(self) -> Path:
        """Return the path of the file; documents are read from disks."""
        path = self.input_file.path
        assert isinstance(path, Path)
        return path

    def note_repairs(self, note: str) -> None:
        """Count the file as repaired, with a note how; does nothing for an empty note."""
        if note:
            self.dropped.add(NOT_UTF8, f"{self.path}: {note}")

    def drop_record(self, location: str, reason: str) -> None:
        """Count a record that cannot be read."""
        self.dropped.add(NOT_READ, f"{location}: {reason}"[:300])


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """A kind of document files.

    suffixes: of their names, without .gz and .bz2. recognizes: says whether the decompressed beginning of a file
    with such a suffix looks like this kind. read: yields the documents in file order, counts unusable records by
    reason, and never raises for content; a truncated file raises InputError or OSError at its end.
    """

    suffixes: tuple[str, ...]
    recognizes: Callable[[str], bool]
    read: Callable[[DocumentFile], Iterator[Document]]


ReadDocuments = Callable[[DocumentFile], Iterator[Document]]
JSON_SUFFIXES = (".jsonl", ".json", ".ndjson")
document_readers: Registry[DocumentReader] = Registry("kind of document")
"""The first reader that recognizes a file reads it."""


def register_reader(
    kind: str, suffixes: tuple[str, ...], recognizes: Callable[[str], bool]
) -> Callable[[ReadDocuments], ReadDocuments]:
    """Register a function that reads files of a kind."""

    def add(read: ReadDocuments) -> ReadDocuments:
        document_readers.register(kind)(DocumentReader(suffixes, recognizes, read))
        return read

    return add


def is_json(head: str) -> bool:
    """Return whether the beginning of a file looks like JSON."""
    return head.lstrip()[:1] in ("{", "[")


# ---- reading ----


def read_documents(
    path: Path, *, kind: str = "", columns: Sequence[str] = (), dropped: DropReport
) -> Iterator[Document]:
    """Yield the documents with text of a file, or of all files of a folder in sorted order.

    kind: of all files, else recognized by suffix and content. columns: columns of rows that hold the text.
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
    files = sorted(filter(Path.is_file, path.rglob("*"))) if path.is_dir() else [path]
    for file in files:
        if not file.name.startswith(".") and (file_kind := _find_kind(file, kind, dropped, alone=file == path)):
            yield from _read_file(DocumentFile(open_input_file(file), tuple(columns), dropped), file_kind)


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
    for candidate, reader in document_readers.items() if not kind else ():
        if name.endswith(reader.suffixes) and reader.recognizes(head):
            return candidate
    if alone:
        kinds = ", ".join(f"{n} ({' '.join(r.suffixes)})" for n, r in document_readers.items())
        raise InputError(f"{path}: of no known kind; known: {kinds}; name one with --kind")
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


# ---- what the readers share ----


class PackedInputFile(InputFile):
    """An input file with its own way to open it: a bz2 file, or a member of an archive."""

    def __init__(self, path: Path, open_bytes: Callable[[], BinaryIO]) -> None:
        super().__init__(path)
        self._open_bytes = open_bytes

    def binary(self) -> BinaryIO:
        """Open the decompressed bytes."""
        return self._open_bytes()


def open_input_file(path: Path) -> InputFile:
    """Return the input file of a path: plain, gzip or bz2."""
    if path.name.lower().endswith(".bz2"):
        return PackedInputFile(path, lambda: io.BufferedReader(bz2.BZ2File(path)))
    return InputFile(path)


def read_head(path: Path) -> str:
    """Return the first characters of a file, decompressed; invalid UTF-8 is replaced."""
    with path.open("rb") as plain:
        start = plain.read(3)
        plain.seek(0)
        stream: BinaryIO = plain
        if start[:2] == b"\x1f\x8b":
            stream = gzip.GzipFile(fileobj=plain)  # type: ignore[assignment]
        elif start == b"BZh":
            stream = bz2.BZ2File(plain)  # type: ignore[assignment]
        return stream.read(HEAD_BYTES).decode("utf-8-sig", "replace")


def normalize_licence(text: str) -> str:
    """Return a Creative Commons licence in the form "CC BY-NC", without version, and others unchanged.

    >>> normalize_licence("https://creativecommons.org/licenses/by-nc-sa/4.0/")
    'CC BY-NC-SA'
    """
    licence = _COMMONS.search(text) or _CC.search(text)
    if licence is None:
        return " ".join(text.split())
    if licence[1].lower() in ("zero", "0"):
        return "CC0"
    return "CC " + "-".join(re.split(r"[\s-]+", licence[1].upper()))


def build_paper(text: str, name: str) -> Paper:
    """Return a bare text as a paper; the first of several lines is its title."""
    first, _, rest = text.strip().partition("\n")
    return Paper(id=name, title=first, abstract=rest) if rest.strip() else Paper(id=name, abstract=first)


def build_document(paper: Paper, body: str = "", *, language: str = "", licence: str = "") -> Document:
    """Return the title and the abstract of a paper, and what follows them, as a document."""
    text = join_paragraphs(paper.title, paper.abstract, body)
    return Document(id=paper.id, text=text, paper=paper, language=language, licence=licence)


def join_paragraphs(*parts: str) -> str:
    """Join the parts that are not empty."""
    return PARAGRAPH_BREAK.join(filter(None, (part.strip() for part in parts)))
