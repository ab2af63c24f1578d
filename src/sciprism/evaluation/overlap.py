"""Count training papers that are in test sets: by id, DOI, title, near-duplicate text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain, islice
from typing import Any

from sciprism.datasets import inputs
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.open_data import list_paper_keys
from sciprism.errors import InputError
from sciprism.evaluation.task import Task
from sciprism.papers.identity import join_groups
from sciprism.papers.near_texts import MinHashSignatures
from sciprism.papers.records import Paper
from sciprism.text.template import Item

EXAMPLES = 5  # pairs shown per task; all are counted
SHORT_ID = 6  # ids of fewer characters, and plain numbers, are too common to identify a paper


@dataclass(frozen=True, slots=True)
class PaperMatch:
    """A training paper, its test paper, and what they share: id, doi, title, text ..."""

    train: str
    test: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskOverlap:
    """The overlap of a task's test papers with the training papers.

    tested: test papers. found: test papers that are training papers. training: training papers that are test
    papers. reasons: what they share -> training papers; one paper may count under several.
    """

    task: str
    tested: int
    found: int
    training: int
    reasons: Mapping[str, int]
    examples: tuple[PaperMatch, ...]


@dataclass(frozen=True, slots=True)
class Overlap:
    """The overlap of training papers with each task, and with all tasks.

    unread: tasks whose data could not be read -> the reason.
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
    near_duplicates: float | None = 0.8,
    unread: Mapping[str, str] | None = None,
) -> Overlap:
    """Compare training papers with the papers of tests (task -> papers).

    near_duplicates: Jaccard similarity of word 3-grams from which two texts count as one; None compares no
    texts. Training papers are read once and not stored.
    """
    signatures, numbers = MinHashSignatures(), dict[tuple[str, str, str], int]()
    by_key: dict[str, list[int]] = defaultdict(list)
    test_ids: list[str] = []
    members: dict[str, set[int]] = {task: set() for task in tests}
    for task, papers in tests.items():
        for paper in papers:
            text = paper.id, paper.title, paper.abstract
            if text not in numbers:
                numbers[text] = len(test_ids)
                for key in _keys(paper):
                    by_key[key].append(len(test_ids))
                test_ids.append(paper.id)
                signatures.add(numbers[text], f"{paper.title} {paper.abstract}")
            members[task].add(numbers[text])
    names: list[str] = []
    matches: dict[int, dict[int, set[str]]] = defaultdict(dict)
    for number, paper in enumerate(training):
        names.append(paper.id)
        for key in _keys(paper):
            for test in by_key.get(key, ()):
                matches[number].setdefault(test, set()).add(key.partition(":")[0])
        if near_duplicates is not None:
            signatures.add(len(test_ids) + number, f"{paper.title} {paper.abstract}")
    groups: dict[int, list[int]] = {}
    for pair in signatures.pairs(near_duplicates or 1.0):
        join_groups(groups, *pair)
    for group in {min(group): group for group in groups.values()}.values():
        tested = {position: {"text"} for position in group if position < len(test_ids)}
        for number in (position - len(test_ids) for position in group if position >= len(test_ids) and tested):
            matches[number] = tested | matches[number]
    overlaps = []
    for task, of_task in members.items():
        inside = {number: sorted(of_task & found.keys()) for number, found in matches.items()}
        both = {number: found for number, found in inside.items() if found}
        shared = (set().union(*(matches[number][test] for test in found)) for number, found in both.items())
        reasons = Counter[str](chain.from_iterable(shared))
        examples = tuple(
            PaperMatch(names[number], test_ids[first], tuple(sorted(matches[number][first])))
            for number, (first, *_) in islice(both.items(), EXAMPLES)
        )
        count = len(set().union(*both.values()))
        overlaps.append(TaskOverlap(task, len(of_task), count, len(both), dict(reasons.most_common()), examples))
    return Overlap(len(names), len(matches), tuple(overlaps), dict(unread or {}))


def list_test_papers(data: object) -> list[Paper]:
    """Return the papers that a task's score depends on: test rows, queries that are papers, candidates.

    Of a fine-tuning task these are the texts that the model reads; of a question, the context alone.
    data: what the task's layout returned. Raises InputError for an unknown kind of input.
    """
    items: list[Item]
    if isinstance(data, inputs.ProbeInput):
        items = [data.items[row] for row in data.test.tolist()]
    elif isinstance(data, inputs.RerankInput | inputs.RetrievalInput):
        ranked = data.candidates if isinstance(data, inputs.RerankInput) else data.documents
        items = [*(data.queries if data.query_role == "paper" else ()), *ranked]
    elif isinstance(data, inputs.LabelInput | inputs.MatchInput):
        items = list(data.papers)
    elif isinstance(data, inputs.Signatures):
        rows = {mention.paper for mention in data.signatures if mention.block in data.test}
        items = [data.papers[row] for row in sorted(rows)]
    elif isinstance(data, inputs.ClickLog):
        rows = {row for click in data.test for row in (click.paper, *click.shown.tolist())}
        items = [data.papers[row] for row in sorted(rows)]
    elif isinstance(data, inputs.SpanInput):
        items = list(dict.fromkeys(data.contexts[row] for row in data.test.tolist()))
    elif isinstance(data, inputs.TaggingInput | inputs.PairInput):
        texts = data.words if isinstance(data, inputs.TaggingInput) else data.texts
        items = list(dict.fromkeys(" ".join(texts[row]) for row in data.test.tolist()))
    else:
        raise InputError(f"the test papers of {type(data).__name__} are not known")
    return [item if isinstance(item, Paper) else Paper(id="", title=str(item)) for item in items]


def read_test_papers(data_root: DataRoot, tasks: Iterable[Task]) -> tuple[dict[str, list[Paper]], dict[str, str]]:
    """Return the test papers of each task, and task -> reason where the data could not be read."""
    papers_by_task: dict[str, list[Paper]] = {}
    unread: dict[str, str] = {}
    read: dict[Any, list[Paper]] = {}
    for task in tasks:
        try:
            if task.data not in read:
                read[task.data] = list_test_papers(task.data.read(data_root))
            papers_by_task[task.name] = read[task.data]
        except (InputError, OSError) as error:
            unread[task.name] = str(error)
    return papers_by_task, unread


def _keys(paper: Paper) -> list[str]:
    """Return a paper's identifiers, and its id: alone where it is specific enough, else with the title."""
    if len(paper.id) >= SHORT_ID and not paper.id.isdigit():
        return [*list_paper_keys(paper), f"id:{paper.id}"]
    title = [f"id and title:{paper.id} {paper.title.casefold()}"] if paper.title else []
    return [*list_paper_keys(paper), *title]
