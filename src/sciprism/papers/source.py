"""Open what a user holds: plain and gzip files, standard input, texts in any encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from sciprism.errors import InputError
from sciprism.papers.encodings import (
    decode_anew,
    guess_encoding,
    is_damaged_utf8,
    not_utf8,
    replace_damage,
)
from sciprism.papers.records import Label, Paper

HEAD = 1 << 16
"""Bytes of a file that readers see before one is chosen."""

_LOOK_AHEAD = 1 << 18
_WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins like that one's
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SPACING_CONTROL = re.compile("[\x0b\x0c\x1c-\x1f\x85]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x9f\ufeff\ufffe]")
# Control characters and foreign bytes in one pattern: the one look that every line gets.
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe]")


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be used: its place in the file (both counted from 1) and the reason."""

    number: int
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Choices that only some readers need: `columns` maps our field names to a table's headers."""

    columns: Mapping[str, str] = field(default_factory=dict)


class Source:
    """One input file as its reader meets it; nothing is held in memory beyond a buffer.

    `Path("-")` is standard input; it and pipes can be read once. After reading, `encoding` names what was
    used where the text was not UTF-8 (else empty), `foreign_lines` counts the lines that needed it,
    `damaged_characters` those that are now U+FFFD and `removed_characters` the control characters taken
    out. `record_line` is set by readers that know it: where the record yielded last begins.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.encoding = ""
        self.foreign_lines = 0
        self.damaged_characters = 0
        self.removed_characters = 0
        self.record_line: int | None = None
        self._waiting: BinaryIO | None = None  # a pipe, opened by head() and not yet read
        self._head: bytes | None = None

    @property
    def name(self) -> str:
        """Return the file name without a closing `.gz`, lower-case: what suffixes are compared with."""
        name = self.path.name.lower()
        return name.removesuffix(".gz")

    def head(self) -> str:
        """Return the first `HEAD` bytes as text; what is read afterwards still begins at the start."""
        if self._head is None:
            stream = self._open()
            self._head = _read_up_to(stream, HEAD)
            if self.path.is_file():
                stream.close()
            else:
                self._waiting = stream
        text = _as_text(io.BytesIO(self._head), self._head).read()
        if not_utf8(text):
            whole = not is_damaged_utf8(text)
            text = decode_anew(text, guess_encoding([text])) if whole else replace_damage(text)[0]
        return text.removeprefix("\ufeff")

    def binary(self) -> BinaryIO:
        """Open the decompressed bytes; a damaged gzip file raises InputError while it is read."""
        if self._waiting is None:
            return self._open()
        waiting, self._waiting = self._waiting, None
        return io.BufferedReader(_Guarded(str(self.path), waiting, start=self._head or b""))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number from 1, line without its end) in whatever encoding the file has.

        Every kind of line end counts; control characters other than tab are gone.
        """
        with self.binary() as stream:
            text = self._text(stream)
            lines = self._decoded(text, lambda: text.readlines(_LOOK_AHEAD))
            for number, line in enumerate(lines, 1):
                yield number, line.removesuffix("\n")

    def chunks(self, size: int = 1 << 20) -> Iterator[str]:
        """Yield the same text in pieces of at most `size` characters, line ends as `\\n`."""
        with self.binary() as stream:
            text = self._text(stream)
            yield from self._decoded(iter(lambda: text.read(size), ""), list)

    def _open(self) -> BinaryIO:
        if str(self.path) == "-":
            plain = io.BufferedReader(_Guarded("standard input", sys.stdin.buffer))
        else:
            try:
                # A raw file: closing the guard closes it.
                plain = io.BufferedReader(_Guarded(str(self.path), self.path.open("rb", buffering=0)), HEAD)
            except OSError as error:
                raise InputError(f"{self.path}: cannot be opened: {error.strerror}") from error
        if plain.peek(2)[:2] != b"\x1f\x8b":
            return plain
        return io.BufferedReader(_Guarded(str(self.path), gzip.GzipFile(fileobj=plain), below=plain), HEAD)

    def _text(self, stream: BinaryIO) -> io.TextIOWrapper:
        start = stream.peek(4) if isinstance(stream, io.BufferedReader) else b""
        text = _as_text(stream, start)
        if text.encoding != "utf-8":
            self.encoding = text.encoding
        return text

    def _decoded(self, pieces: Iterable[str], look_ahead: Callable[[], list[str]]) -> Iterator[str]:
        first = True
        for piece in pieces:
            if first:
                piece, first = piece.removeprefix("\ufeff"), False
            if _ODD.search(piece) is None:
                yield piece
                continue
            ahead = [piece]
            if not self.encoding and not_utf8(piece) and not is_damaged_utf8(piece):
                # One line seldom tells one encoding from another: judge by the lines that follow too.
                ahead += look_ahead()
                self.encoding = guess_encoding(ahead)
            for item in ahead:
                yield self._mended(item)

    def _mended(self, text: str) -> str:
        if not_utf8(text) and is_damaged_utf8(text):
            text, damaged = replace_damage(text)
            self.damaged_characters += damaged
        elif not_utf8(text):
            text = decode_anew(text, self.encoding)
            self.foreign_lines += 1
        text = _SPACING_CONTROL.sub(" ", text)
        text, removed = _CONTROL.subn("", text)
        self.removed_characters += removed
        return text


class _Guarded(io.RawIOBase):
    """Bytes of `start`, then of `stream`; what cannot be decompressed or read is an InputError."""

    def __init__(self, name: str, stream: Any, *, start: bytes = b"", below: BinaryIO | None = None) -> None:
        super().__init__()
        self._name = name
        self._stream = stream
        self._start = start
        self._below = below

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._start:
            taken = min(len(buffer), len(self._start))
            buffer[:taken] = self._start[:taken]
            self._start = self._start[taken:]
            return taken
        try:
            return self._stream.readinto(buffer) or 0
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"{self._name}: the gzip file is truncated or damaged ({error}); fetch or pack it anew"
            ) from error
        except OSError as error:
            raise InputError(f"{self._name}: cannot be read: {error.strerror or error}") from error

    def close(self) -> None:
        if not self.closed and self._stream is not getattr(sys.stdin, "buffer", None):
            self._stream.close()
            if self._below is not None:
                self._below.close()
        super().close()


def _as_text(stream: BinaryIO, start: bytes) -> io.TextIOWrapper:
    """Decode as a wide byte order mark says, else as UTF-8 that keeps foreign bytes as lone surrogates."""
    for mark, encoding in _WIDE_MARKS:
        if start.startswith(mark):
            return io.TextIOWrapper(stream, encoding=encoding, errors="replace")
    return io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape")


def _read_up_to(stream: BinaryIO, size: int) -> bytes:
    """Read until `size` bytes or the end; a pipe may give them in many small portions."""
    portions: list[bytes] = []
    while size > 0 and (portion := stream.read(size)):
        portions.append(portion)
        size -= len(portion)
    return b"".join(portions)


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
