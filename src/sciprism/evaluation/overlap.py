"""How many training papers stand in tests: by id, DOI and its like, title, and nearly equal text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import (
    Corpus,
    Labelled,
    LabelSpace,
    Pools,
    Questions,
    Reviewers,
    Segments,
    Tagged,
)
from sciprism.datasets.split import names
from sciprism.errors import InputError
from sciprism.evaluation.task import Task
from sciprism.papers.clicks import Clicks
from sciprism.papers.duplicates import DuplicateFinder
from sciprism.papers.records import Paper
from sciprism.papers.signatures import Signatures
from sciprism.text.template import Item

EXAMPLES = 5
"""Pairs that are shown of each task; all are counted."""
SHORT_ID = 6
"""Ids of fewer characters, and mere numbers, are too common to mean a paper."""
TEXT, TITLE, INDIRECT = "text", "title", "through another training paper"


@dataclass(frozen=True, slots=True)
class Match:
    """A training paper, the test paper that it is, and what shows it: id, doi, title, text ..."""

    train: str
    test: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskOverlap:
    """What a task's test shares with the training papers.

    tested: papers of the test. found: those of them that are training papers. training: training papers that
    are test papers. reasons: training papers by what shows it; one paper may count under several.
    """

    task: str
    tested: int
    found: int
    training: int
    reasons: Mapping[str, int]
    examples: tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap of training papers with each task, and with all.

    unread: tasks that could not be looked at, with the reason.
    """

    papers: int
    training: int
    tasks: tuple[TaskOverlap, ...]
    unread: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return asdict(self)


def find_overlap(
    training: Iterable[Paper],
    tests: Mapping[str, Sequence[Paper]],
    *,
    near: float | None = 0.8,
    unread: Mapping[str, str] | None = None,
) -> Overlap:
    """Compare training papers with the papers of tests (task -> papers).

    near: Jaccard similarity of word 3-grams from which two texts count as one; None compares no texts.
    Training papers are read once and not kept.
    """
    side = _Tests(tests, near)
    places = [(paper.id, side.add(paper)) for paper in training]
    matches: dict[int, dict[int, set[str]]] = {n: exact for n, (_, exact) in enumerate(places) if exact}
    for number, group, reason in side.alike():
        known = matches.setdefault(number, {})
        for test in group - known.keys():
            known[test] = {reason}
    tasks = tuple(
        _of_task(task, members, matches, [name for name, _ in places], side)
        for task, members in side.members.items()
    )
    return Overlap(len(places), len(matches), tasks, dict(unread or {}))


def papers_of_test(data: object) -> list[Paper]:
    """Return the papers that a task's score depends on: test rows, queries that are papers, candidates.

    data: what the task's layout read. Raises InputError for an input of which this is not known.
    """
    items: list[Item]
    if isinstance(data, Labelled):
        items = [data.items[row] for row in data.test.tolist()]
    elif isinstance(data, Pools):
        items = [*(data.queries if data.query_role == "paper" else ()), *data.candidates]
    elif isinstance(data, Corpus):
        items = [*(data.queries if data.query_role == "paper" else ()), *data.documents]
    elif isinstance(data, LabelSpace | Reviewers):
        items = list(data.papers)
    elif isinstance(data, Signatures):
        rows = {each.paper for each in data.signatures if each.block in data.test}
        items = [data.papers[row] for row in sorted(rows)]
    elif isinstance(data, Clicks):
        rows = {row for click in data.test for row in (click.paper, *click.shown.tolist())}
        items = [data.papers[row] for row in sorted(rows)]
    elif isinstance(data, Tagged | Segments | Questions):
        items = list(dict.fromkeys(_text(data, row) for row in data.test.tolist()))
    else:
        raise InputError(f"which papers a test of {type(data).__name__} has is not known")
    return [item if isinstance(item, Paper) else Paper(id="", title=str(item)) for item in items]


