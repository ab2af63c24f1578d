"""Triplets from authors' identifiers: the same author, a co-author's other papers, random papers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.graphs.citations import rows_of
from sciprism.prepare.samplers.links import SharedAttributeLinks, rows_with_text
from sciprism.prepare.samplers.sampling import SampleReport
from sciprism.prepare.samplers.triplets import LinkTripletSampler
from sciprism.training.examples import Example

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
