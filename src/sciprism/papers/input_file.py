"""An input file (plain, gzip, standard input, any text encoding): its bytes, its text, a copy of it.

Invalid bytes pass a UTF-8 decoder as lone surrogates (`errors="surrogateescape"`), so a file is decoded once, at full
speed, and only the lines with such bytes are decoded again, in the encoding that is guessed.
"""

from __future__ import annotations

import codecs
import gzip
import io
import re
import shutil
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO
from urllib.parse import unquote

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import HEAD, describe_wrong_file
from sciprism.limits import describe_excess, limit
from sciprism.papers.remote.objects import RemoteObject

_INVALID = re.compile("[\ud800-\udfff]")
_INVALID_RUN = re.compile("[\ud800-\udfff]+")
_NOT_ASCII = re.compile("[^\x00-\x7f\ud800-\udfff]")
_SAMPLE_BYTES = 1 << 16
_WESTERN = "cp1252"
_LATIN = [_WESTERN, "cp1250", "cp1254", "mac-roman"]
_OTHER_SCRIPTS = [*("cp1251", "koi8-r", "cp1253", "cp1255", "cp1256"), *("gb18030", "big5", "cp932", "euc-jp", "cp949")]
# Few accents fit several encodings about as well. Measured on 40 texts: a wrong one is up to 1.35 times as
# likely as cp1252, Czech or Polish names in cp1250 from 1.75 times.
_MARGIN = 1.5
# In other scripts most letters of a word are not ASCII; of a Latin word, mostly few are.
_DENSE_SHARE = 0.6
_MIN_DENSE = 4


def has_invalid_utf8(text: str) -> bool:
    """Say whether `text` holds bytes that are not UTF-8."""
    return not text.isascii() and _INVALID.search(text) is not None


def check_encoding(name: str) -> str:
    """Return the codec's name of an encoding of text. Raises InputError for an unknown one."""
    try:
        b"text".decode(name)
        return codecs.lookup(name).name
    except (LookupError, UnicodeError, ValueError):
        raise InputError(f"unknown encoding {name!r}; for example: utf-8, cp1252, cp1250, gb18030") from None


def guess_encoding(texts: Iterable[str]) -> str:
    """Return the likely encoding of the invalid bytes in `texts`; cp1252 where others are hardly more likely."""
    from chardet import detect_all

    # Only the words concerned: the English around them says nothing about accents.
    words = (word for text in texts for word in text.split() if has_invalid_utf8(word))
    encoded = (f"{word}\n".encode("utf-8", "surrogateescape") for word in words)
    sample = bytes(islice(chain.from_iterable(encoded), _SAMPLE_BYTES))
    foreign = sum(byte > 0x7F for byte in sample)
    letters = sum(byte > 0x7F or chr(byte).isalpha() for byte in sample)
    candidates = _OTHER_SCRIPTS + _LATIN if foreign >= _MIN_DENSE and foreign > _DENSE_SHARE * letters else _LATIN
    guesses = detect_all(sample, ignore_threshold=True, include_encodings=candidates, compat_names=False)
    likely = {name: guess["confidence"] for guess in guesses if (name := guess["encoding"])}
    if not likely:
        return _WESTERN
    best = max(likely, key=lambda name: likely[name])
    return best if likely[best] > _MARGIN * likely.get(_WESTERN, 0.0) else _WESTERN


def replace_damage(text: str) -> tuple[str, int]:
    """Replace each run of invalid bytes by U+FFFD; return the text and the number of runs."""
    return _INVALID_RUN.subn("\ufffd", text)