def _text(data: Tagged | Segments | Questions, row: int) -> str:
    """Return what a fine-tuned model reads in a row; a question's context alone."""
    if isinstance(data, Questions):
        return data.contexts[row]
    return " ".join(data.words[row] if isinstance(data, Tagged) else data.texts[row])


def read_tests(home: DataRoot, tasks: Iterable[Task]) -> tuple[dict[str, list[Paper]], dict[str, str]]:
    """Return the test papers of each task, and the tasks whose data could not be read with the reason."""
    found: dict[str, list[Paper]] = {}
    unread: dict[str, str] = {}
    read: dict[Any, list[Paper]] = {}
    for task in tasks:
        try:
            if task.data not in read:
                read[task.data] = papers_of_test(task.data.read(home))
            found[task.name] = read[task.data]
        except (InputError, OSError) as error:
            unread[task.name] = str(error)
    return found, unread


class _Tests:
    """The papers of all tests, each kept once, and the training papers that are compared with them."""

    def __init__(self, tests: Mapping[str, Sequence[Paper]], near: float | None) -> None:
        self.ids: list[str] = []
        self.members: dict[str, set[int]] = {}
        self._by_name: dict[str, list[int]] = defaultdict(list)
        self._finder = DuplicateFinder(near=near)
        self._count = 0
        seen: dict[tuple[str, str, str], int] = {}
        for task, papers in tests.items():
            self.members[task] = {self._keep(paper, seen) for paper in papers}

    def add(self, paper: Paper) -> dict[int, set[str]]:
        """Take in a training paper; return the test papers that bear one of its names, with the reasons."""
        found: dict[int, set[str]] = {}
        for key in _keys(paper):
            for place in self._by_name.get(key, ()):
                found.setdefault(place, set()).add(key.partition(":")[0])
        self._finder.add(self._unnamed(paper))
        return found

    def alike(self) -> Iterator[tuple[int, set[int], str]]:
        """Yield the number of a training paper, the test papers that it is grouped with, and the reason."""
        first = len(self.ids)
        for group in self._finder.find().groups:
            tests = {place for place in group.places if place < first}
            reason = next((name for name in (TEXT, TITLE) if name in group.reasons), INDIRECT)
            for place in group.places if tests else ():
                if place >= first:
                    yield place - first, tests, reason

    def _keep(self, paper: Paper, seen: dict[tuple[str, str, str], int]) -> int:
        key = paper.id, paper.title, paper.abstract
        if key not in seen:
            seen[key] = len(self.ids)
            for name in _keys(paper):
                self._by_name[name].append(len(self.ids))
            self.ids.append(paper.id)
            self._finder.add(self._unnamed(paper))
        return seen[key]

    def _unnamed(self, paper: Paper) -> Paper:
        """Give a paper an id that no other has: equal ids of two data sets say nothing by themselves."""
        self._count += 1
        return replace(paper, id=f"{self._count}")


def _keys(paper: Paper) -> list[str]:
    """Return a paper's names, and its id: alone where it tells enough, else together with the title."""
    if len(paper.id) >= SHORT_ID and not paper.id.isdigit():
        return [*names(paper), f"id:{paper.id}"]
    return (
        [*names(paper), f"id and title:{paper.id} {paper.title.casefold()}"] if paper.title else names(paper)
    )


def _of_task(
    task: str,
    members: set[int],
    matches: Mapping[int, Mapping[int, set[str]]],
    training: Sequence[str],
    side: _Tests,
) -> TaskOverlap:
    reasons: Counter[str] = Counter()
    examples: list[Match] = []
    found: set[int] = set()
    count = 0
    for number, tests in matches.items():
        here = sorted(members & tests.keys())
        if not here:
            continue
        count += 1
        found.update(here)
        why = set().union(*(tests[place] for place in here))
        reasons.update(why)
        if len(examples) < EXAMPLES:
            examples.append(Match(training[number], side.ids[here[0]], tuple(sorted(tests[here[0]]))))
    return TaskOverlap(task, len(members), len(found), count, dict(reasons.most_common()), tuple(examples))
