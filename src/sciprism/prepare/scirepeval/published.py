"""Builders of examples from published records, one for each type of task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.item_tables import parse_number
from sciprism.datasets.open_data import Part
from sciprism.datasets.rows import as_id
from sciprism.errors import InputError
from sciprism.formats import Role
from sciprism.prepare.example_folder import PARTS
from sciprism.prepare.open_builders import OpenPrepareContext
from sciprism.prepare.samplers.answers import sample_iteratively_stratified, sample_stratified
from sciprism.prepare.samplers.sampling import QuerySample
from sciprism.prepare.samplers.scored_lists import ScoredList, ScoredListSampler
from sciprism.prepare.scirepeval.config import TYPES, PublishedTask, read_records
from sciprism.prepare.scirepeval.source import SciRepEvalSource, SourceReport, count_lists
from sciprism.prepare.sources.records import Record, format_words, parse_record_paper, parse_score, require_field
from sciprism.training.examples import Example

TRIPLET = ("query", "pos", "neg")


@dataclass(frozen=True, slots=True)
class _PublishedTaskBuilder:
    """Shared by the builders. task: the task whose records are read."""

    task: PublishedTask

    @property
    def data(self) -> str:
        """Return the files, or the hub data set and its config."""
        location = self.task.locations["train"]
        files = ", ".join(f"{path.parent.name}/{path.name}" for path in location.files)
        return files or f"{location.repo}, {location.config or 'default'}"

    def _records(self, context: OpenPrepareContext, part: Part, limit: int = 0) -> Iterator[tuple[str, Record]]:
        return islice(read_records(context.data_root, self.task.locations[part]), limit or None)


@dataclass(frozen=True, slots=True)
class PublishedClassBuilder(_PublishedTaskBuilder):
    """Papers with one class or several. The file is read twice for a sample."""

    def examples(self, context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        """Yield the sampled papers with their classes, in the file's order."""
        selected = self._sample(context, part)
        for number, (where, record) in enumerate(self._records(context, part)):
            paper, answers = parse_record_paper(record, self.task.fields), self._classes(record, where)
            if not answers:
                report.dropped.add("no label of the list", paper.id or where)
                continue
            report.records += 1
            if not (paper.title or paper.abstract):
                report.dropped.add("no text", paper.id or where)
            elif selected is None or number in selected:
                yield Example(paper, (), answers=answers)

    def check(self, where: str, record: Record) -> None:
        """Raise InputError where a record does not have this form."""
        _require_fields(record, self.task.fields, where)
        self._classes(record, where)

    def _sample(self, context: OpenPrepareContext, part: Part) -> frozenset[int] | None:
        """Return the numbers of the sampled records; None for all."""
        if not context.max_queries:
            return None
        order = {label: number for number, label in enumerate(self.task.labels)}
        records = enumerate(self._records(context, part))
        found = {number: self._classes(record, where) for number, (where, record) in records}
        numbers = [number for number, names in found.items() if names]
        if len(numbers) <= context.max_queries:
            return None
        carried = [[order[name] for name in found[number]] for number in numbers]
        if self.task.multi_label:
            rows = sample_iteratively_stratified(carried, context.max_queries, context.seed)
        else:
            rows = sample_stratified([own[0] for own in carried], context.max_queries, context.seed)
        return frozenset(numbers[row] for row in rows.tolist())

    def _classes(self, record: Record, where: str) -> tuple[str, ...]:
        given = require_field(record, self.task.labels_field, where)
        if given is None:
            return ()
        if isinstance(given, list) != self.task.multi_label:
            problem = "is a list; set multi_label: true" if isinstance(given, list) else "is not a list"
            raise InputError(f"{where}: {self.task.labels_field} {problem}: {given!r:.60}")
        names = dict.fromkeys(map(as_id, given if isinstance(given, list) else [given]))
        return tuple(name for name in names if name in self.task.labels)