def redecode(text: str, encoding: str) -> str:
    """Decode the bytes of `text` in `encoding`; what it lacks becomes U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode(encoding, "replace")


class SealedFile:
    """A file that somebody else sent: its name, size and bytes, and no way to any other file or address.

    What it names, or lies next to it, is not opened, and nothing in it is unpacked but a workbook.
    """

    def __init__(self, path: Path) -> None:
        self.name, self.is_file, self.stat, self.open = path.name, path.is_file, path.stat, path.open
        self._shown = str(path)

    def __str__(self) -> str:
        return self._shown

    def check(self, start: bytes) -> None:
        """Raise InputError for a file that would have to be unpacked, or is a database. start: its first bytes."""
        if start.startswith(PACKED):
            raise InputError(f"{self} is compressed or a database; send a text file or a workbook")


FilePath = Path | RemoteObject | SealedFile

PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"SQLite format 3", b"PAR1")
"""First bytes of files that may grow when they are read, or that are databases."""
HEAD_BYTES = 1 << 16  # bytes of a file that readers see before one is chosen
_RATIO_BYTES = 1 << 24  # bytes of which the ratio of unpacked to packed ones is limited
_LOOK_AHEAD = 1 << 18
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8"),
)
# Zip (Excel, OpenDocument), the container of .xls, SQLite, Parquet: not text, so no encoding is guessed.
_BINARY_MARKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"SQLite format 3\x00", b"PAR1")
_FOLDER_COLUMN = re.compile(r"([^=]+)=(.*)")
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"  # what Hive, Spark and Arrow write for an empty cell
_SPACING_CONTROL = re.compile("[\x0b\x0c\x1c-\x1f\x85]")
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x9f\ufeff\ufffe]")
# Control characters and invalid bytes in one pattern: every line is searched only once.
_SUSPECT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe]")


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that cannot be used: its number and line in the file (from 1), and the reason."""

    number: int
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How files are read.

    columns: our field -> the header of a table's column. ids_per_file: put the name of the file before each id, as row
    numbers recur from file to file; ids derived from a DOI or the text stay as they are. required_column: the field
    that a table must have. encoding: of all text files without a byte order mark; "" for UTF-8 or a guess. language: of
    the names of a vocabulary that has several, such as "de"; "" for English.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    ids_per_file: bool = False
    required_column: str = "title"
    encoding: str = ""
    language: str = ""

    def __post_init__(self) -> None:
        _ = self.encoding and check_encoding(self.encoding)


