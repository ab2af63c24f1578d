"""How the open data become examples: one record for each form that they have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Protocol

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.open.classes import Numbers
from sciprism.datasets.layouts.open.drawn import ELSEWHERE
from sciprism.datasets.layouts.open.vocabularies import OUTSIDE, VOCABULARIES
from sciprism.datasets.sources import UNNAMED, Part, one_paper
from sciprism.datasets.split import Entry, SplitTable, entries, names
from sciprism.drop_report import DropReport
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.citation import CitationTriplets
from sciprism.prepare.samplers.classes import DESCRIPTORS, frequent
from sciprism.prepare.samplers.drawing import Draw, Sampled, lowest
from sciprism.prepare.samplers.label_pairs import LabelPairs
from sciprism.prepare.samplers.same_author import SameAuthor
from sciprism.prepare.samplers.search_pairs import SearchList, SearchPairs
from sciprism.prepare.samplers.text_pairs import TextPairs, title_and_abstract
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example


@dataclass(slots=True)
class Desk:
    """Where examples are made: the data, the settings, and the papers of the data set last read."""

    home: DataRoot
    seed: int
    most: int
    workers: int
    _read: dict[str, list[Entry]] = field(default_factory=dict)

    def entries(self, data: str, *parts: Part, dropped: DropReport) -> list[Entry]:
        """Return the papers of a data set that are of these parts in the one split.

        Papers that the data set itself gives to one of the parts, but another set does not, are counted.
        """
        if data not in self._read:
            self._read.clear()
            self._read[data] = entries(self.home, data)
        for entry in self._read[data]:
            if entry.own in parts and entry.part not in parts:
                dropped.add(ELSEWHERE, entry.paper.id)
        return [entry for entry in self._read[data] if entry.part in parts]


class Form(Protocol):
    """A form of data, read as examples."""

    @property
    def data(self) -> str:
        """Return the data set's name."""

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield the examples of one part, train or dev."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsOf:
    """Papers and their terms of a vocabulary; no term in more than `cap` pairs, 0 for all of its pairs."""

    data: str
    terms: str
    vocabulary: str
    cap: int = 100

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield papers with their terms, and terms of related papers as negatives."""
        labels, rows = VOCABULARIES[self.vocabulary](desk.home)
        found = desk.entries(self.data, part, dropped=report.dropped)
        for entry in found:
            for term in entry.row[self.terms] or ():
                if term not in rows:
                    report.dropped.add(OUTSIDE, term)
        carried = [[rows[t] for t in entry.row[self.terms] or () if t in rows] for entry in found]
        return _label_pairs(desk, self.cap, found, labels, carried, report)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOf:
    """Papers and the readable name of their one class, as many papers of each class."""

    data: str
    target: str
    names: tuple[tuple[str, str], ...]

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield papers with their class, and classes of related papers as negatives."""
        labels = [Label(id=own, name=name) for own, name in self.names]
        rows = {label.id: row for row, label in enumerate(labels)}
        found = desk.entries(self.data, part, dropped=report.dropped)
        carried = [[rows[own] for own in [str(entry.row[self.target])] if own in rows] for entry in found]
        return _label_pairs(desk, ceil(desk.most / len(labels)), found, labels, carried, report)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassAnswersOf:
    """Papers and the readable name of their one class, as an answer; as many papers of each class."""

    data: str
    target: str
    names: tuple[tuple[str, str], ...]

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield papers with the name of their class, the classes mixed."""
        names = dict(self.names)
        found = desk.entries(self.data, part, dropped=report.dropped)
        by_class: dict[str, list[Entry]] = {}
        for entry in found:
            by_class.setdefault(str(entry.row[self.target]), []).append(entry)
        most = ceil(desk.most / len(names)) if desk.most else 0
        kept = []
        for own in sorted(by_class.keys() & names.keys()):
            some = by_class[own]
            for row in lowest([entry.paper.id for entry in some], most, desk.seed, report.dropped):
                kept.append((some[row].paper, names[own]))
        for paper, name in sorted(kept, key=lambda each: random_fraction(desk.seed, each[0].id)):
            yield _answered(paper, (name,), report)


@dataclass(frozen=True, slots=True, kw_only=True)
class TermAnswersOf:
    """Papers and their terms among the most frequent ones, as answers."""

    data: str
    terms: str
    vocabulary: str
    most_frequent: int = DESCRIPTORS

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield papers that carry one of these terms, with all of them that they carry."""
        labels, rows = VOCABULARIES[self.vocabulary](desk.home)
        train = desk.entries(self.data, "train", dropped=DropReport())
        carried = (term for entry in train for term in entry.row[self.terms] or () if term in rows)
        chosen = set(frequent(carried, self.most_frequent))
        known = []
        for entry in desk.entries(self.data, part, dropped=report.dropped):
            own = sorted(chosen.intersection(entry.row[self.terms] or ()))
            if own:
                known.append((entry.paper, own))
            else:
                report.dropped.add("no frequent term", entry.paper.id)
        for row in lowest([paper.id for paper, _ in known], desk.most, desk.seed, report.dropped):
            paper, own = known[row]
            yield _answered(paper, tuple(labels[rows[term]].name for term in own), report)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumbersOf:
    """Papers and a number, as an answer: as the task of that kind scales it, or from 0 to 1."""

    numbers: Numbers

    @property
    def data(self) -> str:
        """Return the data set's name."""
        return self.numbers.data

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield papers with their number; papers without one are counted."""
        found = desk.entries(self.data, part, dropped=report.dropped)
        known = [entry for entry in found if entry.row.get(self.numbers.target) is not None]
        values = self.numbers.scaled(known, report.dropped)
        papers = [entry.paper for entry in known if entry.paper.id in values]
        low, high = min(values.values(), default=0.0), max(values.values(), default=1.0)
        for row in lowest([paper.id for paper in papers], desk.most, desk.seed, report.dropped):
            share = (values[papers[row].id] - low) / ((high - low) or 1.0)
            yield _answered(papers[row], (round(share, 6),), report)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedBy:
    """Papers and those that they cite. A dev query's candidates are train papers too."""

    data: str

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield papers with cited ones; references that lead to a paper of another part are counted."""
        found = desk.entries(self.data, *_around(part), dropped=report.dropped)
        edges = [(entry.paper.id, name) for entry in found for name in entry.row["references"]]
        sampler = CitationTriplets(most=desk.most, seed=desk.seed)
        papers, queries = [entry.paper for entry in found], _ids(found, part)
        return sampler.sample(papers, edges, queries=queries, workers=desk.workers, report=report)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenBy:
    """Papers and others by their authors. A dev query's candidates are train papers too."""

    data: str
    authors: str
    positives: int = 2

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield papers that share an author with another."""
        found = desk.entries(self.data, *_around(part), dropped=report.dropped)
        known = []
        for entry in found:
            if any(entry.row[self.authors] or ()):
                known.append(entry)
            elif entry.part == part:
                report.dropped.add(f"no {self.authors}", entry.paper.id)
        sampler = SameAuthor(positives=self.positives, most=desk.most, seed=desk.seed)
        return sampler.sample(
            [entry.paper for entry in known],
            [[name for name in entry.row[self.authors] if name] for entry in known],
            queries=_ids(known, part),
            workers=desk.workers,
            report=report,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TitlesOf:
    """Titles, and the abstracts that they belong to, without the title."""

    data: str

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield titles with abstracts."""
        found = desk.entries(self.data, part, dropped=report.dropped)
        pairs = title_and_abstract(entry.paper for entry in found)
        return TextPairs(most=desk.most, seed=desk.seed).sample(pairs, report=report)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummariesOf:
    """Summaries, and the papers that they are of. field: of the summary."""

    data: str
    field: str

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield summaries with papers; papers without a summary are passed over."""
        found = desk.entries(self.data, part, dropped=report.dropped)
        pairs = ((entry.row[self.field], entry.paper) for entry in found if entry.row[self.field])
        return TextPairs(most=desk.most, seed=desk.seed).sample(pairs, report=report)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClicksIn:
    """Queries and the papers shown for them, with clicks. file: below the data set."""

    data: str
    file: str

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield queries with clicked papers, without the papers that are not of the part."""
        check = _Check(desk.home, self.data, part, report.dropped)
        lists = []
        for row in desk.home.records(desk.home.local(f"{self.data}/{self.file}")):
            if check.question(row["query"]):
                found = [(each, each_paper(each)) for each in row["candidates"]]
                kept = [(paper, each["score"]) for each, paper in found if check.paper(paper)]
                lists.append(SearchList(row["query"], [p for p, _ in kept], [score for _, score in kept]))
        return SearchPairs(seed=desk.seed).sample(lists, report=report)


