"""Pairs of a paper and a label, with labels of related papers as hard negatives (SciMult, section 3.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.sampling import (
    NONE,
    RANDOM,
    QuerySample,
    Sampling,
    references,
    rows_with_candidates,
    seeded_random,
)
from sciprism.prepare.sources.citation_graph import CitationGraph, rows_of
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

NO_LINK = "no link to another paper"
CITED_BY_CITED = "cited by a cited paper"
CO_AUTHOR = "by a co-author, not by an author"
POSITIVES, HARD_SHARE = 5, 0.4


class SharedAttributeLinks:
    """Papers by row, linked if they share an attribute. attributes: of each paper, such as authors' ids."""

    def __init__(self, attributes: Sequence[Iterable[str]]) -> None:
        holders: dict[str, list[int]] = defaultdict(list)
        for row, names in enumerate(attributes):
            for name in sorted({*names} - {""}):
                holders[name].append(row)
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


Links = CitationGraph | SharedAttributeLinks


def sample_citation_triplets(
    papers: Sequence[Paper],
    edges: Iterable[tuple[str, str]],
    sampling: Sampling,
    *,
    queries: Iterable[str] | None = None,
    positives: int = POSITIVES,
    hard_share: float = HARD_SHARE,
) -> Iterator[Example]:
    """Yield, for each paper that cites others, papers that it cites, each with one that it does not cite.

    Hard negatives are cited by a cited paper, and neither cite the query nor are cited by it (SciMult, 3.4;
    SPECTER, 3.2). The published data have about 5 positives a query and 0.4 hard negatives.

    edges: (citing id, cited id), such as `references(papers)`. queries: ids of the papers that may be queries,
    None for all; every paper may be a candidate. positives: of one query at most, 0 for all. hard_share: share of
    hard negatives, as far as there are enough of them; the rest is random.
    """
    papers = sampling.papers_with_text(papers)
    links = CitationGraph.from_edges([paper.id for paper in papers], edges, sampling.report.dropped)
    sampler = _LinkSampler([paper.id for paper in papers], links, CITED_BY_CITED, positives, hard_share, sampling.seed)
    return sampler.examples(papers, queries, sampling)


def sample_same_author(
    papers: Sequence[Paper],
    authors: Sequence[Iterable[str]],
    sampling: Sampling,
    *,
    queries: Iterable[str] | None = None,
    positives: int = POSITIVES,
    hard_share: float = HARD_SHARE,
) -> Iterator[Example]:
    """Yield, for each paper, papers by its authors, and as many by none of them.

    Hard negatives are papers of those who wrote with the query's authors on other papers. authors: identifiers
    of each paper's authors; names would merge different people. The others: as of citation triplets.
    """
    if len(authors) != len(papers):
        raise InputError(f"{len(papers)} papers, but authors of {len(authors)}; give authors of each paper")
    rows_of(paper.id for paper in papers)
    rows = [row for row, paper in enumerate(papers) if sampling.has_text(paper)]
    papers, links = [papers[row] for row in rows], SharedAttributeLinks([authors[row] for row in rows])
    sampler = _LinkSampler([paper.id for paper in papers], links, CO_AUTHOR, positives, hard_share, sampling.seed)
    return sampler.examples(papers, queries, sampling)


@dataclass(frozen=True, slots=True)
class _LinkSampler:
    """Samples the triplets of one row; pickled for other processes. kind: of a negative two steps away."""

    names: Sequence[str]
    links: Links
    kind: str
    positives: int
    hard_share: float
    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.hard_share <= 1 or self.positives < 0:
            raise InputError(
                f"hard_share is {self.hard_share}, positives {self.positives}; give a share between 0 and 1, "
                "and a count of 0 or more"
            )

    def examples(self, papers: Sequence[Paper], queries: Iterable[str] | None, sampling: Sampling) -> Iterator[Example]:
        """Yield an example for each paper that has links, in their order."""
        linked = rows_with_candidates(self.names, queries, self.links.targets, sampling.report.dropped, NO_LINK)
        return sampling.examples(self, sampling.select(self.names, linked), papers, papers)

    def __call__(self, row: int) -> QuerySample:
        """Return the sample of a row; it depends on the row's name and the seed alone."""
        random = seeded_random(self.seed, self.names[row])
        targets = self.links.targets(row)
        count = min(self.positives or len(targets), len(targets))
        positives = random.sample(targets, count)
        linked = self.links.linked(row)
        near = sorted(self.links.two_steps_away(row) - linked)
        hard_count = int(self.hard_share * count + random.random())  # the share holds on average
        hard = random.sample(near, min(hard_count, len(near)))
        easy = sample_outside(random, len(self.names), linked.union(hard), count - len(hard))
        negatives = [(self.kind, other) for other in hard] + [(RANDOM, other) for other in easy]
        random.shuffle(negatives)
        kinds = [kind for kind, _ in negatives] + [NONE] * (count - len(negatives))
        return QuerySample(tuple(positives), tuple(other for _, other in negatives), tuple(kinds))


