"""Documents to train on, their files, and what their readers share."""

from __future__ import annotations

import bz2
import gzip
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from sciprism.drop_report import DropReport
from sciprism.papers.input_file import HEAD_BYTES, InputFile
from sciprism.papers.json_rows import NOT_READ
from sciprism.papers.records import Paper

PARAGRAPH_BREAK = "\n\n"
"""Separates the title and the paragraphs of a text; no sentence crosses it."""

NOT_UTF8 = "file that is not valid UTF-8, still read"

_COMMONS = re.compile(r"creativecommons\.org/(?:licen[sc]es|publicdomain)/([a-z-]+)", re.IGNORECASE)
_CC = re.compile(r"(?:cc|creative commons)[\s-]*(0|by(?:[\s-]+(?:nc|nd|sa))*)(?![a-z])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text with its metadata; unknown metadata are empty.

    language: a code (`en`) or a name (`English`). licence: in the form of `normalise_licence`. paper: title
    and ids, to recognise papers of tests.
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


class DocumentReader(Protocol):
    """Read one kind of file; stateless, registered in `document_readers` under its name."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Return the suffixes of file names, without .gz and .bz2."""
        ...

    def recognises(self, head: str) -> bool:
        """Say whether the decompressed beginning of a file with such a suffix looks like this kind."""
        ...

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield the documents in file order; count unusable records by reason; never raise for content.

        A truncated file raises InputError or OSError at its end.
        """
        ...


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


def normalise_licence(text: str) -> str:
    """Return a Creative Commons licence in the form "CC BY-NC", without version, and others unchanged.

    >>> normalise_licence("https://creativecommons.org/licenses/by-nc-sa/4.0/")
    'CC BY-NC-SA'
    """
    found = _COMMONS.search(text) or _CC.search(text)
    if found is None:
        return " ".join(text.split())
    if found[1].lower() in ("zero", "0"):
        return "CC0"
    return "CC " + "-".join(re.split(r"[\s-]+", found[1].upper()))


def build_paper(text: str, name: str) -> Paper:
    """Return a bare text as a paper; the first of several lines is its title."""
    first, _, rest = text.strip().partition("\n")
    return Paper(id=name, title=first, abstract=rest) if rest.strip() else Paper(id=name, abstract=first)


def join_paragraphs(*parts: str) -> str:
    """Join the parts that are not empty."""
    return PARAGRAPH_BREAK.join(filter(None, (part.strip() for part in parts)))
