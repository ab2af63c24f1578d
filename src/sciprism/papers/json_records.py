"""Build records from the JSON objects of other systems."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sciprism.drop_report import DropReport
from sciprism.papers.bibliographic_fields import find_year
from sciprism.papers.input_file import NOT_WANTED, BadRecord, InputFile, ReadOptions
from sciprism.papers.json_values import JsonLayout, read_json_values

T = TypeVar("T")
JsonObject = Mapping[str, Any]

KEYED_RECORDS = r'\A\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{[^{}]*"(?:title|abstract)"\s*:'
"""Pattern of the head of one object, id -> record with a title or an abstract."""
NOT_READ = "record that cannot be read"
MAX_REASON_CHARS = 300
"""Characters of a reason: it quotes the value, which may be a whole book."""


@dataclass(slots=True)
class JsonReader(Generic[T]):
    """Read a format of JSON objects, recognised by patterns: all of `required`, and not `excluded`.

    `build` makes a record of an object; the message of its ValueError is the reason of a BadRecord.
    find_omission: says what an object is that is no record ("reply"), else ""; such objects are counted. find_notice:
    says what is counted of an object that is a record ("withdrawn paper"), else "".
    """

    required: tuple[re.Pattern[str], ...]
    build: Callable[[JsonObject], T]
    suffixes: tuple[str, ...] = (".jsonl", ".json", ".ndjson")
    excluded: re.Pattern[str] | None = None
    layout: JsonLayout = field(default_factory=JsonLayout)
    find_omission: Callable[[JsonObject], str] | None = None
    find_notice: Callable[[JsonObject], str] | None = None

    def recognises(self, head: str) -> bool:
        """Say whether the head has every required pattern and not the excluded one."""
        if head.lstrip()[:1] not in ("{", "[") or (self.excluded and self.excluded.search(head)):
            return False
        return all(pattern.search(head) for pattern in self.required)

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[T | BadRecord]:  # noqa: ARG002 (protocol)
        """Yield a record for every object of the file."""
        wanted = None if self.find_omission else file.wanted  # an omitted object has no number
        for number, line, value, reason in read_json_values(file, self.layout):
            if wanted and not wanted(number):
                yield NOT_WANTED
                continue
            try:
                if reason or not isinstance(value, dict):
                    raise ValueError(reason or f"{value!r} is not an object")
                if self.find_omission and (omission := self.find_omission(value)):
                    file.omitted[omission] += 1
                    continue
                record = self.build(value)
                if self.find_notice and (notice := self.find_notice(value)):
                    file.noticed[notice] += 1
                yield record
            except ValueError as error:
                yield BadRecord(number, line, str(error)[:MAX_REASON_CHARS])


def read_json_objects(file: InputFile, dropped: DropReport) -> Iterator[tuple[str, JsonObject]]:
    """Yield (location, object) of every record of a file; other values are counted in `dropped`."""
    for number, line, value, reason in read_json_values(file):
        location = file.locate(number, line)
        if isinstance(value, dict):
            yield location, value
        else:
            dropped.add(NOT_READ, f"{location}: {reason or 'not an object'}"[:MAX_REASON_CHARS])


def get_path(value: Any, *keys: str) -> Any:
    """Return the value at the end of a path of keys, or None where a key is missing."""
    for key in keys:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def get_first(row: JsonObject, *keys: str) -> Any:
    """Return the first value among `keys` that is not empty, or None."""
    return next((row[key] for key in keys if row.get(key) not in (None, "", [], {})), None)


def list_texts(value: Any, *keys: str) -> tuple[str, ...]:
    """Return the texts of a list; of an object in it, the first value of `keys` that is not empty.

    A single text is a list of one. Empty and repeated items are dropped; other types raise ValueError.
    """
    if value is None:
        return ()
    found: dict[str, None] = {}
    for item in value if isinstance(value, list) else [value]:
        name = get_first(item, *keys) if isinstance(item, Mapping) else item
        if isinstance(name, bool) or not isinstance(name, str | int | float | None):
            raise ValueError(f"{name!r} in a list of texts is not a text")
        if name not in (None, ""):
            found[str(name)] = None
    return tuple(found)


def parse_year(value: Any) -> int | None:
    """Return the year in a number or in a text such as `2007-04-02`, or None."""
    if isinstance(value, int | float) and abs(value) < 10_000:
        return int(value)
    return find_year(value) if isinstance(value, str) else None
