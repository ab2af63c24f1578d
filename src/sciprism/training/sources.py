"""The examples of one source: read in any order; JSON lines stay on disk, an array is held in memory."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from typing import Any

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.seeding import sample
from sciprism.text.template import Item
from sciprism.training.batch import Batch
from sciprism.training.batches import mixed
from sciprism.training.examples import Example, from_row, key_of, parsed, read_examples
from sciprism.training.learners.learner import Learner
from sciprism.training.paper_file import NAME, PaperFile
from sciprism.training.recipe import SourceSpec

BOM, GZIP = b"\xef\xbb\xbf", b"\x1f\x8b"
Overlaps = Callable[[Iterable[Example]], Sequence[str]]
"""Names the test papers among examples, a line for each."""


class Source:
    """A file of examples, its rows found by their place in the file.

    len(source) counts examples that have what the learner wants; `left_out` the others. labels: all names
    among the answers, in the order of the alphabet. candidates: all labels among the positives, where labels
    are what is asked for, by key. of_tests: how many of its papers stand in tests, None where nobody has
    looked.
    """

    def __init__(self, spec: SourceSpec, learner: type[Learner] = Learner) -> None:
        self.spec = spec
        self.name = spec.name
        self.learner = learner
        self.left_out = 0
        self.of_tests: int | None = None
        self.labels: tuple[str, ...] = ()
        self.candidates: dict[str, Item] = {}
        if not spec.file.is_file():
            raise InputError(
                f"source {self.name}: {spec.file} does not exist; `sciprism prepare` makes sources"
            )
        self._papers = PaperFile(spec.file.parent / NAME)
        self._places = array("q")
        self._names: set[str] = set()
        self._rows: list[dict[str, Any]] = []
        digest = sha256()
        with spec.file.open("rb") as file:
            start = file.read(len(BOM) + 1).removeprefix(BOM)
            if start.startswith(GZIP):
                raise InputError(
                    f"source {self.name}: {spec.file} is compressed; unpack it, rows are read in any order"
                )
            whole = start.startswith(b"[")
            file.seek(0)
            for place, line in _lines(file):
                digest.update(line)
                if not whole:
                    self._take(place, line)
        if whole:
            rows = parsed(spec.file.read_bytes(), f"source {self.name}: {spec.file}")
            self._rows = [row for number, row in enumerate(rows, 1) if self._fits(row, number)]
        self.sha256 = digest.hexdigest()
        self.labels = tuple(sorted(self._names))
        if not len(self):
            raise InputError(f"source {self.name}: {spec.file} holds no example with {learner.wants}")

    def __len__(self) -> int:
        return len(self._rows) or len(self._places)

    def examples(self, rows: Iterable[int]) -> Iterator[Example]:
        """Yield the examples of these rows, in the order asked."""
        with self.spec.file.open("rb") as file:
            for row in rows:
                if not self._rows:
                    file.seek(self._places[row])
                content = self._rows[row] if self._rows else json.loads(file.readline())
                example = self._example(content, row)
                assert example is not None, f"{self.spec.file} was changed while it is read"
                yield example

    def batch(self, rows: Sequence[int], *, seed: int, draw: tuple[int, ...]) -> Batch:
        """Return the examples of these rows. draw: decides which positives stand for them, seed all else."""
        found = self.examples(rows)
        picked = [chosen(e, self.spec, mixed(*draw, row)) for row, e in zip(rows, found, strict=True)]
        return self._batch(picked, seed)

    def dev(self, count: int) -> dict[str, Batch]:
        """Return examples of the dev file under the source's name; nothing without such a file."""
        found = self.dev_examples(count)
        return {self.name: self._batch(found, 0)} if found else {}

    def check(self, encoder: Encoder) -> None:
        """Accept any model: texts are cut into the tokens that it knows."""

    def dev_examples(self, count: int) -> list[Example]:
        """Return examples of the dev file, drawn by hash of their place and in the order of the file.

        Without such a file there are none, an empty one is refused.
        """
        path = self.spec.dev
        if path is None:
            return []
        if not path.is_file():
            raise InputError(f"source {self.name}: the dev file {path} does not exist")
        read = read_examples(path, query=self.spec.query, candidate=self.spec.candidate)
        found = sample(filter(self.learner.fits, read), count, "dev")
        if not found:
            raise InputError(
                f"source {self.name}: the dev file {path} holds no example with {self.learner.wants}"
            )
        return found

    def _batch(self, examples: Sequence[Example], seed: int) -> Batch:
        spec = self.spec
        assert spec.format is not None, "a recipe without it is refused"
        return Batch(
            examples=examples, format=spec.format, query=spec.query, candidate=spec.candidate, seed=seed
        )

    def _take(self, place: int, line: bytes) -> None:
        number = len(self._places) + self.left_out + 1
        row = parsed(line, f"source {self.name}: {self.spec.file}, record {number}")
        if self._fits(row, number):
            self._places.append(place)

    def _fits(self, row: Any, number: int) -> bool:
        example = self._example(row, number)
        if example is None or not self.learner.fits(example):
            self.left_out += 1
            return False
        self._names.update(answer for answer in example.answers if isinstance(answer, str))
        if self.spec.candidate == "label":
            self.candidates.update((key_of(item), item) for item in example.positives)
        return True

    def _example(self, row: Any, number: int) -> Example | None:
        try:
            return from_row(row, query=self.spec.query, candidate=self.spec.candidate, papers=self._papers)
        except ValueError as error:
            raise InputError(f"source {self.name}: {self.spec.file}, record {number}: {error}") from error


def _lines(file: Any) -> Iterator[tuple[int, bytes]]:
    place = 0
    for line in file:
        if line.strip():
            yield place, line
        place += len(line)


def refuse_overlaps(source: Source, dev: Sequence[Example], overlaps: Overlaps) -> None:
    """Refuse a source that holds test papers, to train on or to choose checkpoints by."""
    found = overlaps(chain(source.examples(range(len(source))), dev))
    if found:
        raise InputError(
            f"source {source.name}: {len(found):,} of its papers stand in tests, the first: {found[0]}; "
            "make it anew without them, or pass --allow-overlap and report no such test"
        )
    source.of_tests = 0


def chosen(example: Example, spec: SourceSpec, key: int) -> Example:
    """Return an example with the positive and negatives that stand for it in front, drawn unless "first"."""
    if spec.positives == "first":
        return example
    positives, negatives = (
        _turned(items, draw) for items, draw in ((example.positives, key), (example.negatives, key >> 20))
    )
    return replace(example, positives=positives, negatives=negatives)


def _turned(items: tuple[Item, ...], draw: int) -> tuple[Item, ...]:
    place = draw % max(1, len(items))
    return items[place:] + items[:place]
