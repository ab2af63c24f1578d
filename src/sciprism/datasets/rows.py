"""Stream rows of data files of any size: JSON lines, JSON, CSV, TSV and Parquet, also gzipped."""

from __future__ import annotations

import io
import re
from collections.abc import Generator, Iterator
from typing import Any

from sciprism.errors import InputError
from sciprism.papers.input_file import InputFile
from sciprism.papers.rows import JsonLayout, parse_json

Row = dict[str, Any]

CHUNK = 1 << 20
_KEYED = JsonLayout(keyed=True)


class DataFile(InputFile):
    """A data file, whose text is as it is."""

    def members(self) -> Iterator[tuple[str, Any]]:
        """Yield each (id, record) of a JSON file that is one object, id -> record."""
        if not self.head().lstrip().startswith("{"):
            raise InputError(f"{self.path}: expected one JSON object keyed by id")
        for number, line, member, reason in parse_json(self, _KEYED):
            if not isinstance(member, tuple):
                raise InputError(f"{self.path}, record {number} (line {line}): {reason or 'not a member of an object'}")
            yield member

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number from 1, line without its end)."""
        for number, line in enumerate(self._decoded(), 1):
            yield number, line.rstrip("\r\n")

    def chunks(self, size: int = CHUNK) -> Generator[str, None, None]:
        """Yield the text in pieces."""
        text = self._decoded()
        yield from iter(lambda: text.read(size), "")

    def _decoded(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(self.binary(), encoding="utf-8-sig")


_ID = re.compile(r"(?:.*[_-])?id|pid|clicked_pid|papers", re.IGNORECASE)


def as_id(value: Any) -> str:
    """Return an id as text: 17 and 17.0 as "17", None as an empty text."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def convert_ids(row: Row) -> Row:
    """Return a row with every id field, also of nested objects, as text."""
    return {key: _convert(key, value) for key, value in row.items()}


def _convert(key: str, value: Any) -> Any:
    if isinstance(value, dict):
        return convert_ids(value)
    if isinstance(value, list):
        return [_convert(key, item) for item in value]
    return as_id(value) if value is not None and _ID.fullmatch(key) else value
