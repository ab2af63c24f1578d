"""Labels that a related paper has and the paper itself has not (SciMult, 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from sciprism.prepare.samplers.drawing import NONE, Draw, chance

TRIES = 10
"""Related papers of one kind that are looked at before another kind is."""


class Ties(Protocol):
    """Papers tied to papers, by rows."""

    def one(self, random: Random, row: int) -> int | None:
        """Draw a related paper; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLabels:
    """Draw, for the row of a paper, a negative label for each of its positive ones.

    labels: all label rows of each paper. kept: those that are its positives. ties: kind -> related papers.
    The kinds come in random order; no label is drawn twice for a paper.
    """

    names: Sequence[str]
    labels: Sequence[frozenset[int]]
    kept: Sequence[tuple[int, ...]]
    ties: Mapping[str, Ties]
    seed: int

    def __call__(self, row: int) -> Draw:
        """Return what is drawn for a row; it decides, with the seed, alone."""
        random = chance(self.seed, self.names[row])
        positives = random.sample(self.kept[row], len(self.kept[row]))
        negatives: dict[int, str] = {}
        for _ in positives:
            label, kind = self._one(random, row, self.labels[row].union(negatives))
            if label is not None:
                negatives[label] = kind
        missing = len(positives) - len(negatives)
        return Draw(tuple(positives), tuple(negatives), (*negatives.values(), *[NONE] * missing))

    def _one(self, random: Random, row: int, barred: frozenset[int]) -> tuple[int | None, str]:
        for kind in random.sample([*self.ties], len(self.ties)):
            for _ in range(TRIES):
                other = self.ties[kind].one(random, row)
                if other is None:
                    break
                if labels := sorted(self.labels[other] - barred):
                    return random.choice(labels), kind
        return None, NONE
