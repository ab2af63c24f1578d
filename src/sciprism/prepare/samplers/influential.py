"""Citing papers scored by how often each names the cited one (SciRepEval, influential citations)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sciprism.papers.records import Paper
from sciprism.prepare.graphs.citations import rows_of
from sciprism.prepare.samplers.drawing import Sampled, check_numbers, lowest
from sciprism.prepare.samplers.scored_lists import ScoredList, ScoredTriplets
from sciprism.prepare.samplers.ties import with_text
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

Mention = tuple[str, str, int]
"""Citing id, cited id, and how often the citing text names the cited paper."""

ALONE = "no citation with another paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class Influential:
    """Sample, for each cited paper, those that build on it: they name it at least `least` times in the text.

    The negatives are papers that cite it too, but name it less often. Candidates stand in an order drawn by
    hash, and are paired as `ScoredTriplets` does. most: queries, 0 for all.
    """

    least: int = 4
    most: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self, whole=("least", "most", "seed"))

    def sample(
        self,
        papers: Sequence[Paper],
        mentions: Iterable[Mention],
        *,
        queries: Iterable[str] | None = None,
        report: Sampled | None = None,
    ) -> Iterator[Example]:
        """Yield triplets of each paper that has candidates of both kinds, in the papers' order.

        mentions: several of one pair are added up. queries: as in `CitationTriplets`.
        """
        report = Sampled() if report is None else report
        papers = [papers[row] for row in with_text(papers, report.dropped)]
        found = self._counts(papers, mentions, report)
        wanted = None if queries is None else {*queries}
        able = []
        for row, paper in enumerate(papers):
            if wanted is None or paper.id in wanted:
                if found[row]:
                    able.append(row)
                else:
                    report.dropped.add(ALONE, paper.id)
        chosen = lowest([papers[row].id for row in able], self.most, self.seed, report.dropped)
        lists = (self._list(papers, able[at], found[able[at]]) for at in chosen)
        yield from ScoredTriplets().sample(lists, report=report)

    def _counts(
        self, papers: Sequence[Paper], mentions: Iterable[Mention], report: Sampled
    ) -> list[Counter[int]]:
        rows = rows_of(paper.id for paper in papers)
        found: list[Counter[int]] = [Counter() for _ in papers]
        for citing, cited, count in mentions:
            if citing not in rows or cited not in rows:
                report.dropped.add("citation of or by a paper that is not there", f"{citing} -> {cited}")
            elif citing != cited and count > 0:
                found[rows[cited]][rows[citing]] += count
        return found

    def _list(self, papers: Sequence[Paper], row: int, counts: Counter[int]) -> ScoredList:
        name = papers[row].id
        order = sorted(counts, key=lambda other: (random_fraction(self.seed, name, papers[other].id), other))
        scores = [float(counts[other] >= self.least) for other in order]
        return ScoredList(papers[row], [papers[other] for other in order], scores)
