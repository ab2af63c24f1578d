"""What a file format is, and the registries of the formats of papers and of vocabularies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from sciprism.papers.input_file import NOT_WANTED, BadRecord, InputFile, ReadOptions
from sciprism.papers.json_rows import ANY_LAYOUT, MAX_REASON_CHARS, JsonLayout, JsonObject, read_json_values
from sciprism.papers.records import Deletion, Label, Paper
from sciprism.registry import Registry

Record = TypeVar("Record")

KEYED_RECORDS = r'\A\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\{[^{}]*"(?:title|abstract)"\s*:'
"""Pattern of the head of one object, id -> record with a title or an abstract."""
_JSON = re.compile(r"\A\s*[{\[]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat(Generic[Record]):
    """A file format, registered in `paper_readers` or `label_readers` under its name.

    about: whose files they are, for the reference. suffixes: of their names, without .gz. read: yields every record in
    file order, the unusable ones as BadRecord; never raises for content. The head of such a file, its first few
    thousand characters, has all `patterns`, not the `excluded` one, and passes the `check`. reads_parts: `read` reads
    the part that `InputFile.part` names. build: of a format of JSON objects, makes the record of one; its ValueError
    says what is wrong with the object.
    """

    about: str
    suffixes: tuple[str, ...]
    read: Callable[[InputFile, ReadOptions], Iterator[Record | Deletion | BadRecord]]
    patterns: tuple[re.Pattern[str], ...] = ()
    excluded: re.Pattern[str] | None = None
    check: Callable[[str], bool] | None = None
    reads_parts: bool = False
    build: Callable[[JsonObject], Record | Deletion] | None = None

    def recognises(self, head: str) -> bool:
        """Say whether the head of a file looks like this format."""
        if not all(pattern.search(head) for pattern in self.patterns):
            return False
        return not (self.excluded and self.excluded.search(head)) and (self.check is None or self.check(head))


paper_readers: Registry[FileFormat[Paper]] = Registry("paper reader")
label_readers: Registry[FileFormat[Label]] = Registry("label reader")


def json_format(
    about: str,
    patterns: tuple[re.Pattern[str], ...],
    build: Callable[[JsonObject], Record | Deletion],
    *,
    suffixes: tuple[str, ...] = (".jsonl", ".json", ".ndjson"),
    excluded: re.Pattern[str] | None = None,
    read: Callable[[InputFile, ReadOptions], Iterator[Record | Deletion | BadRecord]] | None = None,
) -> FileFormat[Record]:
    """Return a format of JSON objects, each a record. read: where it differs from `read_objects`."""
    return FileFormat(
        about=about,
        suffixes=suffixes,
        patterns=(_JSON, *patterns),
        excluded=excluded,
        read=read or partial(read_objects, build),
        build=build,
    )


def read_objects(
    build: Callable[[JsonObject], Record],
    file: InputFile,
    options: ReadOptions,
    *,
    layout: JsonLayout = ANY_LAYOUT,
    find_omission: Callable[[JsonObject], str] | None = None,
    find_notice: Callable[[JsonObject], str] | None = None,
) -> Iterator[Record | BadRecord]:
    """Yield a record for every object of a file.

    find_omission: says what an object is that is no record ("reply"), else ""; such objects are counted. find_notice:
    says what is counted of an object that is a record ("withdrawn paper"), else "".
    """
    wanted = None if find_omission else file.wanted  # an omitted object has no number
    for number, line, value, reason in read_json_values(file, layout):
        if wanted and not wanted(number):
            yield NOT_WANTED
            continue
        try:
            if reason or not isinstance(value, dict):
                raise ValueError(reason or f"{value!r} is not an object")
            if find_omission and (omission := find_omission(value)):
                file.omitted[omission] += 1
                continue
            record = build(value)
            if find_notice and (notice := find_notice(value)):
                file.noticed[notice] += 1
            yield record
        except ValueError as error:
            yield BadRecord(number, line, str(error)[:MAX_REASON_CHARS])
