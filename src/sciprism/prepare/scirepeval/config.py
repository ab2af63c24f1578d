"""SciRepEval's training config, a JSON list of tasks, checked before any data are read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import Part
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format
from sciprism.prepare.example_folder import PARTS
from sciprism.prepare.sources.records import (
    FIELDS,
    Record,
    read_located_records,
)

TYPES: dict[str, Format] = {
    "classification": "classification",
    "regression": "regression",
    "ir": "proximity",
    "triplet": "proximity",
}
CODES: dict[str, Format] = dict(zip(("[CLF]", "[RGN]", "[PRX]", "[QRY]"), FORMATS, strict=True))
"""Control code -> format."""
KNOWN_CODES = f"; known: {', '.join(CODES)}"
KEYS = (
    *("name", "type", "multi_label", "dataset", "data_files", "labels", "labels_field"),
    *("ctrl_token", "input_fields", "sample_size", "contrastive", "instr_prompt"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLocation:
    """The records of one part: local files, or a split of a hub data set."""

    files: tuple[Path, ...] = ()
    repo: str = ""
    config: str = ""
    revision: str = ""
    split: str = ""

    def read(self, data_root: DataRoot) -> Iterator[tuple[str, Record]]:
        """Yield (location such as "FILE, line 3", record)."""
        for path in self.files:
            yield from read_located_records(data_root, path)
        if self.repo:
            rows = data_root.rows(self.repo, self.config, split=self.split, revision=self.revision)
            for number, row in enumerate(rows, 1):
                yield f"{self.repo}, {self.config or 'default'}, {self.split}, record {number}", row


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedTask:
    """One task of a config.

    format: of its control code; None for lists without a code, where the queries decide. max_examples: part
    -> requested number, 0 for all. labels: the classes in the order of their file.
    """

    name: str
    type: str
    locations: Mapping[Part, RecordLocation]
    format: Format | None
    fields: tuple[str, ...] = FIELDS
    labels: tuple[str, ...] = ()
    labels_field: str = ""
    multi_label: bool = False
    contrastive: bool = False
    max_examples: Mapping[Part, int] = field(default_factory=dict)


def read_config(path: Path, data: Path | None = None) -> tuple[PublishedTask, ...]:
    """Return the tasks of a config file. Raises InputError that names the task and the wrong key.

    Files are searched for next to the config, in its parent folder, in the working folder, and in `data`.
    """
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(f"{path}: cannot be opened: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from error
    rows = [rows] if isinstance(rows, dict) else rows
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: expected a list of tasks, such as SciRepEval's tasks_config.json")
    here = path.resolve().parent
    folders = (here, here.parent, Path(), *([data] if data else []))
    tasks = tuple(
        _TaskParser(f"{path}, task {row.get('name') or number!r}", row, folders).task()
        for number, row in enumerate(rows, 1)
    )
    names = [task.name for task in tasks]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise InputError(f"{path}: two tasks have the name {twice!r}; names must be unique")
    return tasks


@dataclass(frozen=True, slots=True)
class _TaskParser:
    """Parses one object of a config to a task. where: its name in messages."""

    where: str
    row: Mapping[str, Any]
    folders: tuple[Path, ...]

    def task(self) -> PublishedTask:
        """Return the task. Raises InputError that names the wrong key."""
        if unknown := [key for key in self.row if key not in KEYS]:
            raise self._error(unknown[0], f"unknown; known: {', '.join(KEYS)}")
        name, kind = self._text("name"), self._text("type")
        if kind not in TYPES:
            raise self._error("type", f"{kind!r}; known: {', '.join(TYPES)}")
        if "/" in name or name.startswith("."):
            raise self._error("name", f"{name!r} must be usable as a file name")
        labelled = kind in ("classification", "regression")
        return PublishedTask(
            name=name,
            type=kind,
            locations=self._locations(),
            format=self._format(kind),
            fields=self._fields(),
            labels=self._labels() if kind == "classification" else (),
            labels_field=self._text("labels_field") if labelled else "",
            multi_label=self._flag("multi_label"),
            contrastive=self._flag("contrastive"),
            max_examples=self._max_examples(),
        )

    def _locations(self) -> dict[Part, RecordLocation]:
        files, hub = self.row.get("data_files"), self.row.get("dataset")
        if isinstance(files, Mapping):
            if "train" not in files:
                raise self._error("data_files", f"no train file; it has {', '.join(files) or 'nothing'}")
            return {part: RecordLocation(files=self._files(files[part])) for part in PARTS if files.get(part)}
        if not isinstance(hub, Mapping) or not isinstance(hub.get("path"), str):
            raise self._error("dataset", "an object with path (and name), or data_files with train and dev")
        location = RecordLocation(
            repo=hub["path"], config=str(hub.get("name") or ""), revision=str(hub.get("revision") or "")
        )
        return {"train": replace(location, split="train"), "dev": replace(location, split="validation")}

    def _files(self, names: Any) -> tuple[Path, ...]:
        listed = names if isinstance(names, list) else [names]
        return tuple(self._file("data_files", name) for name in listed)

    def _file(self, key: str, name: Any) -> Path:
        if not isinstance(name, str) or not name:
            raise self._error(key, f"expected a file name, got {name!r:.60}")
        for folder in self.folders:
            for ending in ("", ".gz"):
                if (folder / f"{name}{ending}").is_file():
                    return folder / f"{name}{ending}"
        searched = ", ".join(dict.fromkeys(str(folder) for folder in self.folders))
        raise self._error(key, f"no file {name}; searched in {searched}")

    def _labels(self) -> tuple[str, ...]:
        labels = self.row.get("labels")
        if isinstance(labels, str):
            path = self._file("labels", labels)
            try:
                lines = path.read_text(encoding="utf-8-sig").splitlines()
            except UnicodeDecodeError as error:
                raise self._error("labels", f"{path} is not UTF-8 ({error.reason})") from None
            labels = [line.strip() for line in lines if line.strip()]
        if not isinstance(labels, list) or not labels or not all(isinstance(label, str) for label in labels):
            raise self._error("labels", f"a file of one label a line, or a list, not {labels!r:.60}")
        return tuple(dict.fromkeys(labels))

    def _format(self, kind: str) -> Format | None:
        code = self.row.get("ctrl_token")
        if isinstance(code, Mapping):
            if unknown := [side for side in ("query", "candidates") if code.get(side) not in CODES]:
                raise self._error("ctrl_token", f"{unknown[0]} is {code.get(unknown[0])!r}{KNOWN_CODES}")
            return CODES[code["query"]]
        if code is None:
            return None if kind == "ir" else TYPES[kind]
        if code not in CODES:
            raise self._error("ctrl_token", f"{code!r}{KNOWN_CODES}")
        return CODES[cast(str, code)]

    def _fields(self) -> tuple[str, ...]:
        fields = self.row.get("input_fields", FIELDS)
        if not isinstance(fields, list | tuple) or not all(isinstance(name, str) for name in fields) or not fields:
            raise self._error("input_fields", f"a list of a record's fields, not {fields!r:.60}")
        return tuple(fields)

    def _max_examples(self) -> dict[Part, int]:
        given = self.row.get("sample_size", -1)
        sizes = given if isinstance(given, Mapping) else dict.fromkeys(PARTS, given)
        for size in sizes.values():
            if isinstance(size, bool) or not isinstance(size, int) or size == 0 or size < -1:
                raise self._error("sample_size", f"{size!r}; expected a maximum number, or -1 for all")
        return {part: max(0, sizes.get(part, -1)) for part in PARTS}

    def _text(self, key: str) -> str:
        given = self.row.get(key)
        if not isinstance(given, str) or not given:
            raise self._error(key, "missing" if given is None else f"expected a text, got {given!r:.60}")
        return given

    def _flag(self, key: str) -> bool:
        given = self.row.get(key, False)
        if not isinstance(given, bool):
            raise self._error(key, f"true or false, not {given!r:.60}")
        return given

    def _error(self, key: str, reason: str) -> InputError:
        return InputError(f"{self.where}: {key}: {reason}")
