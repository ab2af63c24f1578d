"""Triplets from links between papers: linked, two steps away, at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from sciprism.errors import InputError
from sciprism.prepare.samplers.drawing import NONE, RANDOM, Draw, chance


class Links(Protocol):
    """Papers and their links, by rows."""

    def answers(self, row: int) -> list[int]:
        """Return the rows that answer a paper, in order."""

    def linked(self, row: int) -> set[int]:
        """Return the paper itself and all that is linked to it either way: no negative of it."""

    def near(self, row: int) -> set[int]:
        """Return the rows two steps away; those that are linked as well may be among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Triplets:
    """Draw, for a row that has answers, some of them and one negative for each.

    names: of the rows. kind: what a row two steps away is called in reports. positives: at most so many,
    0 for all. hard_share: of the negatives, as far as there are rows two steps away; the rest is random.
    """

    names: Sequence[str]
    links: Links
    kind: str
    positives: int
    hard_share: float
    seed: int

    def __post_init__(self) -> None:
        if self.positives < 0 or not 0 <= self.hard_share <= 1:
            raise InputError(
                f"{self.positives} positives and {self.hard_share} of hard negatives: at least 0 positives "
                "(0: all) and a share between 0 and 1 are needed"
            )

    def __call__(self, row: int) -> Draw:
        """Return what is drawn for a row; it decides, with the seed, alone."""
        random = chance(self.seed, self.names[row])
        answers = self.links.answers(row)
        chosen = random.sample(answers, min(self.positives or len(answers), len(answers)))
        negatives = self._negatives(random, row, len(chosen))
        kinds = [kind for kind, _ in negatives] + [NONE] * (len(chosen) - len(negatives))
        return Draw(tuple(chosen), tuple(other for _, other in negatives), tuple(kinds))

    def _negatives(self, random: Random, row: int, count: int) -> list[tuple[str, int]]:
        linked = self.links.linked(row)
        near = sorted(self.links.near(row) - linked)
        wanted = int(self.hard_share * count + random.random())  # the share on average, not rounded down
        hard = random.sample(near, min(wanted, len(near)))
        rest = outside(random, len(self.names), linked.union(hard), count - len(hard))
        negatives = [(self.kind, other) for other in hard] + [(RANDOM, other) for other in rest]
        random.shuffle(negatives)
        return negatives


def outside(random: Random, size: int, barred: set[int], count: int) -> list[int]:
    """Draw `count` different numbers below `size` that are not barred, fewer where there are not so many."""
    found: list[int] = []
    taken = sorted(barred)
    for _ in range(min(count, size - len(taken))):
        number = random.randrange(size - len(taken))
        at = 0
        while at < len(taken) and taken[at] <= number:  # the number-th of those that are left
            number += 1
            at += 1
        taken.insert(at, number)
        found.append(number)
    return found
