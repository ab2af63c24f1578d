"""Build records from JSON objects whose shape was not ours to choose."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sciprism.papers.json_values import json_values
from sciprism.papers.notations import find_year
from sciprism.papers.source import BadRecord, ReadOptions, Source

T = TypeVar("T")
Row = Mapping[str, Any]

_LONGEST_REASON = 300  # characters; a reason quotes the value, and that may be a whole book


@dataclass(slots=True)
class JsonReader(Generic[T]):
    """Read a format of JSON objects: `marks` all occur in a file of it, `foreign` never.

    `build` makes a record of an object; where it raises ValueError, its message is the reason of a BadRecord.
    """

    marks: tuple[re.Pattern[str], ...]
    build: Callable[[Row], T]
    suffixes: tuple[str, ...] = (".jsonl", ".json", ".ndjson")
    foreign: re.Pattern[str] | None = None

    def recognises(self, head: str) -> bool:
        """Say whether the head bears every mark and none that is foreign."""
        if head.lstrip()[:1] not in ("{", "[") or (self.foreign and self.foreign.search(head)):
            return False
        return all(mark.search(head) for mark in self.marks)

    def read(self, source: Source, options: ReadOptions) -> Iterator[T | BadRecord]:  # noqa: ARG002 (protocol)
        """Yield a record for every object of the file."""
        for number, line, value, reason in json_values(source):
            if reason:
                yield BadRecord(number, line, reason)
            elif not isinstance(value, dict):
                yield BadRecord(number, line, f"{value!r} is not an object"[:_LONGEST_REASON])
            else:
                try:
                    record = self.build(value)
                except ValueError as error:
                    yield BadRecord(number, line, str(error)[:_LONGEST_REASON])
                else:
                    yield record


def inside(value: Any, *keys: str) -> Any:
    """Return what stands at the end of a path of keys, or None where the path breaks off."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def first(row: Row, *keys: str) -> Any:
    """Return the first value among `keys` that is there and not empty, or None."""
    return next((row[key] for key in keys if row.get(key) not in (None, "", [], {})), None)


def names(value: Any, *keys: str) -> tuple[str, ...]:
    """Return the texts of a list; of its objects, what the first of `keys` that is filled holds.

    A lone text is a list of one. Empty items go, repeated ones too; anything else raises ValueError.
    """
    if value is None:
        return ()
    found: dict[str, None] = {}
    for item in value if isinstance(value, list) else [value]:
        name = first(item, *keys) if isinstance(item, Mapping) else item
        if isinstance(name, bool) or not isinstance(name, str | int | float | None):
            raise ValueError(f"{name!r} stands in a list of texts")
        if name not in (None, ""):
            found[str(name)] = None
    return tuple(found)


def year_in(value: Any) -> int | None:
    """Return the year that a number is or that a text such as `2007-04-02` begins with, or None."""
    if isinstance(value, int | float) and abs(value) < 10_000:
        return int(value)
    return find_year(value) if isinstance(value, str) else None
