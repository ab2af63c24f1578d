"""Stream rows of data files of any size: JSON lines, JSON, CSV, TSV and Parquet, also gzipped.

Every file is hashed while it is read, so a result can name the exact bytes that it was computed from.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from sciprism.drop_report import DropReport
from sciprism.errors import InputError

Row = dict[str, Any]

CHUNK = 1 << 20
MAX_VALUE_CHARACTERS = 1 << 28  # of one JSON value; a longer one is an unclosed quotation mark
BATCH_ROWS = 2048  # rows of a Parquet file converted to Python objects at once
_DECODER = json.JSONDecoder()
_MAX_CELL_CHARACTERS = 1 << 24  # lists of ids exceed the csv module's 128 KiB


class HashedFile(io.RawIOBase):
    """A file that computes its SHA-256 while it is read; `finish` reads the rest and returns the hash."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as error:
            raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
        self._hash = hashlib.sha256()

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer and hash its bytes."""
        count = self._file.readinto(buffer) or 0
        self._hash.update(memoryview(buffer)[:count])
        return count

    def finish(self) -> str:
        """Return the SHA-256 of the whole file, in hexadecimal, and close it."""
        while portion := self._file.read(CHUNK):
            self._hash.update(portion)
        self._file.close()
        return self._hash.hexdigest()


class DataFile:
    """A data file that is read once from its start; `finish` reads the rest and returns the hash."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
        self._raw = HashedFile(path)
        self._bytes = io.BufferedReader(cast(io.RawIOBase, self._raw), CHUNK)
        if self._bytes.peek(2)[:2] == b"\x1f\x8b":
            self._bytes = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=self._bytes)), CHUNK)

    def finish(self) -> str:
        """Return the SHA-256 of the whole file, in hexadecimal, and close it."""
        return self._raw.finish()

    def rows(self) -> Iterator[Row]:
        """Yield the objects or table rows of the file, as its ending says."""
        if self.kind == "parquet":
            yield from self._parquet()
        elif self.kind in ("csv", "tsv"):
            yield from self._table("," if self.kind == "csv" else "\t")
        else:
            yield from self._objects()

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number from 1, line without its end)."""
        for number, line in enumerate(self._text(), 1):
            yield number, line.rstrip("\r\n")

    def members(self) -> Iterator[tuple[str, Any]]:
        """Yield (key, value) of a file that is one object keyed by id."""
        walk = JsonStream(self.path, self._text())
        if walk.peek() != "{":
            raise InputError(f"{self.path}: expected one JSON object keyed by id")
        yield from walk.members()

    def _table(self, delimiter: str) -> Iterator[Row]:
        csv.field_size_limit(_MAX_CELL_CHARACTERS)
        reader = csv.DictReader(self._text(newline=""), delimiter=delimiter)
        for row in reader:
            if None in row:
                raise InputError(f"{self.path}, line {reader.line_num}: more fields than the header names")
            yield row

    def _objects(self) -> Iterator[Row]:
        if self._bytes.peek(CHUNK).removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"[":
            for number, value in enumerate(JsonStream(self.path, self._text()).items(), 1):
                yield self._object(value, f"item {number}")
            return
        for number, line in self.lines():
            if line and not line.isspace():
                try:
                    value = json.loads(line)
                except ValueError as error:
                    raise InputError(f"{self.path}, line {number}: not JSON ({error})") from None
                yield self._object(value, f"line {number}")

    def _text(self, newline: str | None = None) -> io.TextIOWrapper:
        return io.TextIOWrapper(self._bytes, encoding="utf-8-sig", newline=newline)

    def _object(self, value: Any, place: str) -> Row:
        if not isinstance(value, dict):
            raise InputError(f"{self.path}, {place}: expected an object, got {str(value)[:40]!r}")
        return value

    def _parquet(self) -> Iterator[Row]:
        import pyarrow.lib
        from pyarrow import parquet

        try:
            with parquet.ParquetFile(self.path) as table:
                for batch in table.iter_batches(batch_size=BATCH_ROWS):
                    yield from batch.to_pylist()
        except pyarrow.lib.ArrowException as error:
            raise InputError(f"{self.path}: not a whole Parquet file ({error}); download it again") from error


class JsonStream:
    """Parse a JSON list, or an object keyed by id, of any length; holds one value at a time.

    Raises InputError for a value of more than `MAX_VALUE_CHARACTERS` characters.
    """

    def __init__(self, path: Path, text: io.TextIOWrapper) -> None:
        self._path = path
        self._stream = text
        self._text = ""
        self._at = 0

    def peek(self) -> str:
        """Skip white space and return the next character, or an empty text at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_more():
                return ""

    def items(self) -> Iterator[Any]:
        """Yield the elements of the list that begins here."""
        self._expect("[")
        while self.peek() != "]":
            yield self._value()
            self._skip_comma("]")

    def members(self) -> Iterator[tuple[str, Any]]:
        """Yield the members of the object that begins here."""
        self._expect("{")
        while self.peek() != "}":
            key = self._value()
            self._expect(":")
            yield key, self._value()
            self._skip_comma("}")

    def _skip_comma(self, end: str) -> None:
        if self.peek() != end:
            self._expect(",")

    def _expect(self, mark: str) -> None:
        found = self.peek()
        if found != mark:
            raise self._broken(f"{mark!r} expected, {found!r} found" if found else "the file ends too early")
        self._at += 1

    def _value(self) -> Any:
        if not self.peek():
            raise self._broken("the file ends too early")
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except ValueError as error:
                if len(self._text) - self._at < MAX_VALUE_CHARACTERS and self._read_more():
                    continue
                raise self._broken(str(error)) from None
            if end < len(self._text) or not self._read_more():  # a number at the end may continue
                self._at = end
                return value

    def _read_more(self) -> bool:
        held = self._text[self._at :]
        portion = self._stream.read(max(CHUNK, len(held)))
        self._text, self._at = held + portion, 0
        return bool(portion)

    def _broken(self, reason: str) -> InputError:
        return InputError(f"{self._path}: not JSON near {self._text[self._at :][:40]!r}: {reason}")


_ID = re.compile(r"(?:.*[_-])?id|pid|clicked_pid|papers", re.IGNORECASE)


def as_id(value: Any) -> str:
    """Return an id as text: 17 and 17.0 as "17", None as an empty text."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


class IdConverter:
    """Convert the ids of rows to text; count ids whose type differs from the first one of their field."""

    def __init__(self, dropped: DropReport | None = None) -> None:
        self._dropped = dropped
        self._first: dict[str, type] = {}

    def row(self, row: Row) -> Row:
        """Return the row with every id field, also of nested objects, as text."""
        return {key: self._value(key, value) for key, value in row.items()}

    def _value(self, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return self.row(value)
        if isinstance(value, list):
            return [self._value(key, item) for item in value]
        if value is None or not _ID.fullmatch(key):
            return value
        kind = self._first.setdefault(key, type(value))
        if type(value) is not kind and self._dropped is not None:
            self._dropped.add(f"{key} of another type than the first, read as text", as_id(value))
        return as_id(value)
