"""Training examples from the open data, a function for each kind of example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.open.classes import OUTSIDE, VOCABULARIES, PaperNumbers, Scale
from sciprism.datasets.layouts.open.sampling import ELSEWHERE
from sciprism.datasets.open_data import UNNAMED, Part, read_paper
from sciprism.datasets.split import SplitEntry, SplitTable, list_paper_keys, read_entries
from sciprism.drop_report import DropReport
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.answers import MAX_DESCRIPTORS, most_frequent
from sciprism.prepare.samplers.labels import MAX_PER_LABEL, sample_label_pairs
from sciprism.prepare.samplers.links import sample_citation_triplets, sample_same_author
from sciprism.prepare.samplers.sampling import NONE, QuerySample, Sampling
from sciprism.prepare.samplers.scored_lists import NO_WORDS, ScoredList, sample_clicks
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

ClassNames = tuple[tuple[str, str], ...]
"""The value of each class, and its readable name."""
PaperAnswers = tuple[Paper, tuple[str | float, ...]]


@dataclass(slots=True)
class OpenData:
    """The open data; the papers of the last data set stay in memory."""

    data_root: DataRoot
    _read: dict[str, list[SplitEntry]] = field(default_factory=dict)

    def read(self, data: str) -> list[SplitEntry]:
        """Return the papers of a data set with their parts in the one split."""
        if data not in self._read:
            self._read.clear()
            self._read[data] = read_entries(self.data_root, data)
        return self._read[data]


@dataclass(frozen=True, slots=True)
class OpenPart:
    """One part of a data set, and how its examples are sampled."""

    open_data: OpenData
    data: str
    part: Part
    sampling: Sampling

    def entries(self, *more: Part, dropped: DropReport | None = None) -> list[SplitEntry]:
        """Return the papers of the part, and of more parts.

        Papers that the data set assigns to one of the parts, but another data set does not, are counted.
        """
        parts = (self.part, *more)
        for entry in self.open_data.read(self.data):
            if entry.own_part in parts and entry.part not in parts:
                (self.sampling.report.dropped if dropped is None else dropped).add(ELSEWHERE, entry.paper.id)
        return [entry for entry in self.open_data.read(self.data) if entry.part in parts]

    def records(self, file: str) -> Iterator[dict[str, Any]]:
        """Yield the records of a file of the data set."""
        data_root = self.open_data.data_root
        return data_root.records(data_root.local(f"{self.data}/{file}"))

    def find_part(self, paper: Paper, *data: str) -> Part | None:
        """Return the part of a paper, by its title and ids, those of `data` too; None if it is unknown."""
        return SplitTable.load(self.open_data.data_root).part(*list_paper_keys(paper, *data))

    def has_paper(self, paper: Paper) -> bool:
        """Return whether a paper, of data that no rule splits, is known and of the part; count it if not."""
        part = self.find_part(paper, self.data)
        if part != self.part:
            self.sampling.drop(ELSEWHERE if part else "paper without a title", paper.id)
        return part == self.part

    def has_query(self, text: str) -> bool:
        """Return whether the words of a query are not the title of a paper of another part."""
        part = self.find_part(Paper(id=UNNAMED, title=text))
        if part not in (None, self.part):
            self.sampling.drop("query that is the title of a paper of another part", text)
        return part in (None, self.part)

    def select(self, papers: Sequence[PaperAnswers], limit: int) -> list[PaperAnswers]:
        """Return the papers whose ids have the lowest hashes, at most `limit`, 0 for all; count them."""
        rows = replace(self.sampling, limit=limit).select([paper.id for paper, _ in papers])
        self.sampling.report.queries += len(rows)
        return [papers[row] for row in rows]


def build_term_labels(
    source: OpenPart, *, terms: str, vocabulary: str, max_per_label: int = MAX_PER_LABEL
) -> Iterator[Example]:
    """Yield papers with their terms of a vocabulary, and terms of related papers as negatives."""
    labels, rows = VOCABULARIES[vocabulary](source.open_data.data_root)
    entries = source.entries()
    for entry in entries:
        for term in entry.row[terms] or ():
            if term not in rows:
                source.sampling.drop(OUTSIDE, term)
    paper_labels = [[rows[term] for term in entry.row[terms] or () if term in rows] for entry in entries]
    return _pair_labels(source, entries, labels, paper_labels, max_per_label)


def build_class_labels(source: OpenPart, *, target: str, names: ClassNames) -> Iterator[Example]:
    """Yield equally many papers of each class with its name, and classes of related papers as negatives."""
    labels = [Label(id=key, name=name) for key, name in names]
    rows = {label.id: row for row, label in enumerate(labels)}
    entries = source.entries()
    paper_labels = [[rows[key] for key in [str(entry.row[target])] if key in rows] for entry in entries]
    return _pair_labels(source, entries, labels, paper_labels, ceil(source.sampling.limit / len(labels)))


def _pair_labels(
    source: OpenPart,
    entries: Sequence[SplitEntry],
    labels: Sequence[Label],
    paper_labels: Sequence[Sequence[int]],
    max_per_label: int,
) -> Iterator[Example]:
    papers = [replace(entry.paper, authors=tuple(entry.row.get("authors") or ())) for entry in entries]
    return sample_label_pairs(papers, labels, paper_labels, source.sampling, max_per_label=max_per_label)


def build_class_answers(source: OpenPart, *, target: str, names: ClassNames) -> Iterator[Example]:
    """Yield equally many papers of each class with its name as the answer, in mixed order of classes."""
    name_of = dict(names)
    by_class: dict[str, list[PaperAnswers]] = {}
    for entry in source.entries():
        if (key := str(entry.row[target])) in name_of:
            by_class.setdefault(key, []).append((entry.paper, (name_of[key],)))
    limit = ceil(source.sampling.limit / len(names))
    selected = [paper for key in sorted(by_class) for paper in source.select(by_class[key], limit)]
    selected.sort(key=lambda row: random_fraction(source.sampling.seed, row[0].id))
    return _answer(selected)


def build_term_answers(
    source: OpenPart, *, terms: str, vocabulary: str, count: int = MAX_DESCRIPTORS
) -> Iterator[Example]:
    """Yield papers that have any of the `count` most frequent terms of train, with all that they have."""
    labels, rows = VOCABULARIES[vocabulary](source.open_data.data_root)
    train = replace(source, part="train").entries(dropped=DropReport())
    frequent = {*most_frequent((term for entry in train for term in entry.row[terms] or () if term in rows), count)}
    papers: list[PaperAnswers] = []
    for entry in source.entries():
        if own_terms := sorted(frequent.intersection(entry.row[terms] or ())):
            papers.append((entry.paper, tuple(labels[rows[term]].name for term in own_terms)))
        else:
            source.sampling.drop("no frequent term", entry.paper.id)
    return _answer(source.select(papers, source.sampling.limit))


def build_number_answers(source: OpenPart, *, target: str, scale: Scale = "as it is") -> Iterator[Example]:
    """Yield papers with a number, scaled like the task's and then to 0-1; papers without one are counted."""
    numbers = PaperNumbers(data=source.data, target=target, scale=scale)
    entries = [entry for entry in source.entries() if entry.row.get(target) is not None]
    values = numbers.scale_numbers(entries, source.sampling.report.dropped)
    low, high = min(values.values(), default=0.0), max(values.values(), default=1.0)
    width = (high - low) or 1.0
    papers: list[PaperAnswers] = [
        (entry.paper, (round((values[entry.paper.id] - low) / width, 6),))
        for entry in entries
        if entry.paper.id in values
    ]
    return _answer(source.select(papers, source.sampling.limit))


