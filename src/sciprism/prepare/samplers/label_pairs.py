"""Pairs of a paper and a label, with labels of related papers as hard negatives (SciMult, 3.4 and A.1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.prepare.graphs.citations import CitationGraph, rows_of
from sciprism.prepare.samplers.drawing import Sampled, drawn, lowest
from sciprism.prepare.samplers.other_labels import OtherLabels, Ties
from sciprism.prepare.samplers.ties import Shared, references, with_text
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

BEYOND = "pair beyond the cap of its label"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPairs:
    """Sample the labels of each paper, and for each a label that it does not have.

    That one is a label of a paper that it cites, or that shares an author or the venue with it. cap: pairs
    that one label may stand in, drawn at random, 0 for all; the paper says 100. hard: whether to draw
    negatives at all. most: papers, 0 for all, drawn after the cap.
    """

    cap: int = 100
    hard: bool = True
    most: int = 0
    seed: int = 0

    def sample(
        self,
        papers: Sequence[Paper],
        labels: Sequence[Label],
        carried: Sequence[Iterable[int]],
        *,
        workers: int = 1,
        report: Sampled | None = None,
    ) -> Iterator[Example]:
        """Yield an example for each paper that keeps a label, in their order, its labels in random order.

        carried: label rows of each paper. References, authors and venue are the papers' own; authors tie
        papers by what is written there, so put identifiers where there are such.
        """
        if len(carried) != len(papers):
            raise InputError(f"{len(papers)} papers, but labels of {len(carried)}")
        report = Sampled() if report is None else report
        rows_of(paper.id for paper in papers)
        rows = with_text(papers, report.dropped)
        papers = [papers[row] for row in rows]
        every = [frozenset(carried[row]) for row in rows]
        draw = OtherLabels(
            names=[paper.id for paper in papers],
            labels=every,
            kept=self._kept(papers, labels, every, report),
            ties=_ties(papers) if self.hard else {},
            seed=self.seed,
        )
        able = [row for row, kept in enumerate(draw.kept) if kept]
        chosen = lowest([papers[row].id for row in able], self.most, self.seed, report.dropped)
        asked = [able[at] for at in chosen]
        for row, found in zip(asked, drawn(draw, asked, workers), strict=True):
            report.add(found)
            positives, negatives = ([labels[i] for i in rows] for rows in (found.positives, found.negatives))
            yield Example(papers[row], tuple(positives), tuple(negatives))

    def _kept(
        self,
        papers: Sequence[Paper],
        labels: Sequence[Label],
        every: Sequence[frozenset[int]],
        report: Sampled,
    ) -> list[tuple[int, ...]]:
        """Return the labels of each paper that the cap leaves, the pairs that hash lowest."""
        holders: dict[int, list[int]] = defaultdict(list)
        for row, each in enumerate(every):
            if not each:
                report.dropped.add("no label", papers[row].id)
            for label in each:
                holders[label].append(row)
        kept: list[list[int]] = [[] for _ in papers]
        for label, rows in sorted(holders.items()):
            if self.cap and len(rows) > self.cap:
                name = labels[label].id
                rows.sort(key=lambda row: (random_fraction(self.seed, papers[row].id, name), row))
                for row in rows[self.cap :]:
                    report.dropped.add(BEYOND, papers[row].id)
            for row in rows[: self.cap or None]:
                kept[row].append(label)
        return [tuple(each) for each in kept]


def _ties(papers: Sequence[Paper]) -> dict[str, Ties]:
    cited = CitationGraph.of([paper.id for paper in papers], _inside(papers), Sampled().dropped)
    return {
        "citation": cited,
        "author": Shared([paper.authors for paper in papers]),
        "venue": Shared([(paper.venue,) for paper in papers]),
    }


def _inside(papers: Sequence[Paper]) -> Iterator[tuple[str, str]]:
    """Yield the references between the papers: all others say nothing about labels."""
    known = {paper.id for paper in papers}
    return (edge for edge in references(papers) if edge[1] in known)
