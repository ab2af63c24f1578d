"""Triplets from links between papers (citations, authors): linked, two steps away, random."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Protocol

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.sampling import (
    NONE,
    RANDOM,
    QuerySample,
    SampleReport,
    check_numbers,
    papers_with_text,
    rows_with_candidates,
    rows_with_text,
    sample_in_parallel,
    seeded_random,
    select_by_hash,
)
from sciprism.prepare.sources.citation_graph import CitationGraph, rows_of
from sciprism.training.examples import Example


class SharedAttributeLinks:
    """Papers by row, linked if they share an attribute. attributes: of each paper, such as authors' ids."""

    def __init__(self, attributes: Sequence[Iterable[str]]) -> None:
        holders: dict[str, list[int]] = defaultdict(list)
        for row, each in enumerate(attributes):
            for attribute in sorted({*each} - {""}):
                holders[attribute].append(row)
        self._members = [rows for rows in holders.values() if len(rows) > 1]
        self._groups: list[list[int]] = [[] for _ in attributes]
        for group, rows in enumerate(self._members):
            for row in rows:
                self._groups[row].append(group)

    def targets(self, row: int) -> list[int]:
        """Return the other papers that share an attribute with the paper, ascending."""
        return sorted(self.linked(row) - {row})

    def linked(self, row: int) -> set[int]:
        """Return the paper itself and those that share an attribute with it."""
        return self._rows(self._groups[row]) | {row}

    def two_steps_away(self, row: int) -> set[int]:
        """Return the papers that share an attribute with a paper linked to this one."""
        return self._rows({group for other in self.linked(row) for group in self._groups[other]})

    def sample_one(self, random: Random, row: int) -> int | None:
        """Sample one of the paper's attributes, then another paper that has it; None if there is none."""
        if not self._groups[row]:
            return None
        rows = self._members[random.choice(self._groups[row])]
        other = random.randrange(len(rows) - 1)
        return rows[other + (other >= bisect_left(rows, row))]

    def _rows(self, groups: Iterable[int]) -> set[int]:
        return set(chain.from_iterable(self._members[group] for group in groups))


NO_LINK = "no link to another paper"


class Links(Protocol):
    """Papers and their links, by rows."""

    def targets(self, row: int) -> list[int]:
        """Return the rows that a paper links to, ascending: its positives."""

    def linked(self, row: int) -> set[int]:
        """Return the paper itself and all that are linked to it in either direction: never its negatives."""

    def two_steps_away(self, row: int) -> set[int]:
        """Return the rows two steps away; linked rows may be among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTripletSampler:
    """Sample, for each paper with links, linked papers as positives and one negative for each.

    positives: of one query at most, 0 for all. hard_share: share of negatives from papers two steps away, as
    far as there are enough of them; the rest is random. max_queries: 0 for all.
    """

    positives: int = 5
    hard_share: float = 0.4
    max_queries: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self)
        if not 0 <= self.hard_share <= 1:
            raise InputError(f"hard_share is {self.hard_share}; give a share between 0 and 1")

    def sample_links(
        self,
        papers: Sequence[Paper],
        links: Links,
        kind: str,
        *,
        queries: Iterable[str] | None,
        workers: int,
        report: SampleReport,
    ) -> Iterator[Example]:
        """Yield an example for each paper that has links, in their order.

        kind: of a negative two steps away, in reports. queries: ids that may be queries, None for all.
        """
        names = [paper.id for paper in papers]
        linked = rows_with_candidates(names, queries, links.targets, report.dropped, NO_LINK)
        rows = select_by_hash(names, self.max_queries, self.seed, report.dropped, linked)
        sample = _RowSampler(self, names, links, kind)
        for row, found in zip(rows, sample_in_parallel(sample, rows, workers), strict=True):
            report.add(found)
            yield found.to_example(papers[row], papers)


@dataclass(frozen=True, slots=True)
class _RowSampler:
    """Sample the triplets of one row; a class, not a closure, since it is pickled for other processes."""

    settings: LinkTripletSampler
    names: Sequence[str]
    links: Links
    kind: str

    def __call__(self, row: int) -> QuerySample:
        """Return the sample of a row; it depends on the row's name and the seed alone."""
        random = seeded_random(self.settings.seed, self.names[row])
        targets = self.links.targets(row)
        count = min(self.settings.positives or len(targets), len(targets))
        positives = random.sample(targets, count)
        linked = self.links.linked(row)
        near = sorted(self.links.two_steps_away(row) - linked)
        hard_count = int(self.settings.hard_share * count + random.random())  # the share holds on average
        hard = random.sample(near, min(hard_count, len(near)))
        easy = sample_outside(random, len(self.names), linked.union(hard), count - len(hard))
        negatives = [(self.kind, other) for other in hard] + [(RANDOM, other) for other in easy]
        random.shuffle(negatives)
        kinds = [kind for kind, _ in negatives] + [NONE] * (count - len(negatives))
        return QuerySample(tuple(positives), tuple(other for _, other in negatives), tuple(kinds))