def _answer(papers: Iterable[PaperAnswers]) -> Iterator[Example]:
    return (Example(paper, answers=answers) for paper, answers in papers)


def build_citations(source: OpenPart) -> Iterator[Example]:
    """Yield papers with those that they cite; references to papers of another part are counted.

    Candidates of dev queries include train papers.
    """
    entries = source.entries("train")
    edges = [(entry.paper.id, name) for entry in entries for name in entry.row["references"]]
    queries = [entry.paper.id for entry in entries if entry.part == source.part]
    return sample_citation_triplets([entry.paper for entry in entries], edges, source.sampling, queries=queries)


def build_same_author(source: OpenPart, *, authors: str, positives: int = 2) -> Iterator[Example]:
    """Yield papers with others by their authors. Candidates of dev queries include train papers."""
    entries = []
    for entry in source.entries("train"):
        if any(entry.row[authors] or ()):
            entries.append(entry)
        elif entry.part == source.part:
            source.sampling.drop(f"no {authors}", entry.paper.id)
    names = [[name for name in entry.row[authors] if name] for entry in entries]
    queries = [entry.paper.id for entry in entries if entry.part == source.part]
    papers = [entry.paper for entry in entries]
    return sample_same_author(papers, names, source.sampling, queries=queries, positives=positives)


