"""What a file format is, and the registries of the formats of papers and of vocabularies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.records import Deletion, Label, Paper
from sciprism.papers.rows import ANY_LAYOUT, MAX_REASON_CHARS, JsonLayout, JsonObject, read_json_values, unfold
from sciprism.registry import Registry

Record = TypeVar("Record")
Read = Callable[[InputFile, ReadOptions], Iterator[Record | Deletion | BadRecord]]
Build = Callable[[JsonObject], Record | Deletion]

KEYED_RECORDS = r'\A\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{[^{}]*"(?:title|abstract)"\s*:'
"""Pattern of the head of one object, id -> record with a title or an abstract."""
JSON_SUFFIXES = (".jsonl", ".json", ".ndjson")
STARTS_JSON = re.compile(r"\A\s*[{\[]")


@dataclass(frozen=True, slots=True)
class FileFormat(Generic[Record]):
    """A file format, in `paper_readers` or `label_readers` under its name.

    about: whose files they are, for the reference. suffixes: of their names, without .gz. read: yields every record in
    file order, the unusable ones as BadRecord; never raises for content. patterns, check: the head of such a file, its
    first few thousand characters, has all patterns and passes the check. reads_parts: `read` reads the part that
    `InputFile.part` names. build: of a format of JSON objects, makes the record of one; its ValueError says what is
    wrong with the object.
    """

    about: str
    suffixes: tuple[str, ...]
    read: Read[Record]
    patterns: tuple[re.Pattern[str], ...] = ()
    check: Callable[[str], bool] | None = None
    reads_parts: bool = False
    build: Build[Record] | None = None

    def recognizes(self, head: str) -> bool:
        """Say whether the head of a file looks like this format."""
        return all(pattern.search(head) for pattern in self.patterns) and (self.check is None or self.check(head))


class FormatRegistry(Registry[FileFormat[Record]]):
    """File formats by name; its decorators register the function that reads a format, with what recognizes it."""

    def reader(
        self,
        name: str,
        about: str,
        suffixes: tuple[str, ...],
        *,
        patterns: tuple[re.Pattern[str], ...] = (),
        check: Callable[[str], bool] | None = None,
        reads_parts: bool = False,
        build: Build[Record] | None = None,
    ) -> Callable[[Read[Record]], Read[Record]]:
        """Register a function that yields the records of a file; the arguments are those of `FileFormat`."""

        def register(read: Read[Record]) -> Read[Record]:
            self.register(name)(FileFormat(about, suffixes, read, patterns, check, reads_parts, build))
            return read

        return register

    def json_objects(
        self,
        name: str,
        about: str,
        patterns: tuple[re.Pattern[str], ...],
        *,
        suffixes: tuple[str, ...] = JSON_SUFFIXES,
        layout: JsonLayout = ANY_LAYOUT,
        find_omission: Callable[[Any], str] | None = None,
    ) -> Callable[[Build[Record]], Build[Record]]:
        """Register a function that makes a record of a JSON object.

        find_omission: says what a value is that is no record ("reply"), else ""; such values are counted.
        """

        def register(build: Build[Record]) -> Build[Record]:
            def read(file: InputFile, options: ReadOptions) -> Iterator[Record | Deletion | BadRecord]:
                return read_objects(file, build, layout, find_omission)

            self.register(name)(FileFormat(about, suffixes, read, (STARTS_JSON, *patterns), build=build))
            return build

        return register


paper_readers: FormatRegistry[Paper] = FormatRegistry("paper reader")
label_readers: FormatRegistry[Label] = FormatRegistry("label reader")


def without(pattern: str) -> re.Pattern[str]:
    """Return a pattern of texts in which another does not occur."""
    return re.compile(rf"\A(?![\s\S]*?(?:{pattern}))")


def read_objects(
    file: InputFile,
    build: Build[Record],
    layout: JsonLayout = ANY_LAYOUT,
    find_omission: Callable[[Any], str] | None = None,
) -> Iterator[Record | Deletion | BadRecord]:
    """Yield a record for every object of a file; the arguments are those of `FormatRegistry.json_objects`."""
    number = 0
    for _, line, value, reason in read_json_values(file, layout):
        try:
            items = unfold(value, layout)
        except RecursionError:
            items, reason = [None], "its objects are nested too deeply"
        for item in items:
            if find_omission and not reason and (omission := find_omission(item)):
                file.omitted[omission] += 1
                continue
            number += 1
            if reason or not isinstance(item, dict):
                yield BadRecord(number, line, (reason or f"{item!r} is not an object")[:MAX_REASON_CHARS])
                continue
            yield build_record(build, item, number, file)


def build_record(
    build: Callable[[Any], Record | Deletion], row: Any, number: int, file: InputFile
) -> Record | Deletion | BadRecord:
    """Return the record that `build` makes of the row of this number, or the reason where it raises ValueError."""
    try:
        return build(row)
    except RecursionError:
        return BadRecord(number, file.record_line, "its lists or objects are nested too deeply")
    except ValueError as error:
        return BadRecord(number, file.record_line, str(error)[:MAX_REASON_CHARS])
