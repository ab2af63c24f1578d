"""Pairs of a paper and a label, with labels of related papers as hard negatives (SciMult, 3.4 and A.1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.links import SharedAttributeLinks
from sciprism.prepare.samplers.sampling import (
    NONE,
    QuerySample,
    SampleReport,
    references,
    rows_with_text,
    sample_in_parallel,
    seeded_random,
    select_by_hash,
)
from sciprism.prepare.sources.citation_graph import CitationGraph, rows_of
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

TRIES = 10
"""Related papers of one kind that are tried before the next kind."""


class RelatedPapers(Protocol):
    """Papers related to papers in one way, by rows."""

    def sample_one(self, random: Random, row: int) -> int | None:
        """Sample a related paper; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeLabelSampler:
    """Sample, for the row of a paper, one negative label for each of its positives.

    labels: all label rows of each paper. positives: those of them that are its positives. related: kind ->
    related papers. The kinds are tried in random order; a label is sampled at most once for a paper.
    """

    names: Sequence[str]
    labels: Sequence[frozenset[int]]
    positives: Sequence[tuple[int, ...]]
    related: Mapping[str, RelatedPapers]
    seed: int

    def __call__(self, row: int) -> QuerySample:
        """Return the sample of a row; it depends on the row's name and the seed alone."""
        random = seeded_random(self.seed, self.names[row])
        positives = random.sample(self.positives[row], len(self.positives[row]))
        negatives: dict[int, str] = {}
        for _ in positives:
            label, kind = self._sample_one(random, row, self.labels[row].union(negatives))
            if label is not None:
                negatives[label] = kind
        missing = len(positives) - len(negatives)
        return QuerySample(tuple(positives), tuple(negatives), (*negatives.values(), *[NONE] * missing))

    def _sample_one(self, random: Random, row: int, excluded: frozenset[int]) -> tuple[int | None, str]:
        for kind in random.sample([*self.related], len(self.related)):
            for _ in range(TRIES):
                other = self.related[kind].sample_one(random, row)
                if other is None:
                    break
                if labels := sorted(self.labels[other] - excluded):
                    return random.choice(labels), kind
        return None, NONE


BEYOND_LIMIT = "pair beyond the maximum of its label"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPairSampler:
    """Sample the labels of each paper, and for each of them a label that the paper does not have.

    The negative is a label of a paper that it cites, or that shares an author or the venue with it.
    max_pairs_per_label: selected by hash, 0 for all; SciMult has 100. hard_negatives: False for none.
    max_papers: selected after that, 0 for all.
    """

    max_pairs_per_label: int = 100
    hard_negatives: bool = True
    max_papers: int = 0
    seed: int = 0

    def sample(
        self,
        papers: Sequence[Paper],
        labels: Sequence[Label],
        paper_labels: Sequence[Iterable[int]],
        *,
        workers: int = 1,
        report: SampleReport | None = None,
    ) -> Iterator[Example]:
        """Yield an example for each paper with a label left, in their order, its labels in random order.

        paper_labels: label rows of each paper. References, authors and venue are the papers' own; authors are
        compared as written, so give identifiers where there are any.
        """
        if len(paper_labels) != len(papers):
            raise InputError(f"{len(papers)} papers, but labels of {len(paper_labels)}; give labels of each paper")
        report = SampleReport() if report is None else report
        rows_of(paper.id for paper in papers)
        rows = rows_with_text(papers, report.dropped)
        papers = [papers[row] for row in rows]
        all_labels = [frozenset(paper_labels[row]) for row in rows]
        sample = NegativeLabelSampler(
            names=[paper.id for paper in papers],
            labels=all_labels,
            positives=self._positives(papers, labels, all_labels, report),
            related=_related(papers) if self.hard_negatives else {},
            seed=self.seed,
        )
        labelled = [row for row, positives in enumerate(sample.positives) if positives]
        rows = select_by_hash(sample.names, self.max_papers, self.seed, report.dropped, labelled)
        for row, found in zip(rows, sample_in_parallel(sample, rows, workers), strict=True):
            report.add(found)
            yield found.to_example(papers[row], labels)

    def _positives(
        self,
        papers: Sequence[Paper],
        labels: Sequence[Label],
        all_labels: Sequence[frozenset[int]],
        report: SampleReport,
    ) -> list[tuple[int, ...]]:
        """Return the labels of each paper that are within the label's maximum: the pairs that hash lowest."""
        holders: dict[int, list[int]] = defaultdict(list)
        for row, each in enumerate(all_labels):
            if not each:
                report.dropped.add("no label", papers[row].id)
            for label in each:
                holders[label].append(row)
        positives: list[list[int]] = [[] for _ in papers]
        limit = self.max_pairs_per_label or len(papers)
        for label, rows in sorted(holders.items()):
            if len(rows) > limit:
                name = labels[label].id
                rows.sort(key=lambda row: (random_fraction(self.seed, papers[row].id, name), row))
                for row in rows[limit:]:
                    report.dropped.add(BEYOND_LIMIT, papers[row].id)
            for row in rows[:limit]:
                positives[row].append(label)
        return [tuple(each) for each in positives]


def _related(papers: Sequence[Paper]) -> dict[str, RelatedPapers]:
    known = {paper.id for paper in papers}
    inside = (edge for edge in references(papers) if edge[1] in known)
    return {
        "citation": CitationGraph.from_edges([paper.id for paper in papers], inside, DropReport()),
        "author": SharedAttributeLinks([paper.authors for paper in papers]),
        "venue": SharedAttributeLinks([(paper.venue,) for paper in papers]),
    }