def build_titles(source: OpenPart) -> Iterator[Example]:
    """Yield titles with their abstracts, which have no title."""
    return pair_titles((entry.paper for entry in source.entries()), source.sampling)


def build_summaries(source: OpenPart, *, summary: str) -> Iterator[Example]:
    """Yield summaries with their papers; papers without a summary are skipped. summary: its field."""
    rows = ((entry.row[summary], entry.paper) for entry in source.entries() if entry.row[summary])
    return pair_texts(rows, source.sampling)


def pair_titles(papers: Iterable[Paper], sampling: Sampling) -> Iterator[Example]:
    """Yield the title of each paper, and the paper with its abstract alone."""
    return pair_texts(((paper.title, Paper(id=paper.id, abstract=paper.abstract)) for paper in papers), sampling)


def pair_texts(pairs: Iterable[tuple[str, Paper]], sampling: Sampling) -> Iterator[Example]:
    """Yield each text as a query that its paper answers, without hard negatives; both must have words."""
    complete = []
    for text, paper in pairs:
        if not text.strip():
            sampling.drop(NO_WORDS, paper.id)
        elif sampling.has_text(paper):
            complete.append((text, paper))
    for row in sampling.select([paper.id for _, paper in complete]):
        sampling.report.add(QuerySample((0,), (), (NONE,)))
        yield Example(complete[row][0], (complete[row][1],))


def build_clicks(source: OpenPart, *, file: str) -> Iterator[Example]:
    """Yield queries with clicked and other shown papers; papers of other parts are dropped."""
    lists = []
    for row in source.records(file):
        if source.has_query(row["query"]):
            candidates = [(parse_s2_paper(record), record["score"]) for record in row["candidates"]]
            shown = [(paper, score) for paper, score in candidates if source.has_paper(paper)]
            lists.append(ScoredList(row["query"], [paper for paper, _ in shown], [score for _, score in shown]))
    return sample_clicks(lists, source.sampling)


def build_triplets(source: OpenPart, *, file: str) -> Iterator[Example]:
    """Yield the published triplets whose papers are all of the part."""
    for row in source.records(file):
        query, positive, negative = (parse_s2_paper(row[key]) for key in ("query", "pos", "neg"))
        if all(source.has_paper(paper) for paper in (query, positive, negative)):
            source.sampling.report.add(QuerySample((0,), (0,), ("as published",)))
            yield Example(query, (positive,), (negative,))


def parse_s2_paper(row: dict[str, Any]) -> Paper:
    """Return a paper of a SciRepEval training example, with its Semantic Scholar id."""
    paper = next(read_paper(row))
    return paper if paper.id == UNNAMED else replace(paper, ids={**paper.ids, "s2": paper.id})
