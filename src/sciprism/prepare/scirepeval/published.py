"""Examples from published records, one kind for each type of task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.item_tables import parse_number
from sciprism.datasets.open_data import Part
from sciprism.datasets.rows import as_id
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.example_folder import PARTS, TrainingSource
from sciprism.prepare.samplers.answers import sample_iteratively_stratified, sample_stratified
from sciprism.prepare.samplers.sampling import QuerySample, Sampling
from sciprism.prepare.samplers.scored_lists import ScoredList, count_lists, sample_scored_triplets
from sciprism.prepare.scirepeval.config import TYPES, PublishedTask
from sciprism.prepare.sources.records import Record, format_words, parse_record_paper, parse_score, require_field
from sciprism.training.examples import Example

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
    build, check = {
        "classification": (records.build_classes, records.check_classes),
        "regression": (records.build_numbers, records.check_number),
        "ir": (records.build_lists, records.check_list),
        "triplet": (records.build_triplets, records.check_triplet),
    }[task.type]
    for where, record in first.values():
        check(where, record)
    location = task.locations["train"]
    files = ", ".join(f"{path.parent.name}/{path.name}" for path in location.files)
    return TrainingSource(
        name=task.name,
        type=task.type,
        format=format,
        data=files or f"{location.repo}, {location.config or 'default'}",
        build=build,
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
    """The records of a task. A check raises InputError where a record does not have the form of its type.

    words: whether the queries of lists are words, not papers.
    """

    task: PublishedTask
    data_root: DataRoot
    words: bool

    def _read(self, part: Part, limit: int = 0) -> Iterator[tuple[str, Record]]:
        return islice(self.task.locations[part].read(self.data_root), limit or None)

    def _paper(self, record: Any) -> Paper:
        return parse_record_paper(record, self.task.fields)

    def _require_fields(self, record: Any, where: str) -> None:
        for key in self.task.fields:
            require_field(record, key, where)

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

    def check_classes(self, where: str, record: Record) -> None:
        """Check the fields of the paper, and its classes."""
        self._require_fields(record, where)
        self._classes(record, where)

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

    def check_number(self, where: str, record: Record) -> None:
        """Check the fields of the paper, and its number."""
        self._require_fields(record, where)
        self._number(record, where)

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

    def check_list(self, where: str, record: Record) -> None:
        """Check the query, the scores, and the fields of the first candidate."""
        self._list(where, record)
        for candidate in record["candidates"][:1]:
            self._require_fields(candidate, where)

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

    def check_triplet(self, where: str, record: Record) -> None:
        """Check the fields of the three papers."""
        papers = [require_field(record, key, where) for key in TRIPLET]
        for key, paper in zip(TRIPLET, papers, strict=True):
            self._require_fields(paper, f"{where}, {key}")
