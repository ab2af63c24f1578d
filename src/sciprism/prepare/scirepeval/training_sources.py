"""Write SciRepEval's training sources: the published data sets of a config."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationInfo, model_validator

from sciprism.datasets.data_root import DataRoot, as_id, find_file
from sciprism.datasets.layouts.item_tables import parse_number
from sciprism.datasets.open_data import Part
from sciprism.errors import InputError
from sciprism.evaluation.task import read_sizes
from sciprism.files import sha256
from sciprism.formats import FORMATS, Format
from sciprism.papers.records import Paper
from sciprism.prepare.preparation import PARTS, CountTable, ExampleFolder, Preparation, TrainingSource
from sciprism.prepare.samplers.examples import (
    SEED,
    ScoredList,
    count_lists,
    sample_iteratively_stratified,
    sample_scored_triplets,
    sample_stratified,
)
from sciprism.prepare.samplers.sampling import QuerySample, Sampling
from sciprism.prepare.sources.records import (
    Record,
    format_words,
    parse_record_paper,
    require_field,
)
from sciprism.text.template import FIELDS
from sciprism.text.tokenizer import read_json
from sciprism.training.examples import Example

Code = Literal["[CLF]", "[RGN]", "[PRX]", "[QRY]"]
CODES: dict[str, Format] = dict(zip(get_args(Code), FORMATS, strict=True))
"""Control code -> format."""
TYPES: dict[str, Format] = {
    "classification": "classification",
    "regression": "regression",
    "ir": "proximity",
    "triplet": "proximity",
}
"""Type of a task -> format."""


def _find_file(name: Path | str, info: ValidationInfo) -> Path:
    """Return the path of a file's name; the context of the validation is the folders to search."""
    folders = info.context or ()
    if path := next(filter(None, (find_file(folder, str(name)) for folder in folders)), None):
        return path
    raise ValueError(f"no file {name}; searched in {', '.join(dict.fromkeys(map(str, folders)))}")


def _read_labels(labels: Any, info: ValidationInfo) -> Any:
    """Return the labels of a list, or of a file of one label a line."""
    if isinstance(labels, str):
        path = _find_file(labels, info)
        try:
            labels = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines() if line.strip()]
        except UnicodeDecodeError as error:
            raise ValueError(f"{path} is not UTF-8 ({error.reason})") from None
    return tuple(dict.fromkeys(labels)) if isinstance(labels, list) else labels


def _each(*keys: str) -> BeforeValidator:
    """Return a validator that makes one value the value of each key."""
    return BeforeValidator(lambda given: given if isinstance(given, dict) else dict.fromkeys(keys, given))


Files = Annotated[
    tuple[Annotated[Path, AfterValidator(_find_file)], ...],
    BeforeValidator(lambda given: tuple(given) if isinstance(given, list) else (given,)),
]


class HubData(BaseModel):
    """A hub data set; its dev split is called validation."""

    model_config = ConfigDict(extra="forbid")

    path: str
    name: str | None = None


