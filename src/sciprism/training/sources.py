"""The examples of one source: read in any order without holding the file in memory."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any

from sciprism.errors import InputError
from sciprism.training.examples import Example, from_row, read_examples
from sciprism.training.recipe import SourceSpec

Overlaps = Callable[[Iterable[Example]], Sequence[str]]
"""Names the test papers among examples, a line for each."""


class Source:
    """A file of examples, its rows found by their place in the file.

    len(source) counts examples with a positive; `without_positive` counts those that are left out.
    """

    def __init__(self, spec: SourceSpec) -> None:
        self.spec = spec
        self.name = spec.name
        self.without_positive = 0
        if not spec.file.is_file():
            raise InputError(
                f"source {self.name}: {spec.file} does not exist; `sciprism prepare` makes sources"
            )
        self._places = array("q")
        self._rows: list[dict[str, Any]] = []
        digest = sha256()
        with spec.file.open("rb") as file:
            whole = file.read(1) == b"["
            file.seek(0)
            for place, line in _lines(file):
                digest.update(line)
                if not whole:
                    self._take(place, line)
        if whole:
            rows = json.loads(spec.file.read_bytes())
            self._rows = [row for number, row in enumerate(rows, 1) if self._has_positive(row, number)]
        self.sha256 = digest.hexdigest()
        if not len(self):
            raise InputError(f"source {self.name}: {spec.file} holds no example with a positive")

    def __len__(self) -> int:
        return len(self._rows) or len(self._places)

    def examples(self, rows: Iterable[int]) -> Iterator[Example]:
        """Yield the examples of these rows, in the order asked."""
        with self.spec.file.open("rb") as file:
            for row in rows:
                if self._rows:
                    yield self._example(self._rows[row], row)
                else:
                    file.seek(self._places[row])
                    yield self._example(json.loads(file.readline()), row)

    def dev(self, count: int) -> list[Example]:
        """Return the first examples of the dev file, none where there is none."""
        if self.spec.dev is None:
            return []
        if not self.spec.dev.is_file():
            raise InputError(f"source {self.name}: the dev file {self.spec.dev} does not exist")
        return list(
            islice(read_examples(self.spec.dev, query=self.spec.query, candidate=self.spec.candidate), count)
        )

    def _take(self, place: int, line: bytes) -> None:
        number = len(self._places) + self.without_positive + 1
        try:
            row = json.loads(line)
        except ValueError as error:
            raise InputError(f"source {self.name}: {self.spec.file}, record {number}: not JSON") from error
        if self._has_positive(row, number):
            self._places.append(place)

    def _has_positive(self, row: Any, number: int) -> bool:
        example = self._example(row, number)
        self.without_positive += example is None
        return example is not None

    def _example(self, row: Any, number: int) -> Any:
        try:
            return from_row(row, query=self.spec.query, candidate=self.spec.candidate)
        except ValueError as error:
            raise InputError(f"source {self.name}: {self.spec.file}, record {number}: {error}") from error


def _lines(file: Any) -> Iterator[tuple[int, bytes]]:
    place = 0
    for line in file:
        if line.strip():
            yield place, line
        place += len(line)


def refuse_overlaps(source: Source, overlaps: Overlaps) -> None:
    """Refuse a source that holds test papers."""
    found = overlaps(source.examples(range(len(source))))
    if found:
        raise InputError(
            f"source {source.name}: {len(found):,} of its papers stand in tests, the "
            f"first: {found[0]}; make it anew without them, or pass --allow-overlap and report no such test"
        )


def chosen(example: Example, spec: SourceSpec, key: int) -> Example:
    """Return an example with the positive that stands for it in front, drawn where the source says so."""
    if len(example.positives) == 1 or spec.positives == "first":
        return example
    place = key % len(example.positives)
    others = example.positives[:place] + example.positives[place + 1 :]
    return Example(example.query, (example.positives[place], *others), example.negatives)