@dataclass(frozen=True, slots=True, kw_only=True)
class TripletsIn:
    """Ready triplets of papers: query, pos, neg. file: below the data set."""

    data: str
    file: str

    def examples(self, desk: Desk, part: Part, report: Sampled) -> Iterator[Example]:
        """Yield the triplets whose papers are all of the part."""
        check = _Check(desk.home, self.data, part, report.dropped)
        for row in desk.home.records(desk.home.local(f"{self.data}/{self.file}")):
            query, positive, negative = (each_paper(row[key]) for key in ("query", "pos", "neg"))
            if all(check.paper(paper) for paper in (query, positive, negative)):
                report.add(Draw((0,), (0,), ("as published",)))
                yield Example(query, (positive,), (negative,))


def each_paper(row: dict[str, Any]) -> Paper:
    """Return a paper of a training example of SciRepEval, known by its Semantic Scholar id."""
    paper = next(one_paper(row))
    return paper if paper.id == UNNAMED else replace(paper, ids={**paper.ids, "s2": paper.id})


@dataclass(frozen=True, slots=True)
class _Check:
    """Tell which papers of a data set without entries of its own are of a part; the others are counted."""

    home: DataRoot
    data: str
    part: Part
    dropped: DropReport

    def paper(self, paper: Paper) -> bool:
        """Tell whether a paper is of the part, and known at all."""
        found = SplitTable.of(self.home).part(*names(paper, self.data))
        if found != self.part:
            self.dropped.add(ELSEWHERE if found else "paper without a title", paper.id)
        return found == self.part

    def question(self, text: str) -> bool:
        """Tell whether the words of a query are no title of a paper of another part."""
        found = SplitTable.of(self.home).part(*names(Paper(id=UNNAMED, title=text)))
        if found not in (None, self.part):
            self.dropped.add("query that is the title of a paper of another part", text)
        return found in (None, self.part)


def _answered(paper: Paper, answers: tuple[str | float, ...], report: Sampled) -> Example:
    report.queries += 1
    return Example(paper, answers=answers)


def _label_pairs(
    desk: Desk,
    cap: int,
    found: Sequence[Entry],
    labels: Sequence[Label],
    carried: Sequence[Sequence[int]],
    report: Sampled,
) -> Iterator[Example]:
    papers = [replace(each.paper, authors=tuple(each.row.get("authors") or ())) for each in found]
    sampler = LabelPairs(cap=cap, most=desk.most, seed=desk.seed)
    return sampler.sample(papers, labels, carried, workers=desk.workers, report=report)


def _around(part: Part) -> tuple[Part, ...]:
    return ("train",) if part == "train" else ("train", part)


def _ids(found: Sequence[Entry], part: Part) -> list[str]:
    return [entry.paper.id for entry in found if entry.part == part]
