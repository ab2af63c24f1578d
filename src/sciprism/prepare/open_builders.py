"""Builders of training examples from the open data, one for each kind of example."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, Protocol, TypeVar

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.open.classes import PaperNumbers
from sciprism.datasets.layouts.open.sampling import ELSEWHERE
from sciprism.datasets.layouts.open.vocabularies import OUTSIDE, VOCABULARIES
from sciprism.datasets.open_data import UNNAMED, Part, read_paper
from sciprism.datasets.split import SplitEntry, SplitTable, list_paper_keys, read_entries
from sciprism.drop_report import DropReport
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.answers import MAX_DESCRIPTORS, most_frequent
from sciprism.prepare.samplers.labels import LabelPairSampler
from sciprism.prepare.samplers.links import CitationTripletSampler, SameAuthorSampler
from sciprism.prepare.samplers.sampling import NONE, QuerySample, SampleReport, select_by_hash
from sciprism.prepare.samplers.scored_lists import ScoredList, SearchPairSampler
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPairSampler:
    """Take each text as a query that its paper answers, without hard negatives.

    max_pairs: selected by hash, 0 for all.
    """

    max_pairs: int = 0
    seed: int = 0

    def sample(self, pairs: Iterable[tuple[str, Paper]], *, report: SampleReport | None = None) -> Iterator[Example]:
        """Yield an example of each pair whose text and paper have words, in their order."""
        report = SampleReport() if report is None else report
        complete = _complete_pairs(pairs, report)
        if self.max_pairs:
            known = list(complete)
            rows = select_by_hash([paper.id for _, paper in known], self.max_pairs, self.seed, report.dropped)
            complete = (known[row] for row in rows)
        for text, paper in complete:
            report.add(QuerySample((0,), (), (NONE,)))
            yield Example(text, (paper,))


def pair_titles_with_abstracts(papers: Iterable[Paper]) -> Iterator[tuple[str, Paper]]:
    """Yield the title of each paper, and the paper with its abstract alone."""
    return ((paper.title, Paper(id=paper.id, abstract=paper.abstract)) for paper in papers)


def _complete_pairs(pairs: Iterable[tuple[str, Paper]], report: SampleReport) -> Iterator[tuple[str, Paper]]:
    for text, paper in pairs:
        if not text.strip():
            report.dropped.add("query without words", paper.id)
        elif not (paper.title or paper.abstract):
            report.dropped.add("no text", paper.id)
        else:
            yield text, paper


PaperAnswers = tuple[Paper, tuple[str | float, ...]]


@dataclass(slots=True)
class OpenPrepareContext:
    """The data, the settings, and the papers of the last data set. max_queries: of one file, 0 for all."""

    data_root: DataRoot
    seed: int
    max_queries: int
    workers: int
    _read: dict[str, list[SplitEntry]] = field(default_factory=dict)

    def entries(self, data: str, *parts: Part, dropped: DropReport) -> list[SplitEntry]:
        """Return the papers of a data set that are in these parts of the one split.

        Papers that the data set assigns to one of the parts, but another data set does not, are counted.
        """
        if data not in self._read:
            self._read.clear()
            self._read[data] = read_entries(self.data_root, data)
        for entry in self._read[data]:
            if entry.own_part in parts and entry.part not in parts:
                dropped.add(ELSEWHERE, entry.paper.id)
        return [entry for entry in self._read[data] if entry.part in parts]


ReportT = TypeVar("ReportT", bound=SampleReport, contravariant=True)


class ExampleBuilder(Protocol[ReportT]):
    """A data set and the kind of examples to build from it."""

    @property
    def data(self) -> str:
        """Return the data set's name."""

    def examples(self, context: OpenPrepareContext, part: Part, report: ReportT) -> Iterator[Example]:
        """Yield the examples of one part, at most `context.max_queries` (0: all)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermLabelBuilder:
    """Pair papers with their terms of a vocabulary. max_per_label: pairs of one term, 0 for all."""

    data: str
    terms: str
    vocabulary: str
    max_per_label: int = 100

    def examples(self, context: OpenPrepareContext, part: Part, report: SampleReport) -> Iterator[Example]:
        """Yield papers with their terms, and terms of related papers as negatives."""
        labels, rows = VOCABULARIES[self.vocabulary](context.data_root)
        found = context.entries(self.data, part, dropped=report.dropped)
        for entry in found:
            for term in entry.row[self.terms] or ():
                if term not in rows:
                    report.dropped.add(OUTSIDE, term)
        carried = [[rows[t] for t in entry.row[self.terms] or () if t in rows] for entry in found]
        return _sample_label_pairs(context, self.max_per_label, found, labels, carried, report)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassLabelBuilder:
    """Pair papers with the readable name of their class, with equally many papers of each class."""

    data: str
    target: str
    names: tuple[tuple[str, str], ...]

    def examples(self, context: OpenPrepareContext, part: Part, report: SampleReport) -> Iterator[Example]:
        """Yield papers with their class, and classes of related papers as negatives."""
        labels = [Label(id=key, name=name) for key, name in self.names]
        rows = {label.id: row for row, label in enumerate(labels)}
        found = context.entries(self.data, part, dropped=report.dropped)
        carried = [[rows[key] for key in [str(entry.row[self.target])] if key in rows] for entry in found]
        max_per_label = ceil(context.max_queries / len(labels))
        return _sample_label_pairs(context, max_per_label, found, labels, carried, report)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassAnswerBuilder:
    """Papers with the readable name of their class as the answer, equally many papers of each class."""

    data: str
    target: str
    names: tuple[tuple[str, str], ...]

    def examples(self, context: OpenPrepareContext, part: Part, report: SampleReport) -> Iterator[Example]:
        """Yield papers with the name of their class, in mixed order of classes."""
        names = dict(self.names)
        by_class: dict[str, list[SplitEntry]] = {}
        for entry in context.entries(self.data, part, dropped=report.dropped):
            by_class.setdefault(str(entry.row[self.target]), []).append(entry)
        max_papers = ceil(context.max_queries / len(names))
        selected: list[PaperAnswers] = []
        for key in sorted(by_class.keys() & names.keys()):
            found: list[PaperAnswers] = [(entry.paper, (names[key],)) for entry in by_class[key]]
            selected += _select_papers(found, max_papers, context, report)
        for paper, answers in sorted(selected, key=lambda each: random_fraction(context.seed, each[0].id)):
            yield Example(paper, answers=answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class TermAnswerBuilder:
    """Papers with their terms, among the most frequent ones, as answers."""

    data: str
    terms: str
    vocabulary: str
    most_frequent: int = MAX_DESCRIPTORS

    def examples(self, context: OpenPrepareContext, part: Part, report: SampleReport) -> Iterator[Example]:
        """Yield papers that have any of these terms, with all that they have."""
        labels, rows = VOCABULARIES[self.vocabulary](context.data_root)
        train = context.entries(self.data, "train", dropped=DropReport())
        carried = (term for entry in train for term in entry.row[self.terms] or () if term in rows)
        frequent = set(most_frequent(carried, self.most_frequent))
        found: list[PaperAnswers] = []
        for entry in context.entries(self.data, part, dropped=report.dropped):
            if terms := sorted(frequent.intersection(entry.row[self.terms] or ())):
                found.append((entry.paper, tuple(labels[rows[term]].name for term in terms)))
            else:
                report.dropped.add("no frequent term", entry.paper.id)
        for paper, answers in _select_papers(found, context.max_queries, context, report):
            yield Example(paper, answers=answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberAnswerBuilder:
    """Papers with a number as the answer, scaled like the task's and then to 0-1."""

    numbers: PaperNumbers

    @property
    def data(self) -> str:
        """Return the data set's name."""
        return self.numbers.data

    def examples(self, context: OpenPrepareContext, part: Part, report: SampleReport) -> Iterator[Example]:
        """Yield papers with their number; papers without one are counted."""
        found = context.entries(self.data, part, dropped=report.dropped)
        known = [entry for entry in found if entry.row.get(self.numbers.target) is not None]
        values = self.numbers.scale_numbers(known, report.dropped)
        low, high = min(values.values(), default=0.0), max(values.values(), default=1.0)
        width = (high - low) or 1.0
        scaled: list[PaperAnswers] = [
            (entry.paper, (round((values[entry.paper.id] - low) / width, 6),))
            for entry in known
            if entry.paper.id in values
        ]
        for paper, answers in _select_papers(scaled, context.max_queries, context, report):
            yield Example(paper, answers=answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationBuilder:
    """Papers with those that they cite. Candidates of dev queries include train papers."""

    data: str

    def examples(self, context: OpenPrepareContext, part: Part, report: SampleReport) -> Iterator[Example]:
        """Yield papers with cited ones; references to papers of another part are counted."""
        found = context.entries(self.data, "train", part, dropped=report.dropped)
        edges = [(entry.paper.id, name) for entry in found for name in entry.row["references"]]
        sampler = CitationTripletSampler(max_queries=context.max_queries, seed=context.seed)
        papers = [entry.paper for entry in found]
        queries = [entry.paper.id for entry in found if entry.part == part]
        return sampler.sample(papers, edges, queries=queries, workers=context.workers, report=report)


@dataclass(frozen=True, slots=True, kw_only=True)
class SameAuthorBuilder:
    """Papers with others by their authors. Candidates of dev queries include train papers."""

    data: str
    authors: str
    positives: int = 2

    def examples(self, context: OpenPrepareContext, part: Part, report: SampleReport) -> Iterator[Example]:
        """Yield papers that share an author with another."""
        known = []
        for entry in context.entries(self.data, "train", part, dropped=report.dropped):
            if any(entry.row[self.authors] or ()):
                known.append(entry)
            elif entry.part == part:
                report.dropped.add(f"no {self.authors}", entry.paper.id)
        sampler = SameAuthorSampler(positives=self.positives, max_queries=context.max_queries, seed=context.seed)
        return sampler.sample(
            [entry.paper for entry in known],
            [[name for name in entry.row[self.authors] if name] for entry in known],
            queries=[entry.paper.id for entry in known if entry.part == part],
            workers=context.workers,
            report=report,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleAbstractBuilder:
    """Titles with their abstracts, which have no title."""

    data: str

    def examples(self, context: OpenPrepareContext, part: Part, report: SampleReport) -> Iterator[Example]:
        """Yield titles with abstracts."""
        found = context.entries(self.data, part, dropped=report.dropped)
        pairs = pair_titles_with_abstracts(entry.paper for entry in found)
        return TextPairSampler(max_pairs=context.max_queries, seed=context.seed).sample(pairs, report=report)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryBuilder:
    """Summaries with their papers. field: of the summary."""

    data: str
    field: str

    def examples(self, context: OpenPrepareContext, part: Part, report: SampleReport) -> Iterator[Example]:
        """Yield summaries with papers; papers without a summary are skipped."""
        found = context.entries(self.data, part, dropped=report.dropped)
        pairs = ((entry.row[self.field], entry.paper) for entry in found if entry.row[self.field])
        return TextPairSampler(max_pairs=context.max_queries, seed=context.seed).sample(pairs, report=report)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickBuilder:
    """Queries with clicked and other shown papers. file: relative to the data set."""

    data: str
    file: str

    def examples(self, context: OpenPrepareContext, part: Part, report: SampleReport) -> Iterator[Example]:
        """Yield queries with clicked papers; papers of other parts are dropped."""
        check = _PartFilter(context.data_root, self.data, part, report.dropped)
        lists = []
        for row in context.data_root.records(context.data_root.local(f"{self.data}/{self.file}")):
            if check.has_query(row["query"]):
                found = [(parse_s2_paper(each), each["score"]) for each in row["candidates"]]
                shown = [(paper, score) for paper, score in found if check.has_paper(paper)]
                lists.append(ScoredList(row["query"], [p for p, _ in shown], [score for _, score in shown]))
        return SearchPairSampler(seed=context.seed).sample(lists, report=report)


@dataclass(frozen=True, slots=True, kw_only=True)
class TripletBuilder:
    """Published triplets of papers: query, pos, neg. file: relative to the data set."""

    data: str
    file: str

    def examples(self, context: OpenPrepareContext, part: Part, report: SampleReport) -> Iterator[Example]:
        """Yield the triplets whose papers are all of the part."""
        check = _PartFilter(context.data_root, self.data, part, report.dropped)
        for row in context.data_root.records(context.data_root.local(f"{self.data}/{self.file}")):
            query, positive, negative = (parse_s2_paper(row[key]) for key in ("query", "pos", "neg"))
            if all(check.has_paper(paper) for paper in (query, positive, negative)):
                report.add(QuerySample((0,), (0,), ("as published",)))
                yield Example(query, (positive,), (negative,))


def parse_s2_paper(row: dict[str, Any]) -> Paper:
    """Return a paper of a SciRepEval training example, with its Semantic Scholar id."""
    paper = next(read_paper(row))
    return paper if paper.id == UNNAMED else replace(paper, ids={**paper.ids, "s2": paper.id})


@dataclass(frozen=True, slots=True)
class _PartFilter:
    """Membership in a part, of papers of a data set that no rule splits; others are counted."""

    data_root: DataRoot
    data: str
    part: Part
    dropped: DropReport

    def has_paper(self, paper: Paper) -> bool:
        """Tell whether a paper is known and of the part."""
        found = SplitTable.load(self.data_root).part(*list_paper_keys(paper, self.data))
        if found != self.part:
            self.dropped.add(ELSEWHERE if found else "paper without a title", paper.id)
        return found == self.part

    def has_query(self, text: str) -> bool:
        """Tell whether the words of a query are not the title of a paper of another part."""
        found = SplitTable.load(self.data_root).part(*list_paper_keys(Paper(id=UNNAMED, title=text)))
        if found not in (None, self.part):
            self.dropped.add("query that is the title of a paper of another part", text)
        return found in (None, self.part)


def _select_papers(
    found: Sequence[PaperAnswers], count: int, context: OpenPrepareContext, report: SampleReport
) -> list[PaperAnswers]:
    """Return the `count` papers whose ids have the lowest hashes, 0 for all; count them and the others."""
    rows = select_by_hash([paper.id for paper, _ in found], count, context.seed, report.dropped)
    report.queries += len(rows)
    return [found[row] for row in rows]


def _sample_label_pairs(
    context: OpenPrepareContext,
    max_per_label: int,
    found: Sequence[SplitEntry],
    labels: Sequence[Label],
    carried: Sequence[Sequence[int]],
    report: SampleReport,
) -> Iterator[Example]:
    papers = [replace(each.paper, authors=tuple(each.row.get("authors") or ())) for each in found]
    sampler = LabelPairSampler(max_pairs_per_label=max_per_label, max_papers=context.max_queries, seed=context.seed)
    return sampler.sample(papers, labels, carried, workers=context.workers, report=report)
