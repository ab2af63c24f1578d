"""Divide the files of an input among the workers that embed it.

The bytes of all files, in their order, are divided into parts of equal size. A file that lies within one part is read
by this part alone; one that crosses a border is shared, in blocks of records. So each part reads few files, and its
papers are neighbours in the input.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Self

from sciprism.errors import InputError

BLOCK_RECORDS = 256  # size of a block: consecutive records of a shared file that go to one part, a batch of the encoder
FILES_PER_PART = 4
"""A file smaller than 1 / FILES_PER_PART of a part is not shared; the part that has its middle reads it."""
MIN_SHARE = 32  # a part that has less than 1 / MIN_SHARE of its size in a file does not read that file
MAX_WEIGHT = 16  # blocks, in one round of a shared file, of the part that has most of it
MAX_PARTS = 100_000

Weight = tuple[int, int]  # a part, from 1, and its share of a file
_PART = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*")


@dataclass(frozen=True, slots=True)
class PartNumber:
    """Which part of how many, counted from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "2/8". Raises InputError for another form, and for a number that is not of the count."""
        match = _PART.fullmatch(text)
        if match is None:
            raise InputError(f"part {text!r} is not of the form i/n, such as 2/8: the second of eight parts")
        number, count = map(int, match.groups())
        if not 1 <= number <= count or count > MAX_PARTS:
            raise InputError(
                f"part {text!r}: parts are counted from 1 to n, of at most {MAX_PARTS:,}; "
                "where a scheduler counts from 0, add 1"
            )
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def folder(self) -> str:
        """Return the name of the part's folder, "2-of-8"."""
        return f"{self.number}-of-{self.count}"


class InputShare:
    """The records that one part reads."""

    def __init__(self, part: PartNumber, division: Mapping[str, Sequence[Weight]]) -> None:
        """division: file, as `InputFile.full_name` has it -> the parts that read it (`divide_files`)."""
        self.part, self._division = part, division
        self._turns: dict[str, tuple[int, ...]] = {}

    def reads_file(self, file: str) -> bool:
        """Return whether the part reads any record of a file."""
        return self.part.number in self._find_turns(file)

    def reads_record(self, file: str, number: int) -> bool:
        """Return whether the part reads a record of a file; number: from 1."""
        turns = self._find_turns(file)
        return turns[(number - 1) // BLOCK_RECORDS % len(turns)] == self.part.number

    def _find_turns(self, file: str) -> tuple[int, ...]:
        if file not in self._turns:
            if file not in self._division:
                raise InputError(f"{file} was not in the input when it was divided; parts need the same input")
            self._turns[file] = take_turns(self._division[file])
        return self._turns[file]


def divide_files(sizes: Sequence[int], count: int) -> list[tuple[Weight, ...]]:
    """Return of each file the parts that read it, each with its weight: its blocks of all, until the turns repeat.

    Nothing but the sizes and their order decides. No part has more than 1 / FILES_PER_PART above the mean, or so.
    """
    share = max(sum(sizes), 1)  # of one part, where a byte has the length `count`
    shares: list[tuple[Weight, ...]] = []
    start = 0
    for size in sizes:
        stop = start + size * count
        first, last = (min(place // share, count - 1) for place in (start, max(stop - 1, start)))
        if (stop - start) * FILES_PER_PART <= share or first == last:
            shares.append(((min((start + stop) // 2 // share, count - 1) + 1, 1),))
        else:
            overlaps = {
                part + 1: min(stop, (part + 1) * share) - max(start, part * share) for part in range(first, last + 1)
            }
            largest = max(overlaps.values())
            retained = {part: size for part, size in overlaps.items() if size * MIN_SHARE >= share or size == largest}
            shares.append(_weigh(retained, largest))
        start = stop
    return shares


def _weigh(overlaps: Mapping[int, int], largest: int) -> tuple[Weight, ...]:
    weights = {part: max(1, round(overlap * MAX_WEIGHT / largest)) for part, overlap in overlaps.items()}
    divisor = gcd(*weights.values())
    return tuple((part, weight // divisor) for part, weight in weights.items())


def take_turns(weights: Sequence[Weight]) -> tuple[int, ...]:
    """Return the part of each block until the turns repeat: each as often as its weight, and evenly spread.

    >>> take_turns([(1, 2), (2, 1)])
    (1, 2, 1)
    """
    total = sum(weight for _, weight in weights)
    credit, turns = dict.fromkeys((part for part, _ in weights), 0), []
    for _ in range(total):
        for part, weight in weights:
            credit[part] += weight
        turn = max(credit, key=lambda part: credit[part])  # the first of equals
        credit[turn] -= total
        turns.append(turn)
    return tuple(turns)