def sample_outside(random: Random, size: int, excluded: set[int], count: int) -> list[int]:
    """Sample `count` different numbers below `size` that are not excluded; fewer if there are not enough."""
    found: list[int] = []
    skipped = sorted(excluded)
    for _ in range(min(count, size - len(skipped))):
        number = random.randrange(size - len(skipped))
        at = 0
        while at < len(skipped) and skipped[at] <= number:  # the number-th of the remaining ones
            number += 1
            at += 1
        skipped.insert(at, number)
        found.append(number)
    return found


CITED_BY_CITED = "cited by a cited paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationTripletSampler(LinkTripletSampler):
    """Sample, for each paper, papers that it cites, and for each of them one paper that it does not cite.

    Hard negatives are cited by a cited paper, and neither cite the query nor are cited by it. The published
    data have about 5 positives a query and 0.4 hard negatives.
    """

    def sample(
        self,
        papers: Sequence[Paper],
        edges: Iterable[tuple[str, str]],
        *,
        queries: Iterable[str] | None = None,
        workers: int = 1,
        report: SampleReport | None = None,
    ) -> Iterator[Example]:
        """Yield an example for each paper that cites another of the papers, in their order.

        edges: (citing id, cited id), such as `references(papers)`. queries: ids of the papers that may be
        queries, None for all; every paper may be a candidate.
        """
        report = SampleReport() if report is None else report
        papers = papers_with_text(papers, report.dropped)
        links = CitationGraph.from_edges([paper.id for paper in papers], edges, report.dropped)
        yield from self.sample_links(papers, links, CITED_BY_CITED, queries=queries, workers=workers, report=report)


CO_AUTHOR = "by a co-author, not by an author"


@dataclass(frozen=True, slots=True, kw_only=True)
class SameAuthorSampler(LinkTripletSampler):
    """Sample, for each paper, papers by its authors, and as many by none of them.

    Hard negatives are papers of those who wrote with the query's authors on other papers.
    """

    def sample(
        self,
        papers: Sequence[Paper],
        authors: Sequence[Iterable[str]],
        *,
        queries: Iterable[str] | None = None,
        workers: int = 1,
        report: SampleReport | None = None,
    ) -> Iterator[Example]:
        """Yield an example for each paper that shares an author with another, in their order.

        authors: identifiers of each paper's authors; names would merge different people. queries: as in
        `CitationTripletSampler`.
        """
        if len(authors) != len(papers):
            raise InputError(f"{len(papers)} papers, but authors of {len(authors)}; give authors of each paper")
        report = SampleReport() if report is None else report
        rows_of(paper.id for paper in papers)
        rows = rows_with_text(papers, report.dropped)
        links = SharedAttributeLinks([authors[row] for row in rows])
        yield from self.sample_links(
            [papers[row] for row in rows], links, CO_AUTHOR, queries=queries, workers=workers, report=report
        )
