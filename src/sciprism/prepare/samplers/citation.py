"""Triplets from a citation graph: cited, cited by a cited paper, random (SciMult, 3.4; SPECTER, 3.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sciprism.papers.records import Paper
from sciprism.prepare.graphs.citations import CitationGraph
from sciprism.prepare.samplers.drawing import Sampled, check_numbers
from sciprism.prepare.samplers.linked import from_links
from sciprism.prepare.samplers.ties import with_text
from sciprism.prepare.samplers.triplets import Triplets
from sciprism.training.examples import Example

CITED_BY_CITED = "cited by a cited paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationTriplets:
    """Sample, for each paper, papers that it cites and one paper that it does not cite for each of them.

    positives: cited papers of one query, 0 for all; the published data have about 5. hard_share: of the
    negatives, taken from those cited by a cited paper that neither cite the query nor are cited by it; 0.4 in
    the published data. Where there are too few, random papers take their place. most: queries, 0 for all.
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
        edges: Iterable[tuple[str, str]],
        *,
        queries: Iterable[str] | None = None,
        workers: int = 1,
        report: Sampled | None = None,
    ) -> Iterator[Example]:
        """Yield an example for each paper that cites another of the papers, in their order.

        edges: (citing id, cited id), such as `references(papers)`. queries: ids of the papers that may be
        queries, None for all; every paper may be a candidate.
        """
        report = Sampled() if report is None else report
        papers = [papers[row] for row in with_text(papers, report.dropped)]
        names = [paper.id for paper in papers]
        draw = Triplets(
            names=names,
            links=CitationGraph.of(names, edges, report.dropped),
            kind=CITED_BY_CITED,
            positives=self.positives,
            hard_share=self.hard_share,
            seed=self.seed,
        )
        yield from from_links(draw, papers, queries, most=self.most, workers=workers, report=report)
