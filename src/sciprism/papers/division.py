"""Divide the files of an input among the workers that embed it: each gets whole files, and blocks of large ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from sciprism.errors import InputError

BLOCK_RECORDS = 256
"""Records of a divided file that one part takes in a row: a batch of the encoder."""
FILES_PER_PART = 4
"""A file larger than the share of one part, divided by this, is itself divided: else parts would be unequal."""
EVERY_PART = 0
"""Owner of a file whose blocks of records all parts divide."""
MAX_PARTS = 100_000

_PART = re.compile(r"\s*(\d{1,9})\s*/\s*(\d{1,9})\s*")


@dataclass(frozen=True, slots=True)
class PartNumber:
    """Which part of how many, counted from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "2/8". Raises InputError for another form, and for a number that is not of the count."""
        found = _PART.fullmatch(text)
        if found is None:
            raise InputError(f"part {text!r} is not of the form i/n, such as 2/8: the second of eight parts")
        number, count = map(int, found.groups())
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

    def __init__(self, part: PartNumber, owners: Mapping[str, int]) -> None:
        """owners: file, as `InputFile.full_name` has it -> its part, or EVERY_PART; in the order of the input."""
        self.part = part
        self._owners = owners
        self._first = {file: number % part.count for number, file in enumerate(owners)}

    def reads_file(self, file: str) -> bool:
        """Return whether the part reads any record of a file."""
        return self._find_owner(file) in (EVERY_PART, self.part.number)

    def reads_record(self, file: str, number: int) -> bool:
        """Return whether the part reads a record of a file; number: from 1.

        The parts take turns; each file begins with another part, so that many short files are divided evenly.
        """
        owner = self._find_owner(file)
        if owner == EVERY_PART:
            return ((number - 1) // BLOCK_RECORDS + self._first[file]) % self.part.count == self.part.number - 1
        return owner == self.part.number

    def _find_owner(self, file: str) -> int:
        if (owner := self._owners.get(file)) is None:
            raise InputError(f"{file} was not in the input when it was divided; parts need the same input")
        return owner


def divide_files(sizes: Sequence[int], count: int) -> list[int]:
    """Return the part of each file, or EVERY_PART for one that is divided by blocks of records.

    Large files are divided, and the others go, the largest first, to the part that has the fewest bytes: no part
    has more than 1 / FILES_PER_PART above the mean, and nothing but the sizes decides.
    """
    limit = sum(sizes) / (FILES_PER_PART * count)
    owners, loads = [EVERY_PART] * len(sizes), [0] * count
    if count == 1:
        return [1] * len(sizes)
    for file in sorted(range(len(sizes)), key=lambda each: (-sizes[each], each)):
        if sizes[file] <= limit:
            part = min(range(count), key=lambda each: loads[each])
            owners[file] = part + 1
            loads[part] += sizes[file]
    return owners