@dataclass(frozen=True, slots=True)
class PublishedNumberBuilder(_PublishedTaskBuilder):
    """Papers with a number."""

    def examples(self, context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        """Yield the papers of the first records with their numbers."""
        for where, record in self._records(context, part, context.max_queries):
            report.records += 1
            paper, number = parse_record_paper(record, self.task.fields), self._number(record, where)
            if number is None or not (paper.title or paper.abstract):
                report.dropped.add("no number" if number is None else "no text", paper.id or where)
            else:
                yield Example(paper, (), answers=(number,))

    def check(self, where: str, record: Record) -> None:
        """Raise InputError where a record does not have this form."""
        _require_fields(record, self.task.fields, where)
        self._number(record, where)

    def _number(self, record: Record, where: str) -> float | None:
        given = require_field(record, self.task.labels_field, where)
        return None if given is None else parse_number(given, f"{where}: {self.task.labels_field}")


@dataclass(frozen=True, slots=True)
class PublishedListBuilder(_PublishedTaskBuilder):
    """Queries, each with scored candidates. words: whether the queries are words, not papers."""

    words: bool

    def examples(self, context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        """Yield the triplets of the first lists, at most five of a list."""
        records = self._records(context, part, count_lists(context.max_queries))
        return ScoredListSampler().sample((self._list(*each, report) for each in records), report=report)

    def check(self, where: str, record: Record) -> None:
        """Raise InputError where a record does not have this form."""
        self._list(where, record, SourceReport())
        for each in record["candidates"][:1]:
            _require_fields(each, self.task.fields, where)

    def _list(self, where: str, record: Record, report: SourceReport) -> ScoredList:
        report.records += 1
        candidates = require_field(record, "candidates", where)
        if not isinstance(candidates, list):
            raise InputError(f"{where}: candidates is {candidates!r:.60}, not a list")
        papers = [parse_record_paper(each, self.task.fields) for each in candidates]
        scores = [parse_score(each, f"{where}, candidate {at}") for at, each in enumerate(candidates, 1)]
        query = require_field(record, "query", where)
        if not self.words:
            fields = query if isinstance(query, dict) else {**record, "title": query}
            return ScoredList(parse_record_paper(fields, self.task.fields), papers, scores)
        fields = query if isinstance(query, dict) else {"title": query}
        words = (format_words(fields.get(field)) for field in self.task.fields)
        return ScoredList(" ".join(filter(None, words)), papers, scores)


@dataclass(frozen=True, slots=True)
class PublishedTripletBuilder(_PublishedTaskBuilder):
    """Published triplets of papers."""

    def examples(self, context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        """Yield the first triplets."""
        for where, record in self._records(context, part, context.max_queries):
            report.records += 1
            papers = [parse_record_paper(require_field(record, key, where), self.task.fields) for key in TRIPLET]
            query, positive, negative = papers
            if all(paper.title or paper.abstract for paper in papers):
                report.add(QuerySample((0,), (0,), ("as published",)))
                yield Example(query, (positive,), (negative,))
            else:
                report.dropped.add("triplet with a paper without text", query.id or where)

    def check(self, where: str, record: Record) -> None:
        """Raise InputError where a record does not have this form."""
        papers = [require_field(record, key, where) for key in TRIPLET]
        for key, paper in zip(TRIPLET, papers, strict=True):
            _require_fields(paper, self.task.fields, f"{where}, {key}")


PublishedBuilder = PublishedClassBuilder | PublishedNumberBuilder | PublishedListBuilder | PublishedTripletBuilder
BUILDERS: dict[str, Callable[[PublishedTask], PublishedBuilder]] = {
    "classification": PublishedClassBuilder,
    "regression": PublishedNumberBuilder,
    "triplet": PublishedTripletBuilder,
}
"""Type of a task -> its builder; that of lists also needs the role of the queries."""


def build_published_source(task: PublishedTask, data_root: DataRoot) -> SciRepEvalSource:
    """Return the source of a task.

    Checks the first record of each part. Raises InputError where data or fields are missing.
    """
    first = {part: _read_first_record(data_root, task, part) for part in PARTS if part in task.locations}
    format = task.format or TYPES[task.type]
    query: Role = "paper"
    builder: PublishedBuilder
    if task.type == "ir":  # without a control code, the first query decides
        where, record = first["train"]
        words = isinstance(require_field(record, "query", where), str)
        format = task.format or ("search" if words else "proximity")
        query = "query" if format == "search" else "paper"
        builder = PublishedListBuilder(task, query == "query")
    else:
        builder = BUILDERS[task.type](task)
    for where, record in first.values():
        builder.check(where, record)
    return SciRepEvalSource(
        name=task.name,
        type=task.type,
        format=format,
        query=query,
        builder=builder,
        labels=task.labels,
        multi_label=task.multi_label,
        contrastive=task.contrastive,
        parts=tuple(first),
        max_examples=task.max_examples,
    )


def _read_first_record(data_root: DataRoot, task: PublishedTask, part: Part) -> tuple[str, Record]:
    location = task.locations[part]
    for where, record in read_records(data_root, location):
        return f"task {task.name!r}: {where}", record
    files = ", ".join(map(str, location.files)) or f"{location.repo}, {location.config}, {location.split}"
    raise InputError(f"task {task.name!r}: {files}: no record")


def _require_fields(record: Any, fields: Iterable[str], where: str) -> None:
    for key in fields:
        require_field(record, key, where)