class PublishedTask(BaseModel):
    """One task of a config, with the config's keys.

    ctrl_token: where there is none, the queries of lists decide the format. sample_size: examples of a part at
    most, -1 for all. labels: the classes in the order of their file.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(pattern=r"^[^./][^/]*$")
    type: Literal["classification", "regression", "ir", "triplet"]
    multi_label: bool = False
    dataset: HubData | None = None
    data_files: dict[str, Files] | None = None
    labels: Annotated[tuple[str, ...], BeforeValidator(_read_labels)] = ()
    labels_field: str = ""
    ctrl_token: Annotated[dict[Literal["query", "candidates"], Code], _each("query", "candidates")] | None = None
    input_fields: tuple[str, ...] = Field(FIELDS, min_length=1)
    sample_size: Annotated[dict[Part, Annotated[int, Field(ge=-1)]], _each(*PARTS)] = {}
    contrastive: bool = False
    instr_prompt: Any = None

    @model_validator(mode="after")
    def _check(self) -> PublishedTask:
        if self.type == "classification" and not self.labels:
            raise ValueError("labels is missing")
        if self.type in ("classification", "regression") and not self.labels_field:
            raise ValueError("labels_field is missing")
        if "train" not in (self.data_files or {}) and (self.data_files is not None or self.dataset is None):
            raise ValueError("give a dataset with a path, or data_files with train")
        if self.ctrl_token is not None and len(self.ctrl_token) < 2:
            raise ValueError("ctrl_token needs query and candidates")
        if 0 in self.sample_size.values():
            raise ValueError("sample_size is 0; give a maximum number, or -1 for all")
        return self

    @property
    def format(self) -> Format | None:
        """Return the format of the control code; None for lists without one."""
        if self.ctrl_token is None:
            return None if self.type == "ir" else TYPES[self.type]
        return CODES[self.ctrl_token["query"]]

    def read(self, data_root: DataRoot, part: Part) -> Iterator[tuple[str, Record]]:
        """Yield (location such as "FILE, line 3", record) of one part."""
        if self.data_files is not None:
            for path in self.data_files[part]:
                yield from data_root.located_records(path)
        elif hub := self.dataset:
            split = SPLITS[part]
            rows = data_root.rows(hub.path, hub.name or "", split=split)
            for number, row in enumerate(rows, 1):
                yield f"{hub.path}, {hub.name or 'default'}, {split}, record {number}", row

    def read_first(self, data_root: DataRoot, part: Part) -> tuple[str, Record]:
        """Return (location, record) of the first record of a part. Raises InputError where there is none."""
        for where, record in self.read(data_root, part):
            return f"task {self.name!r}: {where}", record
        hub, files = self.dataset, ", ".join(map(str, (self.data_files or {}).get(part, ())))
        place = f"{hub.path}, {hub.name or ''}, {SPLITS[part]}" if hub and not files else files
        raise InputError(f"task {self.name!r}: {place}: no record")


def read_config(path: Path, data: Path | None = None) -> tuple[PublishedTask, ...]:
    """Return the tasks of a config file. Raises InputError that names all tasks and keys that are wrong.

    Files are searched for next to the config, in its parent folder, in the working folder, and in `data`.
    """
    rows = read_json(path, kind=object)
    rows = [rows] if isinstance(rows, dict) else rows
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: expected a list of tasks, such as SciRepEval's tasks_config.json")
    here = path.resolve().parent
    folders = (here, here.parent, Path(), *([data] if data else []))
    try:
        tasks = pydantic.TypeAdapter(tuple[PublishedTask, ...]).validate_json(json.dumps(rows), context=folders)
    except pydantic.ValidationError as error:
        wrong = []
        for details in error.errors():
            number, *keys = details["loc"]
            place = ".".join(map(str, keys)) or "keys"
            value = "" if isinstance(details["input"], dict) else f", got {details['input']!r:.60}"
            message = details["msg"].removeprefix("Value error, ")
            wrong.append(f"task {rows[int(number)].get('name') or int(number) + 1!r}: {place}: {message}{value}")
        raise InputError(f"{path}, {'; '.join(wrong)}") from error
    names = [task.name for task in tasks]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise InputError(f"{path}: two tasks have the name {twice!r}; names must be unique")
    return tasks


TRIPLET = ("query", "pos", "neg")
SPLITS: dict[Part, str] = {"train": "train", "dev": "validation"}  # of a hub data set


def build_published_source(task: PublishedTask, data_root: DataRoot) -> TrainingSource:
    """Return the source of a task.

    Checks the first record of each part. Raises InputError where data or fields are missing.
    """
    parts = (part for part in PARTS if task.data_files is None or part in task.data_files)  # those that have records
    first = {part: task.read_first(data_root, part) for part in parts}
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
    hub, files = task.dataset, (task.data_files or {}).get("train", ())
    data = ", ".join(f"{file.parent.name}/{file.name}" for file in files)
    return TrainingSource(
        name=task.name,
        type=task.type,
        format=format,
        data=f"{hub.path}, {hub.name or 'default'}" if hub and not data else data,
        build=builders[task.type],
        query="query" if words else "paper",
        labels=task.labels if task.type == "classification" else (),
        multi_label=task.multi_label,
        contrastive=task.contrastive,
        parts=tuple(first),
        max_examples={part: max(0, task.sample_size.get(part, 0)) for part in PARTS},
    )


@dataclass(frozen=True, slots=True)
class _PublishedRecords:
    """The records of a task. words: whether the queries of lists are words, not papers."""

    task: PublishedTask
    data_root: DataRoot
    words: bool

    def _read(self, part: Part, limit: int = 0) -> Iterator[tuple[str, Record]]:
        return islice(self.task.read(self.data_root, part), limit or None)

    def _paper(self, record: Any) -> Paper:
        return parse_record_paper(record, self.task.input_fields)

    def check(self, where: str, record: Record) -> None:
        """Raise InputError where a record, or the first candidate of a list, lacks what its type needs."""
        papers = [(where, record)]
        if self.task.type == "triplet":
            papers = [(f"{where}, {key}", require_field(record, key, where)) for key in TRIPLET]
        elif self.task.type == "ir":
            self._list(where, record)
            papers = [(where, candidate) for candidate in record["candidates"][:1]]
        for place, paper in papers:
            for key in self.task.input_fields:
                require_field(paper, key, place)
        if self.task.type == "classification":
            self._classes(record, where)
        elif self.task.type == "regression":
            self._number(record, where)

    def build_classes(self, part: Part, sampling: Sampling) -> Iterator[Example]:
        """Yield the sampled papers with their classes, in the file's order; it is read twice."""
        selected = self._select_by_class(part, sampling)
        for number, (where, record) in enumerate(self._read(part)):
            paper, classes = self._paper(record), self._classes(record, where)
            if not classes:
                sampling.drop("no label of the list", paper.id or where)
                continue
            sampling.report.records += 1
            if not (paper.title or paper.abstract):
                sampling.drop("no text", paper.id or where)
            elif number in selected:
                sampling.report.queries += 1
                yield Example(paper, (), answers=classes)

    def _select_by_class(self, part: Part, sampling: Sampling) -> frozenset[int]:
        """Return the numbers of the sampled records."""
        classes = {n: self._classes(record, where) for n, (where, record) in enumerate(self._read(part))}
        numbers = [number for number, names in classes.items() if names]
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
                sampling.report.queries += 1
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
        scores = []
        for number, candidate in enumerate(candidates, 1):
            place = f"{where}, candidate {number}"
            scores.append(parse_number(require_field(candidate, "score", place), f"{place}: the score"))
        query = require_field(record, "query", where)
        if not self.words:
            return ScoredList(
                self._paper(query if isinstance(query, dict) else {**record, "title": query}), papers, scores
            )
        fields = query if isinstance(query, dict) else {"title": query}
        words = (format_words(fields.get(field)) for field in self.task.input_fields)
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


