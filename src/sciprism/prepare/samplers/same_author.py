"""Triplets from authors' identifiers: the same author, an author of those papers, random."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.graphs.citations import rows_of
from sciprism.prepare.samplers.drawing import Sampled, check_numbers
from sciprism.prepare.samplers.linked import from_links
from sciprism.prepare.samplers.ties import Shared, with_text
from sciprism.prepare.samplers.triplets import Triplets
from sciprism.training.examples import Example

CO_AUTHOR = "by a co-author, not by an author"


@dataclass(frozen=True, slots=True, kw_only=True)
class SameAuthor:
    """Sample, for each paper, papers by its authors and as many that none of them wrote.

    hard_share: of the negatives, taken from the papers of those who wrote with the query's authors on other
    papers; the rest, and what they are too few for, is random. positives, most: 0 for all.
    """

    positives: int = 5
    hard_share: float = 0.4
    most: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self, whole=("positives", "most", "seed"), other=("hard_share",))

    def sample(
        self,
        papers: Sequence[Paper],
        authors: Sequence[Iterable[str]],
        *,
        queries: Iterable[str] | None = None,
        workers: int = 1,
        report: Sampled | None = None,
    ) -> Iterator[Example]:
        """Yield an example for each paper that shares an author with another, in their order.

        authors: identifiers of each paper's authors; names would join namesakes. queries: as in
        `CitationTriplets`.
        """
        if len(authors) != len(papers):
            raise InputError(f"{len(papers)} papers, but authors of {len(authors)}")
        report = Sampled() if report is None else report
        rows_of(paper.id for paper in papers)
        rows = with_text(papers, report.dropped)
        draw = Triplets(
            names=[papers[row].id for row in rows],
            links=Shared([authors[row] for row in rows]),
            kind=CO_AUTHOR,
            positives=self.positives,
            hard_share=self.hard_share,
            seed=self.seed,
        )
        known = [papers[row] for row in rows]
        yield from from_links(draw, known, queries, most=self.most, workers=workers, report=report)