class InputFile:
    """One input file, as its reader sees it; only a buffer is held in memory.

    path: `Path("-")` is standard input; it and pipes can be read once. encoding: decodes the text, unless the file has
    a byte order mark; "" for UTF-8 or a guess. part: the part to read (`zotero.sqlite#PART`, a sheet); "" for the
    reader's choice. deletes: the records are papers that their data set has deleted.
    """

    def __init__(self, path: FilePath, *, encoding: str = "", part: str = "", deletes: bool = False) -> None:
        self.path: FilePath = path
        self.name = path.name.lower().removesuffix(".gz")  # suffixes are compared with it
        self.full_name = f"{path}#{part}" if part else str(path)  # of places and reports
        self.part, self.deletes = part, deletes
        self.listed_records: int | None = None  # their number in the manifest
        self.chosen_encoding = check_encoding(encoding) if encoding else ""
        # What reading the text finds:
        self.encoding = ""  # of a text that is not UTF-8
        self.guessed = False  # whether that is a guess
        self.redecoded_lines = 0  # lines that are not UTF-8
        self.damaged_characters = 0  # replaced by U+FFFD
        self.removed_characters = 0  # control characters
        # What readers say:
        self.record_line: int | None = None  # in which the latest record begins
        self.record_version: int | None = None  # of the latest record, from 2 (`Place`)
        self.omitted = Counter[str]()  # what is not a paper ("attachment")
        self.noticed: DropReport | None = None  # papers by `Paper.notice`, where there is one
        self.unread_sheets: tuple[str, ...] = ()  # sheets of a workbook that are not empty
        self.unread_columns: tuple[str, ...] = ()  # headers of a table
        self.remarks: list[str] = []  # what else was left out
        self._pending: BinaryIO | None = None  # a pipe that head() opened and nobody has read yet
        self._head: bytes | None = None

    @property
    def folder_columns(self) -> dict[str, str]:
        """Return the columns that the names of its folders hold, column -> value (`year=2019/part-0.parquet`)."""
        pairs = (_FOLDER_COLUMN.fullmatch(folder) for folder in re.split(r"[/\\]", str(self.path))[:-1])
        columns = {unquote(pair[1]): unquote(pair[2]) for pair in pairs if pair}
        return {name: value for name, value in columns.items() if value != _NO_VALUE}

    def locate(self, number: int, line: int | None) -> str:
        """Name a record by its first line, else by its number."""
        return f"{self.path.name}, record {number}" if line is None else f"{self.path.name}, line {line}"

    def head(self) -> str:
        """Return the first `HEAD_BYTES` bytes as text; later reads still begin at the start."""
        if self._head is None:
            stream = self._open()
            self._head = stream.read(HEAD_BYTES)
            if self.path.is_file():
                stream.close()
            else:
                self._pending = stream
        if self._head.startswith(_BINARY_MARKS):
            return self._head.decode("latin-1")
        text = self._open_text(io.BytesIO(self._head), self._head).read()
        if _SUSPECT.search(text) and has_invalid_utf8(text):
            damaged = self._is_damaged(text)
            text = replace_damage(text)[0] if damaged else redecode(text, guess_encoding([text]))
        return text.removeprefix("\ufeff")

    def wrong_kind(self, *, binary: bool) -> str:
        """Return what the file is that holds no records, such as an HTML page; binary: it need not be text."""
        self.head()
        return describe_wrong_file((self._head or b"")[:HEAD], binary=binary)

    def binary(self) -> BinaryIO:
        """Open the decompressed bytes; a damaged gzip file raises InputError while it is read."""
        if self._pending is None:
            return self._open()
        pending, self._pending = self._pending, None
        return io.BufferedReader(_CheckedStream(str(self.path), pending, start=self._head or b""))

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number from 1, line without its end), whatever the file's encoding.

        Every kind of line end counts; control characters other than tab are removed.
        """
        with self.binary() as stream:
            text = self._text(stream)
            most, most_blank, blank = limit("line"), limit("blank"), 0
            lines = self._decode(iter(lambda: text.readline(most), ""), lambda: text.readlines(_LOOK_AHEAD))
            for number, line in enumerate(lines, 1):
                if len(line) == most:
                    raise InputError(f"{self.path}, line {number}: {describe_excess('line')}")
                blank = blank + 1 if line.isspace() else 0
                if blank > most_blank:
                    raise InputError(f"{self.path}, line {number}: {describe_excess('blank')}")
                yield number, line.removesuffix("\n")

    def chunks(self, size: int = 1 << 20) -> Generator[str, None, None]:
        """Yield the same text in pieces of at most `size` characters, line ends as `\\n`."""
        with self.binary() as stream:
            text = self._text(stream)
            yield from self._decode(iter(lambda: text.read(size), ""), list)

    def _open(self) -> BinaryIO:
        if str(self.path) == "-":
            packed = _CheckedStream("standard input", sys.stdin.buffer)
        else:
            try:
                file: io.RawIOBase = self.path.open("rb", buffering=0)  # raw: closing the stream around it closes it
            except OSError as error:
                raise InputError(f"{self.path}: cannot be opened: {error.strerror}") from error
            packed = _CheckedStream(str(self.path), file)
        plain = io.BufferedReader(packed, HEAD_BYTES)
        if isinstance(self.path, SealedFile):
            self.path.check(plain.peek(HEAD)[:HEAD])
        if plain.peek(2)[:2] != b"\x1f\x8b":
            return plain
        unpacked = _CheckedStream(str(self.path), gzip.GzipFile(fileobj=plain), below=plain, packed=packed)
        return io.BufferedReader(unpacked, HEAD_BYTES)

    def _text(self, stream: BinaryIO) -> io.TextIOWrapper:
        start = stream.peek(4) if isinstance(stream, io.BufferedReader) else b""
        text = self._open_text(stream, start)
        if text.encoding != "utf-8":
            self.encoding = text.encoding
        return text

    def _open_text(self, stream: BinaryIO, start: bytes) -> io.TextIOWrapper:
        """Decode by the byte order mark or as chosen, else as UTF-8 that keeps invalid bytes as lone surrogates."""
        encoding = next((name for mark, name in _BYTE_ORDER_MARKS if start.startswith(mark)), self.chosen_encoding)
        errors = "surrogateescape" if encoding in ("", "utf-8") else "replace"
        return io.TextIOWrapper(stream, encoding=encoding or "utf-8", errors=errors)

    def _decode(self, pieces: Iterable[str], look_ahead: Callable[[], list[str]]) -> Iterator[str]:
        for number, piece in enumerate(pieces):
            piece = piece if number else piece.removeprefix("\ufeff")
            if self.encoding == self.chosen_encoding != "":
                self.damaged_characters += piece.count("\ufffd")
            if _SUSPECT.search(piece) is None:
                yield piece
                continue
            ahead = [piece]
            if not self.encoding and has_invalid_utf8(piece) and not self._is_damaged(piece):
                # One line seldom identifies an encoding: use the lines that follow too.
                ahead += look_ahead()
                self.encoding, self.guessed = guess_encoding(ahead), True
            yield from map(self._repair, ahead)

    def _is_damaged(self, text: str) -> bool:
        """Say whether a text with invalid bytes is UTF-8 all the same: most of its other characters are valid."""
        valid, invalid = len(_NOT_ASCII.findall(text)), len(_INVALID.findall(text))
        return self.chosen_encoding == "utf-8" or valid > invalid

    def _repair(self, text: str) -> str:
        if has_invalid_utf8(text) and self._is_damaged(text):
            text, damaged = replace_damage(text)
            self.damaged_characters += damaged
        elif has_invalid_utf8(text):
            text = redecode(text, self.encoding)
            self.redecoded_lines += 1
        text = _SPACING_CONTROL.sub(" ", text)
        text, removed = _CONTROL.subn("", text)
        self.removed_characters += removed
        return text


class _CheckedStream(io.RawIOBase):
    """The bytes of `start`, then of `stream`; a read or decompression error is an InputError.

    below: is closed with the stream. packed: the bytes that the stream
    unpacks, which may not be far fewer.
    """

    def __init__(
        self,
        name: str,
        stream: Any,
        *,
        start: bytes = b"",
        below: BinaryIO | None = None,
        packed: _CheckedStream | None = None,
    ) -> None:
        super().__init__()
        self._packed, self._checked, self._count = packed, (0, 0), 0
        self._name, self._stream, self._start, self._below = name, stream, start, below

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._start:
            count = min(len(buffer), len(self._start))
            buffer[:count] = self._start[:count]
            self._start = self._start[count:]
            return count
        try:
            count = self._stream.readinto(buffer) or 0
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise InputError(
                f"{self._name}: the gzip file is truncated or damaged ({error}); fetch or compress it again"
            ) from error
        except OSError as error:
            raise InputError(f"{self._name}: cannot be read: {error.strerror or error}") from error
        self._count += count
        if self._packed is not None and self._count - self._checked[0] > _RATIO_BYTES:
            before, self._checked = self._checked, (self._count, self._packed._count)
            if self._count - before[0] > limit("ratio") * (self._packed._count - before[1]):
                raise InputError(f"{self._name}: it unpacks to {describe_excess('ratio')}")
        return count

    def close(self) -> None:
        if not self.closed and self._stream is not getattr(sys.stdin, "buffer", None):
            self._stream.close()
            if self._below is not None:
                self._below.close()
        super().close()


@contextmanager
def copy_file(file: InputFile, side_suffixes: tuple[str, ...] = ()) -> Iterator[Path]:
    """Copy the decompressed bytes of a file, and the files next to it with these suffixes; removed at the end."""
    with TemporaryDirectory(prefix="sciprism-") as folder:
        copy = Path(folder) / "copy"
        try:
            with file.binary() as source, copy.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            for suffix in side_suffixes if isinstance(file.path, Path) else ():
                if (side := Path(f"{file.path}{suffix}")).is_file():
                    shutil.copyfile(side, f"{copy}{suffix}")
        except OSError as error:
            advice = f"{copy.parent.parent} needs the room of the file; set TMPDIR to another folder"
            raise OSError(f"{file.path} cannot be copied: {error.strerror or error}; {advice}") from error
        yield copy
