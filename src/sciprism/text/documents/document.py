"""A document to train on, the files that documents come in, and what their readers share."""

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
from sciprism.papers.records import Paper
from sciprism.papers.source import HEAD, Source

BETWEEN = "\n\n"
"""What stands between the title and the paragraphs of a text: no sentence runs across it."""

NOT_READ = "record that cannot be read"
NOT_UTF8 = "file that is not clean UTF-8, read all the same"

_COMMONS = re.compile(r"creativecommons\.org/(?:licen[sc]es|publicdomain)/([a-z-]+)", re.IGNORECASE)
_CC = re.compile(r"(?:cc|creative commons)[\s-]*(0|by(?:[\s-]+(?:nc|nd|sa))*)(?![a-z])", re.IGNORECASE)
_ZERO = ("zero", "0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One text with what its source states of it; empty where it states nothing.

    language: a code (`en`) or a name (`English`). licence: in the form of `plain_licence`. paper: title and
    ids, by which tests know it.
    """

    id: str
    text: str
    paper: Paper
    language: str = ""
    licence: str = ""


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A file as its reader meets it.

    columns: of rows, where the text stands. dropped: what cannot be used, by reason.
    """

    source: Source
    columns: tuple[str, ...] = ()
    dropped: DropReport = field(default_factory=DropReport)

    @property
    def path(self) -> Path:
        """Return where the file is."""
        return self.source.path

    def noted(self, note: str) -> None:
        """Count the file as one whose bytes had to be mended, with a note how; nothing for no note."""
        if note:
            self.dropped.add(NOT_UTF8, f"{self.path}: {note}")

    def place(self, number: int, line: int | None) -> str:
        """Name a record by the line it begins in, else by its number."""
        return f"{self.path.name}, record {number}" if line is None else f"{self.path.name}, line {line}"


class DocumentReader(Protocol):
    """Read one kind of file; stateless, registered in `document_readers` under its name."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Return the ends of file names, without .gz and .bz2."""
        ...

    def recognises(self, head: str) -> bool:
        """Say whether the decompressed beginning of a file with such a suffix looks like this kind."""
        ...

    def read(self, file: DocumentFile) -> Iterator[Document]:
        """Yield the documents in file order; count the unusable records by reason; never raise for content.

        A file that breaks off raises InputError or OSError where it does.
        """
        ...


class PackedSource(Source):
    """A source whose bytes something else opens: a bz2 file, or a member of an archive."""

    def __init__(self, path: Path, opened: Callable[[], BinaryIO]) -> None:
        super().__init__(path)
        self._opened = opened

    def binary(self) -> BinaryIO:
        """Open the decompressed bytes."""
        return self._opened()


def open_source(path: Path) -> Source:
    """Return the source of a file: plain, gzip or bz2."""
    if path.name.lower().endswith(".bz2"):
        return PackedSource(path, lambda: io.BufferedReader(bz2.BZ2File(path)))
    return Source(path)


def head_of(path: Path) -> str:
    """Return the beginning of a file, decompressed; what is not UTF-8 is replaced."""
    with path.open("rb") as plain:
        start = plain.read(3)
        plain.seek(0)
        stream: BinaryIO = plain
        if start[:2] == b"\x1f\x8b":
            stream = gzip.GzipFile(fileobj=plain)  # type: ignore[assignment]
        elif start == b"BZh":
            stream = bz2.BZ2File(plain)  # type: ignore[assignment]
        return stream.read(HEAD).decode("utf-8-sig", "replace")


def plain_licence(text: str) -> str:
    """Bring a Creative Commons licence into the form "CC BY-NC", without version; others stay as they are.

    >>> plain_licence("https://creativecommons.org/licenses/by-nc-sa/4.0/")
    'CC BY-NC-SA'
    """
    found = _COMMONS.search(text) or _CC.search(text)
    if found is None:
        return " ".join(text.split())
    if found[1].lower() in _ZERO:
        return "CC0"
    return "CC " + "-".join(re.split(r"[\s-]+", found[1].upper()))


def titled(text: str, name: str) -> Paper:
    """Return what is known of a bare text: its first line for a title, if there are more."""
    first, _, rest = text.strip().partition("\n")
    return Paper(id=name, title=first, abstract=rest) if rest.strip() else Paper(id=name, abstract=first)


def joined(*parts: str) -> str:
    """Join the parts that are not empty."""
    return BETWEEN.join(filter(None, (part.strip() for part in parts)))
