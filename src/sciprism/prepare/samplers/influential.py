"""Citing papers scored by how often each mentions the cited one (SciRepEval, influential citations)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sciprism.papers.records import Paper
from sciprism.prepare.graphs.citations import UNKNOWN_PAPER, rows_of
from sciprism.prepare.samplers.links import papers_with_text
from sciprism.prepare.samplers.sampling import (
    SampleReport,
    check_numbers,
    rows_with_candidates,
    select_by_hash,
)
from sciprism.prepare.samplers.scored_lists import ScoredList, ScoredListSampler
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

Mention = tuple[str, str, int]
"""Citing id, cited id, and how often the citing text mentions the cited paper."""

NO_CITATION = "no citation with another paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class InfluentialCitationSampler:
    """Sample, for each cited paper, those that build on it: they mention it at least `min_mentions` times.

    Negatives also cite it, but mention it less often. Candidates are ordered by hash and paired as
    `ScoredListSampler` does. max_queries: 0 for all.
    """

    min_mentions: int = 4
    max_queries: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self)

    def sample(
        self,
        papers: Sequence[Paper],
        mentions: Iterable[Mention],
        *,
        queries: Iterable[str] | None = None,
        report: SampleReport | None = None,
    ) -> Iterator[Example]:
        """Yield triplets of each paper that has positives and negatives, in the papers' order.

        mentions: those of the same pair are summed. queries: as in `CitationTripletSampler`.
        """
        report = SampleReport() if report is None else report
        papers = papers_with_text(papers, report.dropped)
        names = [paper.id for paper in papers]
        rows = rows_of(names)
        counts: list[Counter[int]] = [Counter() for _ in papers]  # the citing papers' mentions of each paper
        for one, other, count in mentions:
            if one not in rows or other not in rows:
                report.dropped.add(UNKNOWN_PAPER, f"{one} -> {other}")
            elif one != other and count > 0:
                counts[rows[other]][rows[one]] += count
        cited = rows_with_candidates(names, queries, counts.__getitem__, report.dropped, NO_CITATION)
        selected = select_by_hash(names, self.max_queries, self.seed, report.dropped, cited)
        lists = (self._list(papers, row, counts[row]) for row in selected)
        yield from ScoredListSampler().sample(lists, report=report)

    def _list(self, papers: Sequence[Paper], row: int, counts: Counter[int]) -> ScoredList:
        name = papers[row].id
        order = sorted(counts, key=lambda other: (random_fraction(self.seed, name, papers[other].id), other))
        scores = [float(counts[other] >= self.min_mentions) for other in order]
        return ScoredList(papers[row], [papers[other] for other in order], scores)
