"""Distractors: random abstracts that answer no question, sampled from any number of papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from heapq import heappush, heapreplace

from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.retrieval.questions import normalize_text
from sciprism.seeding import random_bits

SHARED_WORDS = 13
"""An abstract that shares so many words in a row with a paragraph is the paragraph, or has a part of it."""


class DistractorSampler:
    """Sample `count` distinct abstracts: those with the lowest hashes of text and seed.

    papers: returns the papers anew at each call; they are read twice, and memory holds the hashes of the
    sampled ones. paragraphs: no distractor equals one or shares `SHARED_WORDS` words in a row with one. seen:
    papers read. usable: those of them whose abstract can be a distractor, duplicates too.
    """

    def __init__(
        self, papers: Callable[[], Iterable[Paper]], paragraphs: Iterable[str], count: int, *, seed: int
    ) -> None:
        self.papers = papers
        self.count = count
        self.seed = seed
        self.dropped = DropReport()
        self.seen = self.usable = 0
        self._paragraphs = {normalize_text(paragraph) for paragraph in paragraphs}
        self._runs = {run for paragraph in self._paragraphs for run in _word_runs(paragraph)}

    def __iter__(self) -> Iterator[Paper]:
        """Yield the sampled papers in the order of their files. Raises InputError if there are too few."""
        sampled = self._sample() if self.count else set()
        if len(sampled) < self.count:
            raise InputError(
                f"{self.count:,} distractors requested, but the papers have {len(sampled):,} abstracts that "
                "can be distractors; name more papers or request fewer"
            )
        for paper in self.papers() if sampled else ():
            key = random_bits(self.seed, normalize_text(paper.abstract))
            if key in sampled and paper.abstract:
                sampled.remove(key)
                yield paper

    def _sample(self) -> set[int]:
        """Return the hashes of the sampled abstracts."""
        lowest: list[int] = []  # a heap of negated hashes: the highest of the lowest comes first
        sampled: set[int] = set()
        for paper in self.papers():
            self.seen += 1
            text = normalize_text(paper.abstract)
            if reason := self._drop_reason(text):
                self.dropped.add(reason, paper.id)
                continue
            self.usable += 1
            key = random_bits(self.seed, text)
            if key in sampled:
                self.dropped.add("duplicate abstract", paper.id)
            elif len(lowest) < self.count:
                heappush(lowest, -key)
                sampled.add(key)
            elif key < -lowest[0]:
                sampled.remove(-heapreplace(lowest, -key))
                sampled.add(key)
        return sampled

    def _drop_reason(self, text: str) -> str:
        if not text:
            return "paper without an abstract"
        if text in self._paragraphs:
            return "abstract that is an annotated paragraph"
        if any(run in self._runs for run in _word_runs(text)):
            return f"abstract that shares {SHARED_WORDS} words in a row with an annotated paragraph"
        return ""


def _word_runs(text: str) -> Iterator[str]:
    words = text.split()
    return (" ".join(words[start : start + SHARED_WORDS]) for start in range(len(words) - SHARED_WORDS + 1))