LIMITS: dict[Part, int] = {"train": 600_000, "dev": 40_000}
"""Examples of a file, as published."""
TABLE_1 = {
    "mesh": "mesh",
    "fos": "fos",
    "cite_pred": "citation-count",
    "year_pred": "publication-year",
    "s2and": "same-author",
    "cite_context": "influential-citations",
    "specter": "citation-triplets",
    "search": "search",
}
"""Published source -> the task in the paper's table of sizes."""
PUBLISHED = {name: next(iter(read_sizes("scirepeval/1")[task].values())) for name, task in TABLE_1.items()}
"""Published source -> its records, or queries with lists, of train and dev."""
WORDS, COUNTS = ("source", "type", "format", "query"), ("train", "dev")


def prepare_scirepeval(out: Path, config: Path, data: Path | None = None) -> Preparation:
    """Write `train/NAME.jsonl` and `dev/NAME.jsonl` of a config's tasks.

    data: the folder of hub data sets and files of the config. All inputs are checked before anything is
    written; a second call writes the same bytes. Raises InputError, also where no source can be written.
    """
    data_root, folder, done = DataRoot(data), ExampleFolder(out), Preparation()
    sources = [build_published_source(task, data_root) for task in read_config(config, data)]
    rows: list[list[str | int]] = []
    records: list[dict[str, Any]] = []
    read: dict[str, int] = {}
    for source in sources:
        requested = {part: source.max_examples.get(part) or LIMITS[part] for part in source.parts}
        samplings = {part: Sampling(limit=min(LIMITS[part], size), seed=SEED) for part, size in requested.items()}
        dropped = samplings["train"].report.dropped
        if not source.write(folder, samplings):
            done.not_made[source.name] = f"no example remains; {dropped}"
            continue
        examples = (folder.counts.get(source.file(part), 0) for part in PARTS)
        rows.append([source.name, source.type, source.format, source.query, *examples])
        records.append(source.to_json(folder, samplings))
        if source.name in PUBLISHED:
            read[source.name] = sum(sampling.report.records for sampling in samplings.values())
            records[-1]["records"] = {"read": read[source.name], "published": PUBLISHED[source.name]}
        done.dropped[source.name] = dropped
        for part, sampling in samplings.items():
            needed = count_lists(sampling.limit) if source.type == "ir" else sampling.limit
            if source.max_examples.get(part) and (count := sampling.report.records) < needed:
                shortage = f"{count:,} records, fewer than {requested[part]:,} examples need: all are used"
                done.warnings.append(f"{source.name}, {part}: {shortage}")
    if not records:
        reasons = (f"{name}: {reason}" for name, reason in done.not_made.items())
        raise InputError(f"no training source can be built. {'; '.join(reasons)}")
    table = CountTable(WORDS, COUNTS, rows).with_column("records read", read)
    done.files, done.tables = folder.counts, [table.with_column("Table 1", {name: PUBLISHED[name] for name in read})]
    record = {"seed": SEED, "max_examples": LIMITS, "config": {"file": config.name, "sha256": sha256(config)}}
    record |= {"sources": records, "skipped": done.not_made, "data": data_root.provenance()}
    done.record = folder.write_manifest("sources.json", record)
    return done
