"""Triplets from a citation graph: cited, cited by a cited paper, random (SciMult, 3.4; SPECTER, 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sciprism.papers.records import Paper
from sciprism.prepare.graphs.citations import CitationGraph
from sciprism.prepare.samplers.links import papers_with_text
from sciprism.prepare.samplers.sampling import SampleReport
from sciprism.prepare.samplers.triplets import LinkTripletSampler
from sciprism.training.examples import Example

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