def sample_outside(random: Random, size: int, excluded: set[int], count: int) -> list[int]:
    """Sample `count` different numbers below `size` that are not excluded; fewer if there are not enough."""
    sampled: list[int] = []
    skipped = sorted(excluded)
    for _ in range(min(count, size - len(skipped))):
        number = random.randrange(size - len(skipped))
        at = 0
        while at < len(skipped) and skipped[at] <= number:  # the number-th of the remaining ones
            number += 1
            at += 1
        skipped.insert(at, number)
        sampled.append(number)
    return sampled


MAX_PER_LABEL = 100  # pairs of one label at most (SciMult, section 4.1)
TRIES = 10  # related papers of one kind that are tried before the next kind
BEYOND_LABEL_LIMIT = "pair beyond the maximum of its label"


def sample_label_pairs(
    papers: Sequence[Paper],
    labels: Sequence[Label],
    paper_labels: Sequence[Iterable[int]],
    sampling: Sampling,
    *,
    max_per_label: int = MAX_PER_LABEL,
) -> Iterator[Example]:
    """Yield the labels of each paper in random order, each with a label that the paper does not have.

    The negative is a label of a paper that it cites, or that shares an author or the venue with it: these are the
    papers' own; authors are compared as written, so give identifiers where there are any. paper_labels: label
    rows of each paper. max_per_label: pairs of one label, selected by hash, 0 for all; the limit of papers
    applies after that.
    """
    if len(paper_labels) != len(papers):
        raise InputError(f"{len(papers)} papers, but labels of {len(paper_labels)}; give labels of each paper")
    rows_of(paper.id for paper in papers)
    rows = [row for row, paper in enumerate(papers) if sampling.has_text(paper)]
    papers = [papers[row] for row in rows]
    all_labels = [frozenset(paper_labels[row]) for row in rows]
    sampler = _LabelSampler(
        names=[paper.id for paper in papers],
        labels=all_labels,
        positives=_select_positives(papers, labels, all_labels, max_per_label, sampling),
        related=_find_related(papers),
        seed=sampling.seed,
    )
    labelled = [row for row, positives in enumerate(sampler.positives) if positives]
    return sampling.examples(sampler, sampling.select(sampler.names, labelled), papers, labels)


def _select_positives(
    papers: Sequence[Paper],
    labels: Sequence[Label],
    all_labels: Sequence[frozenset[int]],
    max_per_label: int,
    sampling: Sampling,
) -> list[tuple[int, ...]]:
    """Return the labels of each paper that are within the label's maximum: the pairs that hash lowest."""
    holders: dict[int, list[int]] = defaultdict(list)
    for row, label_rows in enumerate(all_labels):
        if not label_rows:
            sampling.drop("no label", papers[row].id)
        for label in label_rows:
            holders[label].append(row)
    positives: list[list[int]] = [[] for _ in papers]
    limit = max_per_label or len(papers)
    for label, rows in sorted(holders.items()):
        if len(rows) > limit:
            name = labels[label].id
            rows.sort(key=lambda row: (random_fraction(sampling.seed, papers[row].id, name), row))
            for row in rows[limit:]:
                sampling.drop(BEYOND_LABEL_LIMIT, papers[row].id)
        for row in rows[:limit]:
            positives[row].append(label)
    return list(map(tuple, positives))


def _find_related(papers: Sequence[Paper]) -> dict[str, Links]:
    names = {paper.id for paper in papers}
    inside = (edge for edge in references(papers) if edge[1] in names)
    return {
        "citation": CitationGraph.from_edges([paper.id for paper in papers], inside, DropReport()),
        "author": SharedAttributeLinks([paper.authors for paper in papers]),
        "venue": SharedAttributeLinks([(paper.venue,) for paper in papers]),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _LabelSampler:
    """Samples one negative label for each positive of a paper; pickled for other processes.

    labels: all label rows of each paper. positives: those of them that are its positives. related: kind ->
    related papers. The kinds are tried in random order; a label is sampled at most once for a paper.
    """

    names: Sequence[str]
    labels: Sequence[frozenset[int]]
    positives: Sequence[tuple[int, ...]]
    related: Mapping[str, Links]
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
