"""What a file format is, and the registries of the formats of papers and of vocabularies."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Generic, TypeVar
from xml.etree.ElementTree import Element

from sciprism.papers.input_file import BadRecord, InputFile, ReadOptions
from sciprism.papers.records import Deletion, Label, Paper
from sciprism.papers.rows import ANY_LAYOUT, MAX_REASON_CHARS, JsonLayout, JsonObject, read_json_values, unfold
from sciprism.papers.xml_records import read_xml_records
from sciprism.registry import Registry

Record = TypeVar("Record")
Read = Callable[[InputFile, ReadOptions], Iterator[Record | Deletion | BadRecord]]
Build = Callable[[JsonObject], Record | Deletion]
BuildXml = Callable[[Element], Record | Deletion]

_FORMATS: dict[str, Any] = tomllib.loads((files(__package__) / "formats.toml").read_text(encoding="utf-8"))
JSON_SUFFIXES = ".jsonl .json .ndjson"
STARTS_JSON = re.compile(r"\A\s*[{\[]")


@dataclass(frozen=True, slots=True)
class FileFormat(Generic[Record]):
    """A file format, in `paper_readers` or `label_readers` under its name.

    about: whose files they are, for the reference. suffixes: of their names, without .gz. read: yields every record in
    file order, the unusable ones as BadRecord; never raises for content. patterns, absent, check: the head of such a
    file, its first few thousand characters, has all patterns, not the absent one, and passes the check. reads_parts:
    `read` reads the part that `InputFile.part` names. build: of a format of JSON objects, makes the record of one; its
    ValueError says what is wrong with the object.
    """

    about: str
    suffixes: tuple[str, ...]
    read: Read[Record]
    patterns: tuple[re.Pattern[str], ...] = ()
    absent: re.Pattern[str] | None = None
    check: Callable[[str], bool] | None = None
    reads_parts: bool = False
    build: Build[Record] | None = None

    def recognizes(self, head: str) -> bool:
        """Say whether the head of a file looks like this format."""
        has_all = all(pattern.search(head) for pattern in self.patterns)
        return has_all and not (self.absent and self.absent.search(head)) and (not self.check or self.check(head))


class FormatRegistry(Registry[FileFormat[Record]]):
    """File formats by name; its decorators register the function that reads a format.

    formats: name -> what recognizes it, as in `formats.toml`; a decorator may state that too, under the same keys.
    """

    def __init__(self, kind: str, formats: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(kind)
        self._formats = formats

    def reader(
        self, name: str, *, check: Callable[[str], bool] | None = None, build: Build[Record] | None = None, **more: Any
    ) -> Callable[[Read[Record]], Read[Record]]:
        """Register a function that yields the records of a file."""
        row = {**self._formats.get(name, {}), **more}
        is_json, absent = row.get("json", False), row.get("absent")

        def register(read: Read[Record]) -> Read[Record]:
            format = FileFormat(
                about=row["about"],
                suffixes=tuple(row.get("suffixes", JSON_SUFFIXES).split()),
                read=read,
                patterns=(*[STARTS_JSON] * is_json, *map(re.compile, row.get("patterns", ()))),
                absent=re.compile(absent) if absent else None,
                check=check,
                reads_parts=row.get("reads_parts", False),
                build=build,
            )
            self.register(name)(format)
            return read

        return register

    def json_objects(
        self, name: str, *, find_omission: Callable[[Any], str] | None = None, **more: Any
    ) -> Callable[[Build[Record]], Build[Record]]:
        """Register a function that makes a record of a JSON object.

        find_omission: says what a value is that is not a record ("reply"), else ""; such values are counted.
        """
        row = {"json": True, **self._formats.get(name, {}), **more}
        keys = tuple(row["list_keys"].split()) if "list_keys" in row else ANY_LAYOUT.list_keys
        layout = JsonLayout(keys, containers=tuple(row.get("containers", "").split()))

        def register(build: Build[Record]) -> Build[Record]:
            def read(file: InputFile, options: ReadOptions) -> Iterator[Record | Deletion | BadRecord]:
                return read_objects(file, build, layout, find_omission)

            self.reader(name, build=build, **row)(read)
            return build

        return register

    def xml_elements(self, name: str, *tags: str) -> Callable[[BuildXml[Record]], BuildXml[Record]]:
        """Register a function that makes a record of an XML element of one of these names."""

        def register(build: BuildXml[Record]) -> BuildXml[Record]:
            def read(file: InputFile, options: ReadOptions) -> Iterator[Record | Deletion | BadRecord]:
                for number, element in enumerate(read_xml_records(file, tags), 1):
                    if isinstance(element, BadRecord):
                        yield element
                    else:
                        yield build_record(build, element, number, file)

            self.reader(name)(read)
            return build

        return register


paper_readers: FormatRegistry[Paper] = FormatRegistry("paper reader", _FORMATS["papers"])
label_readers: FormatRegistry[Label] = FormatRegistry("label reader", _FORMATS["labels"])


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
