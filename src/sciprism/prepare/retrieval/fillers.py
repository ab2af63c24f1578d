"""Fillers: abstracts that answer no question, drawn by chance from any number of papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappush, heapreplace

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.retrieval.pairs import same
from sciprism.seeding import random_bits

RUN = 13
"""So many words in a row that a paragraph has too: the abstract is the paragraph, or holds a part of it."""


class Fillers:
    """Draw `count` distinct abstracts: those whose text and the seed hash lowest.

    papers: gives the papers anew at each call; they are gone through twice, and what is held in memory are
    the hashes of the drawn ones. paragraphs: no filler equals one or shares `RUN` words in a row with one.
    seen: papers gone through. able: those of them with an abstract that might be drawn, equal ones too.
    """

    def __init__(
        self, papers: Callable[[], Iterable[Paper]], paragraphs: Iterable[str], count: int, *, seed: int
    ) -> None:
        self.papers = papers
        self.count = count
        self.seed = seed
        self.dropped = DropReport()
        self.seen = self.able = 0
        self._whole: set[str] = set()
        self._runs: set[str] = set()
        for paragraph in paragraphs:
            self._whole.add(same(paragraph))
            self._runs.update(_runs(same(paragraph)))

    def __iter__(self) -> Iterator[Paper]:
        """Yield the drawn papers in the order of their files. Raises InputError where there are too few."""
        chosen = self._chosen() if self.count else set()
        if len(chosen) < self.count:
            raise InputError(
                f"{self.count:,} fillers are asked for, but the papers have {len(chosen):,} abstracts that "
                "can be fillers; name more papers or ask for fewer"
            )
        for paper in self.papers() if chosen else ():
            key = random_bits(self.seed, same(paper.abstract))
            if key in chosen and paper.abstract:
                chosen.remove(key)
                yield paper

    def _chosen(self) -> set[int]:
        lowest: list[int] = []  # a heap of negated hashes: the highest of those drawn so far comes first
        chosen: set[int] = set()
        for paper in self.papers():
            self.seen += 1
            text = same(paper.abstract)
            if reason := self._fault(text):
                self.dropped.add(reason, paper.id)
                continue
            self.able += 1
            key = random_bits(self.seed, text)
            if key in chosen:
                self.dropped.add("abstract that another paper has too", paper.id)
            elif len(lowest) < self.count:
                heappush(lowest, -key)
                chosen.add(key)
            elif key < -lowest[0]:
                chosen.remove(-heapreplace(lowest, -key))
                chosen.add(key)
        return chosen

    def _fault(self, text: str) -> str:
        if not text:
            return "paper without an abstract"
        if text in self._whole:
            return "abstract that is an annotated paragraph"
        if any(run in self._runs for run in _runs(text)):
            return f"abstract that shares {RUN} words in a row with an annotated paragraph"
        return ""


def _runs(text: str) -> Iterator[str]:
    words = text.split()
    return (" ".join(words[start : start + RUN]) for start in range(len(words) - RUN + 1))
