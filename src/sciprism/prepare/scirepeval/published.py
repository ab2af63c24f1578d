"""The published records as examples: a form for each type of task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.item_tables import number_of
from sciprism.datasets.rows import as_id
from sciprism.datasets.sources import Part
from sciprism.errors import InputError
from sciprism.formats import Format, Role
from sciprism.papers.records import Paper
from sciprism.prepare.open.making import Desk
from sciprism.prepare.samplers.drawing import Draw
from sciprism.prepare.samplers.scored_lists import ScoredList, ScoredTriplets
from sciprism.prepare.samplers.strata import iteratively_stratified, stratified
from sciprism.prepare.scirepeval.config import PARTS, TYPES, PublishedTask
from sciprism.prepare.scirepeval.records import (
    Record,
    need,
    paper_in,
    records_in,
    score_in,
    words_of,
)
from sciprism.prepare.scirepeval.source import Taken, TrainingSource, lists_for
from sciprism.training.examples import Example

TRIPLET = ("query", "pos", "neg")


@dataclass(frozen=True, slots=True)
class _OfTask:
    """What the forms share. task: whose records they read."""

    task: PublishedTask

    @property
    def data(self) -> str:
        """Return the files, or the hub data set and its config."""
        place = self.task.places["train"]
        files = ", ".join(f"{path.parent.name}/{path.name}" for path in place.files)
        return files or f"{place.repo}, {place.config or 'default'}"

    def _records(self, desk: Desk, part: Part, most: int = 0) -> Iterator[tuple[str, Record]]:
        return islice(records_in(desk.home, self.task.places[part]), most or None)


@dataclass(frozen=True, slots=True)
class Classified(_OfTask):
    """Papers with one class, or several. The file is read twice where a sample is drawn from it."""

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield papers with their classes, the drawn ones in the file's order."""
        kept = self._sample(desk, part)
        for number, (where, record) in enumerate(self._records(desk, part)):
            paper, answers = paper_in(record, self.task.fields), self._classes(record, where)
            if not answers:
                report.dropped.add("no label of the list", paper.id or where)
                continue
            report.records += 1
            if not (paper.title or paper.abstract):
                report.dropped.add("no text", paper.id or where)
            elif kept is None or number in kept:
                yield Example(paper, (), answers=answers)

    def look(self, where: str, record: Record) -> None:
        """Raise InputError where a record is none of this form."""
        _has(record, self.task.fields, where)
        self._classes(record, where)

    def _sample(self, desk: Desk, part: Part) -> frozenset[int] | None:
        """Return the numbers of the drawn records; None where all are taken."""
        if not desk.most:
            return None
        order = {label: number for number, label in enumerate(self.task.labels)}
        numbers, carried = [], []
        for number, (where, record) in enumerate(self._records(desk, part)):
            if found := [order[name] for name in self._classes(record, where)]:
                numbers.append(number)
                carried.append(found)
        if len(numbers) <= desk.most:
            return None
        if self.task.multi_label:
            rows = iteratively_stratified(carried, desk.most, desk.seed)
        else:
            rows = stratified([found[0] for found in carried], desk.most, desk.seed)
        return frozenset(numbers[row] for row in rows.tolist())

    def _classes(self, record: Record, where: str) -> tuple[str, ...]:
        given = need(record, self.task.labels_field, where)
        if given is None:
            return ()
        if isinstance(given, list) != self.task.multi_label:
            told = "is a list; say multi_label: true" if isinstance(given, list) else "is not a list"
            raise InputError(f"{where}: {self.task.labels_field} {told}: {given!r:.60}")
        names = dict.fromkeys(map(as_id, given if isinstance(given, list) else [given]))
        return tuple(name for name in names if name in self.task.labels)


