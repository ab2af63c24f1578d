"""Negative labels of a paper: labels of related papers that it does not have (SciMult, 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from sciprism.prepare.samplers.sampling import NONE, QuerySample, seeded_random

TRIES = 10
"""Related papers of one kind that are tried before the next kind."""


class RelatedPapers(Protocol):
    """Papers related to papers in one way, by rows."""

    def sample_one(self, random: Random, row: int) -> int | None:
        """Sample a related paper; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativeLabelSampler:
    """Sample, for the row of a paper, one negative label for each of its positives.

    labels: all label rows of each paper. positives: those of them that are its positives. related: kind ->
    related papers. The kinds are tried in random order; a label is sampled at most once for a paper.
    """

    names: Sequence[str]
    labels: Sequence[frozenset[int]]
    positives: Sequence[tuple[int, ...]]
    related: Mapping[str, RelatedPapers]
    seed: int

    def __call__(self, row: int) -> QuerySample:
        """Return the sample of a row; it depends on the row's name and the seed alone."""
        random = seeded_random(self.seed, self.names[row])
        positives = random.sample(self.positives[row], len(self.positives[row]))
        negatives: dict[int, str] = {}
        for _ in positives:
            label, kind = self._sample_one(random, row, self.labels[row].union(negatives))
            if label is not None:
                negatives[label] = kind
        missing = len(positives) - len(negatives)
        return QuerySample(tuple(positives), tuple(negatives), (*negatives.values(), *[NONE] * missing))

    def _sample_one(self, random: Random, row: int, excluded: frozenset[int]) -> tuple[int | None, str]:
        for kind in random.sample([*self.related], len(self.related)):
            for _ in range(TRIES):
                other = self.related[kind].sample_one(random, row)
                if other is None:
                    break
                if labels := sorted(self.labels[other] - excluded):
                    return random.choice(labels), kind
        return None, NONE
