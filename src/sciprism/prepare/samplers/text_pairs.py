"""Pairs of a text about a paper and the paper: its title, or a summary by its authors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sciprism.papers.records import Paper
from sciprism.prepare.samplers.sampling import NONE, QuerySample, SampleReport, select_by_hash
from sciprism.training.examples import Example


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPairSampler:
    """Take each text as a query that its paper answers, without hard negatives.

    max_pairs: selected by hash, 0 for all.
    """

    max_pairs: int = 0
    seed: int = 0

    def sample(self, pairs: Iterable[tuple[str, Paper]], *, report: SampleReport | None = None) -> Iterator[Example]:
        """Yield an example of each pair whose text and paper have words, in their order."""
        report = SampleReport() if report is None else report
        complete = _complete_pairs(pairs, report)
        if self.max_pairs:
            known = list(complete)
            rows = select_by_hash([paper.id for _, paper in known], self.max_pairs, self.seed, report.dropped)
            complete = (known[row] for row in rows)
        for text, paper in complete:
            report.add(QuerySample((0,), (), (NONE,)))
            yield Example(text, (paper,))


def pair_titles_with_abstracts(papers: Iterable[Paper]) -> Iterator[tuple[str, Paper]]:
    """Yield the title of each paper, and the paper with its abstract alone."""
    return ((paper.title, Paper(id=paper.id, abstract=paper.abstract)) for paper in papers)


def _complete_pairs(pairs: Iterable[tuple[str, Paper]], report: SampleReport) -> Iterator[tuple[str, Paper]]:
    for text, paper in pairs:
        if not text.strip():
            report.dropped.add("query without words", paper.id)
        elif not (paper.title or paper.abstract):
            report.dropped.add("no text", paper.id)
        else:
            yield text, paper
