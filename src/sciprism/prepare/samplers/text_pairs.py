"""Pairs of a text about a paper and the paper: its title, or a summary by its authors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sciprism.papers.records import Paper
from sciprism.prepare.samplers.drawing import NONE, Draw, Sampled, lowest
from sciprism.training.examples import Example


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPairs:
    """Take each text as a query that its paper answers. most: pairs, 0 for all; they are drawn by a hash.

    The other papers of a batch are the negatives; there are no hard ones.
    """

    most: int = 0
    seed: int = 0

    def sample(
        self, pairs: Iterable[tuple[str, Paper]], *, report: Sampled | None = None
    ) -> Iterator[Example]:
        """Yield an example of each pair whose text and paper have words, in their order."""
        report = Sampled() if report is None else report
        whole = _whole(pairs, report)
        if self.most:
            known = list(whole)
            rows = lowest([paper.id for _, paper in known], self.most, self.seed, report.dropped)
            whole = (known[row] for row in rows)
        for text, paper in whole:
            report.add(Draw((0,), (), (NONE,)))
            yield Example(text, (paper,))


def title_and_abstract(papers: Iterable[Paper]) -> Iterator[tuple[str, Paper]]:
    """Yield the title of each paper and the paper with its abstract alone."""
    return ((paper.title, Paper(id=paper.id, abstract=paper.abstract)) for paper in papers)


def _whole(pairs: Iterable[tuple[str, Paper]], report: Sampled) -> Iterator[tuple[str, Paper]]:
    for text, paper in pairs:
        if text.strip() and (paper.title or paper.abstract):
            yield text, paper
        else:
            report.dropped.add("no words to ask with" if not text.strip() else "no text", paper.id)
