"""Divide an input into parts: each reads some of the files, and of a large file one of several equal pieces."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple, Self

from sciprism.errors import InputError

MAX_PARTS = 100_000
MARGIN = Fraction(1, 4)  # of a part: what it may have more or less of a file than its share, so that few are cut
_PART = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*")


class FilePiece(NamedTuple):
    """Which of how many equal pieces of a file's records, the first with the number 0."""

    number: int = 0
    pieces: int = 1

    def select(self, records: int) -> range:
        """Return the numbers, from 1, of the piece's records in a file of so many."""
        first, last = (place * records // self.pieces for place in (self.number, self.number + 1))
        return range(first + 1, last + 1)


@dataclass(frozen=True, slots=True)
class InputPart:
    """Which part of how many, counted from 1; records: of files of several parts, as far as they were counted."""

    number: int
    count: int
    records: dict[str, int] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "2/8". Raises InputError for another form, and for a number that is not of the count."""
        match = _PART.fullmatch(text)
        number, count = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= count <= MAX_PARTS:
            raise InputError(
                f"part {text!r} is not of the form i/n, such as 2/8: the second of eight parts, of at most "
                f"{MAX_PARTS:,}; where a scheduler counts from 0, add 1"
            )
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def divide(self, sizes: Sequence[int]) -> list[FilePiece | None]:
        """Return of each file the piece that this part reads, None of a file that it does not read.

        The files, of these sizes (bytes), are in the order of the input, and so are the pieces of the parts. Parts of
        equal size would each have some bytes of the input: a part reads the files of which at least a quarter of its
        size is there, in equal pieces with the other parts that do. Of a smaller file it reads all or nothing.

        >>> InputPart(1, 2).divide([10, 10, 70, 10])
        [FilePiece(number=0, pieces=1), FilePiece(number=0, pieces=1), FilePiece(number=0, pieces=2), None]
        """
        size_of_part = Fraction(max(sum(sizes), 1), self.count)
        pieces: list[FilePiece | None] = []
        start = 0
        for size in sizes:
            stop = start + size
            first, end = floor(start / size_of_part + MARGIN), ceil(stop / size_of_part - MARGIN)
            if first >= end:  # a small file: the part that has its middle reads it
                first = min(int((start + stop) / 2 / size_of_part), self.count - 1)
                end = first + 1
            inside = first < self.number <= end
            pieces.append(FilePiece(self.number - 1 - first, end - first) if inside else None)
            start = stop
        return pieces
