"""Triplets from links between papers: linked papers, papers two steps away, random papers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
    rows_with_candidates,
    sample_in_parallel,
    seeded_random,
    select_by_hash,
)
from sciprism.training.examples import Example

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
