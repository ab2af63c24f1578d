"""SciRepEval's training config, a JSON list of tasks that is checked first, and the examples of its records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

from sciprism.datasets.data_root import DataRoot, find_file
from sciprism.datasets.layouts.item_tables import parse_number
from sciprism.datasets.open_data import Part
from sciprism.datasets.rows import as_id
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format
from sciprism.papers.records import Paper
from sciprism.prepare.example_folder import PARTS, TrainingSource
from sciprism.prepare.samplers.answers import sample_iteratively_stratified, sample_stratified
from sciprism.prepare.samplers.sampling import QuerySample, Sampling
from sciprism.prepare.samplers.scored_lists import ScoredList, count_lists, sample_scored_triplets
from sciprism.prepare.sources.records import (
    FIELDS,
    Record,
    format_words,
    parse_record_paper,
    parse_score,
    require_field,
)
from sciprism.training.examples import Example

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
            yield from data_root.located_records(path)
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
        return tuple(self._file("data_files", name) for name in (names if isinstance(names, list) else [names]))

    def _file(self, key: str, name: Any) -> Path:
        if not isinstance(name, str) or not name:
            raise self._error(key, f"expected a file name, got {name!r:.60}")
        for folder in self.folders:
            if path := find_file(folder, name):
                return path
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


TRIPLET = ("query", "pos", "neg")


def build_published_source(task: PublishedTask, data_root: DataRoot) -> TrainingSource:
    """Return the source of a task.

    Checks the first record of each part. Raises InputError where data or fields are missing.
    """
    first = {part: _read_first_record(data_root, task, part) for part in PARTS if part in task.locations}
    format, words = task.format or TYPES[task.type], False
    if task.type == "ir":  # without a control code, the first query decides
        where, record = first["train"]
        has_words = isinstance(require_field(record, "query", where), str)
        format = task.format or ("search" if has_words else "proximity")
        words = format == "search"
    records = _PublishedRecords(task, data_root, words)
    for where, record in first.values():
        records.check(where, record)
    builders = {
        "classification": records.build_classes,
        "regression": records.build_numbers,
        "ir": records.build_lists,
        "triplet": records.build_triplets,
    }
    location = task.locations["train"]
    files = ", ".join(f"{path.parent.name}/{path.name}" for path in location.files)
    return TrainingSource(
        name=task.name,
        type=task.type,
        format=format,
        data=files or f"{location.repo}, {location.config or 'default'}",
        build=builders[task.type],
        query="query" if words else "paper",
        labels=task.labels,
        multi_label=task.multi_label,
        contrastive=task.contrastive,
        parts=tuple(first),
        max_examples=task.max_examples,
    )


def _read_first_record(data_root: DataRoot, task: PublishedTask, part: Part) -> tuple[str, Record]:
    location = task.locations[part]
    for where, record in location.read(data_root):
        return f"task {task.name!r}: {where}", record
    files = ", ".join(map(str, location.files)) or f"{location.repo}, {location.config}, {location.split}"
    raise InputError(f"task {task.name!r}: {files}: no record")


@dataclass(frozen=True, slots=True)
class _PublishedRecords:
    """The records of a task. words: whether the queries of lists are words, not papers."""

    task: PublishedTask
    data_root: DataRoot
    words: bool

    def _read(self, part: Part, limit: int = 0) -> Iterator[tuple[str, Record]]:
        return islice(self.task.locations[part].read(self.data_root), limit or None)

    def _paper(self, record: Any) -> Paper:
        return parse_record_paper(record, self.task.fields)

    def check(self, where: str, record: Record) -> None:
        """Raise InputError where a record, or the first candidate of a list, lacks what its type needs."""
        papers = [(where, record)]
        if self.task.type == "triplet":
            papers = [(f"{where}, {key}", require_field(record, key, where)) for key in TRIPLET]
        elif self.task.type == "ir":
            self._list(where, record)
            papers = [(where, candidate) for candidate in record["candidates"][:1]]
        for place, paper in papers:
            for key in self.task.fields:
                require_field(paper, key, place)
        if self.task.type == "classification":
            self._classes(record, where)
        elif self.task.type == "regression":
            self._number(record, where)

    def build_classes(self, part: Part, sampling: Sampling) -> Iterator[Example]:
        """Yield the sampled papers with their classes, in the file's order; it is read twice for a sample."""
        selected = self._select_by_class(part, sampling)
        for number, (where, record) in enumerate(self._read(part)):
            paper, classes = self._paper(record), self._classes(record, where)
            if not classes:
                sampling.drop("no label of the list", paper.id or where)
                continue
            sampling.report.records += 1
            if not (paper.title or paper.abstract):
                sampling.drop("no text", paper.id or where)
            elif selected is None or number in selected:
                yield Example(paper, (), answers=classes)

    def _select_by_class(self, part: Part, sampling: Sampling) -> frozenset[int] | None:
        """Return the numbers of the sampled records; None for all."""
        if not sampling.limit:
            return None
        classes = {n: self._classes(record, where) for n, (where, record) in enumerate(self._read(part))}
        numbers = [number for number, names in classes.items() if names]
        if len(numbers) <= sampling.limit:
            return None
        order = {label: number for number, label in enumerate(self.task.labels)}
        labels = [[order[name] for name in classes[number]] for number in numbers]
        if self.task.multi_label:
            rows = sample_iteratively_stratified(labels, sampling.limit, sampling.seed)
        else:
            rows = sample_stratified([names[0] for names in labels], sampling.limit, sampling.seed)
        return frozenset(numbers[row] for row in rows.tolist())

    def _classes(self, record: Record, where: str) -> tuple[str, ...]:
        value = require_field(record, self.task.labels_field, where)
        if value is None:
            return ()
        if isinstance(value, list) != self.task.multi_label:
            problem = "is a list; set multi_label: true" if isinstance(value, list) else "is not a list"
            raise InputError(f"{where}: {self.task.labels_field} {problem}: {value!r:.60}")
        names = dict.fromkeys(map(as_id, value if isinstance(value, list) else [value]))
        return tuple(name for name in names if name in self.task.labels)

    def build_numbers(self, part: Part, sampling: Sampling) -> Iterator[Example]:
        """Yield the papers of the first records with their numbers."""
        for where, record in self._read(part, sampling.limit):
            sampling.report.records += 1
            paper, number = self._paper(record), self._number(record, where)
            if number is None or not (paper.title or paper.abstract):
                sampling.drop("no number" if number is None else "no text", paper.id or where)
            else:
                yield Example(paper, (), answers=(number,))

    def _number(self, record: Record, where: str) -> float | None:
        value = require_field(record, self.task.labels_field, where)
        return None if value is None else parse_number(value, f"{where}: {self.task.labels_field}")

    def build_lists(self, part: Part, sampling: Sampling) -> Iterator[Example]:
        """Yield the triplets of the first lists of scored candidates, at most five of a list."""

        def lists() -> Iterator[ScoredList]:
            for where, record in self._read(part, count_lists(sampling.limit)):
                sampling.report.records += 1
                yield self._list(where, record)

        return sample_scored_triplets(lists(), sampling)

    def _list(self, where: str, record: Record) -> ScoredList:
        candidates = require_field(record, "candidates", where)
        if not isinstance(candidates, list):
            raise InputError(f"{where}: candidates is {candidates!r:.60}, not a list")
        papers = list(map(self._paper, candidates))
        scores = [parse_score(candidate, f"{where}, candidate {at}") for at, candidate in enumerate(candidates, 1)]
        query = require_field(record, "query", where)
        if not self.words:
            return ScoredList(
                self._paper(query if isinstance(query, dict) else {**record, "title": query}), papers, scores
            )
        fields = query if isinstance(query, dict) else {"title": query}
        words = (format_words(fields.get(field)) for field in self.task.fields)
        return ScoredList(" ".join(filter(None, words)), papers, scores)

    def build_triplets(self, part: Part, sampling: Sampling) -> Iterator[Example]:
        """Yield the first triplets of papers."""
        for where, record in self._read(part, sampling.limit):
            sampling.report.records += 1
            papers = [self._paper(require_field(record, key, where)) for key in TRIPLET]
            query, positive, negative = papers
            if all(paper.title or paper.abstract for paper in papers):
                sampling.report.add(QuerySample((0,), (0,), ("as published",)))
                yield Example(query, (positive,), (negative,))
            else:
                sampling.drop("triplet with a paper without text", query.id or where)
