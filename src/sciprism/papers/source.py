"""Open what a user holds: plain and gzip files, standard input, texts in any encoding."""

from __future__ import annotations

import gzip
import io
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

from sciprism.papers.records import Label, Paper


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be used: its place in the file (both counted from 1) and the reason."""

    number: int
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Choices of the user that only some readers need: `columns` maps our field names to a table's headers."""

    columns: Mapping[str, str] = field(default_factory=dict)


class Source:
    """One input file as its reader meets it; nothing is held in memory beyond a buffer."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """Return the file name without a closing `.gz`, lower-case: what suffixes are compared with."""
        name = self.path.name.lower()
        return name.removesuffix(".gz")

    def binary(self) -> BinaryIO:
        """Open the decompressed bytes."""
        raise NotImplementedError

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number from 1, line without its end) in whatever encoding the file has."""
        raise NotImplementedError


class PaperReader(Protocol):
    """Read one file format; stateless, registered in `paper_readers` under its name."""

    suffixes: tuple[str, ...]

    def recognises(self, head: str) -> bool:
        """Say whether the first few thousand characters of a file look like this format."""
        ...

    def read(self, source: Source, options: ReadOptions) -> Iterator[Paper | BadRecord]:
        """Yield every record in file order, the unusable ones as BadRecord; never raise for content."""
        ...


class LabelReader(Protocol):
    """Read one vocabulary format; stateless, registered in `label_readers` under its name."""

    suffixes: tuple[str, ...]

    def recognises(self, head: str) -> bool:
        """Say whether the first few thousand characters of a file look like this format."""
        ...

    def read(self, source: Source, options: ReadOptions) -> Iterator[Label | BadRecord]:
        """Yield every label in file order, the unusable ones as BadRecord; never raise for content."""
        ...
