"""Rows of data files, one by one whatever their size: JSON lines, JSON, CSV, TSV and Parquet, also gzipped.

Every file is hashed while it is read, so a result can say of which bytes it was made.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from sciprism.drop_report import DropReport
from sciprism.errors import InputError

Row = dict[str, Any]

CHUNK = 1 << 20
LARGEST = 1 << 28  # characters of one JSON value; more is no record but a quotation mark never closed
BATCH = 2048  # rows of a Parquet file turned into Python objects at once
_DECODER = json.JSONDecoder()
_FIELD = 1 << 24  # characters of one CSV field: lists of ids outgrow the module's 128 KiB


class HashedFile(io.RawIOBase):
    """Bytes of a file with the running SHA-256 of what was read; `finish` reads the rest and returns it."""

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
        """Fill the buffer and hash what came."""
        count = self._file.readinto(buffer) or 0
        self._hash.update(memoryview(buffer)[:count])
        return count

    def finish(self) -> str:
        """Return the SHA-256 of the whole file, in hexadecimal, and close it."""
        while portion := self._file.read(CHUNK):
            self._hash.update(portion)
        self._file.close()
        return self._hash.hexdigest()


class File:
    """One data file that is read once from its start; `digest` is there after `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kind = path.name.lower().removesuffix(".gz").rpartition(".")[2]
        self.digest = ""
        self._raw = HashedFile(path)
        self._bytes = io.BufferedReader(cast(io.RawIOBase, self._raw), CHUNK)
        if self._bytes.peek(2)[:2] == b"\x1f\x8b":
            self._bytes = io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=self._bytes)), CHUNK)

    def close(self) -> None:
        """Hash what was not read."""
        self.digest = self.digest or self._raw.finish()

    def rows(self) -> Iterator[Row]:
        """Yield the objects or table rows of the file, by its ending."""
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
        walk = JsonWalk(self.path, self._text())
        if walk.peek() != "{":
            raise InputError(f"{self.path}: expected one JSON object keyed by id")
        yield from walk.members()

    def _table(self, delimiter: str) -> Iterator[Row]:
        csv.field_size_limit(_FIELD)
        reader = csv.DictReader(self._text(newline=""), delimiter=delimiter)
        for row in reader:
            if None in row:
                raise InputError(f"{self.path}, line {reader.line_num}: more fields than the header names")
            yield row

    def _objects(self) -> Iterator[Row]:
        if self._bytes.peek(CHUNK).removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"[":
            for number, value in enumerate(JsonWalk(self.path, self._text()).items(), 1):
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
                for batch in table.iter_batches(batch_size=BATCH):
                    yield from batch.to_pylist()
        except pyarrow.lib.ArrowException as error:
            raise InputError(f"{self.path}: not a whole Parquet file ({error}); fetch it anew") from error


@contextmanager
def opened(path: Path) -> Iterator[File]:
    """Open a data file; afterwards its `digest` is there. What is damaged or no UTF-8 raises InputError."""
    file = File(path)
    try:
        yield file
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason}); save it as UTF-8") from None
    except csv.Error as error:
        raise InputError(f"{path}: not a table ({error}); check its quotes") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: the gzip file is damaged ({error}); fetch it anew") from None
    finally:
        file.close()


class JsonWalk:
    """Walk a JSON list, or an object keyed by id, of any length; one value at a time is held.

    A value of more than `LARGEST` characters is an error.
    """

    def __init__(self, path: Path, text: io.TextIOWrapper) -> None:
        self._path = path
        self._stream = text
        self._text = ""
        self._at = 0

    def peek(self) -> str:
        """Step over white space and return the next character, or an empty text at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in " \t\r\n":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def items(self) -> Iterator[Any]:
        """Yield the elements of the list that begins here."""
        self._take("[")
        while self.peek() != "]":
            yield self._value()
            self._separate("]")

    def members(self) -> Iterator[tuple[str, Any]]:
        """Yield the members of the object that begins here."""
        self._take("{")
        while self.peek() != "}":
            key = self._value()
            self._take(":")
            yield key, self._value()
            self._separate("}")

    def _separate(self, end: str) -> None:
        if self.peek() != end:
            self._take(",")

    def _take(self, mark: str) -> None:
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
                if len(self._text) - self._at < LARGEST and self._more():
                    continue
                raise self._broken(str(error)) from None
            if end < len(self._text) or not self._more():  # a number at the end may go on
                self._at = end
                return value

    def _more(self) -> bool:
        held = self._text[self._at :]
        portion = self._stream.read(max(CHUNK, len(held)))
        self._text, self._at = held + portion, 0
        return bool(portion)

    def _broken(self, reason: str) -> InputError:
        return InputError(f"{self._path}: not JSON near {self._text[self._at :][:40]!r}: {reason}")


_ID = re.compile(r"(?:.*[_-])?id|pid|clicked_pid|papers", re.IGNORECASE)


def as_id(value: Any) -> str:
    """Return an id as text: 17 and 17.0 as "17", nothing as an empty text."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


class TextIds:
    """Turn the ids of rows into texts; where one field holds several types, each that differs is counted."""

    def __init__(self, tally: DropReport | None = None) -> None:
        self._tally = tally
        self._first: dict[str, type] = {}

    def row(self, row: Row) -> Row:
        """Return the row with every `..._id` of it, and of the objects inside, as text."""
        return {key: self._value(key, value) for key, value in row.items()}

    def _value(self, key: str, value: Any) -> Any:
        if isinstance(value, dict):
            return self.row(value)
        if isinstance(value, list):
            return [self._value(key, item) for item in value]
        if value is None or not _ID.fullmatch(key):
            return value
        kind = self._first.setdefault(key, type(value))
        if type(value) is not kind and self._tally is not None:
            self._tally.add(f"{key} of another type than the first, read as text", as_id(value))
        return as_id(value)