@dataclass(frozen=True, slots=True)
class Numbered(_OfTask):
    """Papers with a number."""

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield the papers of the first records with their numbers."""
        for where, record in self._records(desk, part, desk.most):
            report.records += 1
            paper, number = paper_in(record, self.task.fields), self._number(record, where)
            if number is None or not (paper.title or paper.abstract):
                report.dropped.add("no number" if number is None else "no text", paper.id or where)
            else:
                yield Example(paper, (), answers=(number,))

    def look(self, where: str, record: Record) -> None:
        """Raise InputError where a record is none of this form."""
        _has(record, self.task.fields, where)
        self._number(record, where)

    def _number(self, record: Record, where: str) -> float | None:
        given = need(record, self.task.labels_field, where)
        return None if given is None else number_of(given, f"{where}: {self.task.labels_field}")


@dataclass(frozen=True, slots=True)
class Listed(_OfTask):
    """Queries, each with scored candidates. words: whether the queries are words, or papers."""

    words: bool

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield the triplets of the first lists, five of a list at most."""
        records = self._records(desk, part, lists_for(desk.most))
        return ScoredTriplets().sample((self._list(*each, report) for each in records), report=report)

    def look(self, where: str, record: Record) -> None:
        """Raise InputError where a record is none of this form."""
        self._list(where, record, Taken())
        for each in record["candidates"][:1]:
            _has(each, self.task.fields, where)

    def _list(self, where: str, record: Record, report: Taken) -> ScoredList:
        report.records += 1
        candidates = need(record, "candidates", where)
        if not isinstance(candidates, list):
            raise InputError(f"{where}: candidates is {candidates!r:.60}, not a list")
        papers = [paper_in(each, self.task.fields) for each in candidates]
        scores = [score_in(each, f"{where}, candidate {at}") for at, each in enumerate(candidates, 1)]
        return ScoredList(self._query(need(record, "query", where), record), papers, scores)

    def _query(self, query: Any, record: Record) -> Paper | str:
        if self.words:
            told = query if isinstance(query, dict) else {"title": query}
            return " ".join(filter(None, (words_of(told.get(field)) for field in self.task.fields)))
        return paper_in(query if isinstance(query, dict) else {**record, "title": query}, self.task.fields)


@dataclass(frozen=True, slots=True)
class Tripled(_OfTask):
    """Ready triplets of papers."""

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield the first triplets."""
        for where, record in self._records(desk, part, desk.most):
            report.records += 1
            papers = [paper_in(need(record, key, where), self.task.fields) for key in TRIPLET]
            query, positive, negative = papers
            if all(paper.title or paper.abstract for paper in papers):
                report.add(Draw((0,), (0,), ("as published",)))
                yield Example(query, (positive,), (negative,))
            else:
                report.dropped.add("triplet with a paper without text", query.id or where)

    def look(self, where: str, record: Record) -> None:
        """Raise InputError where a record is none of this form."""
        papers = [need(record, key, where) for key in TRIPLET]
        for key, paper in zip(TRIPLET, papers, strict=True):
            _has(paper, self.task.fields, f"{where}, {key}")


def source_of(task: PublishedTask, home: DataRoot) -> TrainingSource:
    """Return the source of a task whose data are there and have the fields that it names.

    The first record of each part is looked at; InputError says what it lacks.
    """
    first = {part: _first(home, task, part) for part in PARTS if part in task.places}
    format, query = _side(task, *first["train"])
    form = _form(task, query)
    for where, record in first.values():
        form.look(where, record)
    return TrainingSource(
        name=task.name,
        type=task.type,
        format=format,
        query=query,
        form=form,
        labels=task.labels,
        multi_label=task.multi_label,
        contrastive=task.contrastive,
        parts=tuple(first),
        most=task.most,
    )


def _form(task: PublishedTask, query: Role) -> Classified | Numbered | Listed | Tripled:
    if task.type == "ir":
        return Listed(task, query == "query")
    if task.type == "triplet":
        return Tripled(task)
    return Classified(task) if task.type == "classification" else Numbered(task)


def _side(task: PublishedTask, where: str, record: Record) -> tuple[Format, Role]:
    """Return the format, and whether queries are papers or words; without a code the query itself tells."""
    if task.type != "ir":
        return task.format or TYPES[task.type], "paper"
    words = isinstance(need(record, "query", where), str)
    format = task.format or ("search" if words else "proximity")
    return format, "query" if format == "search" else "paper"


def _first(home: DataRoot, task: PublishedTask, part: Part) -> tuple[str, Record]:
    place = task.places[part]
    for where, record in records_in(home, place):
        return f"task {task.name!r}: {where}", record
    told = ", ".join(map(str, place.files)) or f"{place.repo}, {place.config}, {place.split}"
    raise InputError(f"task {task.name!r}: {told}: no record")


def _has(record: Any, fields: Iterable[str], where: str) -> None:
    for key in fields:
        need(record, key, where)
