"""The data of one source, read in any order: files of examples, or folders of token blocks."""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain
from typing import Any

import numpy as np

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.seeding import derive_seed, sample
from sciprism.text.template import Item
from sciprism.text.token_shards import MIXTURE, TokenShards
from sciprism.text.tokenizer import fingerprint_tokenizer
from sciprism.training.batches import Batch
from sciprism.training.examples import PAPERS_FILE, Example, PaperLookup, from_row, item_key, parse_json, read_examples
from sciprism.training.learners.learner import Learner
from sciprism.training.recipe import SourceSpec

BOM, GZIP = b"\xef\xbb\xbf", b"\x1f\x8b"
OverlapCheck = Callable[[Iterable[Example]], Sequence[str]]  # returns a line for each test paper among examples


class _Source:
    """What all sources of a stage have.

    `dropped`: examples that lack what the learner requires; len(source) is the number of the others. labels: all
    names among the answers, sorted. candidates: where candidates are labels, all of them by key. test_papers: how
    many of its papers are in tests, None where nobody has checked. sha256: of the content.
    """

    sha256: str

    def __init__(self, spec: SourceSpec, learner: type[Learner] = Learner) -> None:
        self.spec = spec
        self.name = spec.name
        self.learner = learner
        self.dropped = 0
        self.test_papers: int | None = None
        self.labels: tuple[str, ...] = ()
        self.candidates: dict[str, Item] = {}


class ExampleSource(_Source):
    """A file of examples, DPR-style or triplets of ids.

    A record is one example, or where all positives are used, one for each of them.
    """

    def __init__(self, spec: SourceSpec, learner: type[Learner] = Learner) -> None:
        super().__init__(spec, learner)
        if not spec.file.is_file():
            raise InputError(f"source {self.name}: {spec.file} does not exist; `sciprism prepare` makes sources")
        self._papers = PaperLookup(spec.file.parent / PAPERS_FILE)
        self._offsets = array("q")
        self._ends = array("q")  # of the examples of each record
        self._names: set[str] = set()
        self._rows: list[dict[str, Any]] = []
        digest = sha256()
        with spec.file.open("rb") as file:
            start = file.read(len(BOM) + 1).removeprefix(BOM)
            if start.startswith(GZIP):
                raise InputError(
                    f"source {self.name}: {spec.file} is compressed; decompress it to read rows in any order"
                )
            is_array = start.startswith(b"[")
            file.seek(0)
            number = offset = 0
            for line in file:
                if line.strip():
                    number += 1
                    digest.update(line)
                    where = f"source {self.name}: {spec.file}, record {number}"
                    if not is_array and self._accept(parse_json(line, where), number):
                        self._offsets.append(offset)
                offset += len(line)
        if is_array:
            rows = parse_json(spec.file.read_bytes(), f"source {self.name}: {spec.file}")
            self._rows = [row for number, row in enumerate(rows, 1) if self._accept(row, number)]
        self.sha256 = digest.hexdigest()
        self.labels = tuple(sorted(self._names))
        if not len(self):
            raise InputError(f"source {self.name}: {spec.file} holds no example with {learner.requires}")

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def examples(self, rows: Iterable[int]) -> Iterator[Example]:
        """Yield the examples of these rows, in the order given."""
        with self.spec.file.open("rb") as file:
            for row in rows:
                record = bisect_right(self._ends, row)
                if not self._rows:
                    file.seek(self._offsets[record])
                content = self._rows[record] if self._rows else json.loads(file.readline())
                example = self._parse(content, record)
                assert example is not None, f"{self.spec.file} was changed while it is read"
                pair = row - (self._ends[record - 1] if record else 0)
                yield _start_with(example, pair, pair)

    def batch(self, rows: Sequence[int], *, seed: int, sample_key: tuple[int, ...]) -> Batch:
        """Return the examples of these rows, with the sampled positives and negatives first.

        sample_key: decides, with the row, which are sampled; seed: all else that is random.
        """
        examples = [*self.examples(rows)]
        if self.spec.positives == "random":
            keys = (derive_seed(*sample_key, row) for row in rows)
            examples = [_start_with(example, key, key >> 20) for example, key in zip(examples, keys, strict=True)]
        return self._batch(examples, seed)

    def dev(self, count: int) -> dict[str, Batch]:
        """Return at most `count` examples of the dev file under the source's name; none without such a file."""
        examples = self.dev_examples(count)
        return {self.name: self._batch(examples, 0)} if examples else {}

    def check(self, encoder: Encoder) -> None:
        """Accept any model: every encoder reads texts."""

    def check_files(self, dev_count: int) -> None:
        """Raise InputError for a dev file that is missing, broken or without an example that fits."""
        self.dev_examples(dev_count)

    def check_overlap(self, overlaps: OverlapCheck, dev_count: int) -> None:
        """Raise InputError for test papers among the examples or dev examples."""
        test_papers = overlaps(chain(self.examples(range(len(self))), self.dev_examples(dev_count)))
        if test_papers:
            raise InputError(
                f"source {self.name}: {len(test_papers):,} of its papers are in tests, the first: {test_papers[0]}; "
                "prepare it again with --exclude FILE of such papers, or train without --data and report no such test"
            )
        self.test_papers = 0

    def dev_examples(self, count: int) -> list[Example]:
        """Return sampled examples of the dev file in the file's order; none without such a file, or of an empty one."""
        path = self.spec.dev
        if path is None:
            return []
        if not path.is_file():
            raise InputError(f"source {self.name}: the dev file {path} does not exist")
        if not path.stat().st_size:
            return []
        read = read_examples(path, query=self.spec.query, candidate=self.spec.candidate)
        examples = sample(filter(self.learner.fits, read), count, "dev")
        if not examples:
            raise InputError(f"source {self.name}: the dev file {path} holds no example with {self.learner.requires}")
        return examples

    def _batch(self, examples: Sequence[Example], seed: int) -> Batch:
        spec = self.spec
        assert spec.format is not None, "a recipe without it is refused"
        return Batch(examples=examples, format=spec.format, query=spec.query, candidate=spec.candidate, seed=seed)

    def _accept(self, row: Any, number: int) -> bool:
        """Return whether a row is an example for the objective; record its labels, or count it as dropped."""
        example = self._parse(row, number)
        if example is None or not self.learner.fits(example):
            self.dropped += 1
            return False
        examples = max(1, len(example.positives)) if self.spec.positives == "all" else 1
        self._ends.append(len(self) + examples)
        self._names.update(answer for answer in example.answers if isinstance(answer, str))
        if self.spec.candidate == "label":
            self.candidates.update((item_key(item), item) for item in example.positives)
        return True

    def _parse(self, row: Any, number: int) -> Example | None:
        try:
            return from_row(row, query=self.spec.query, candidate=self.spec.candidate, papers=self._papers)
        except ValueError as error:
            raise InputError(f"source {self.name}: {self.spec.file}, record {number}: {error}") from error


def _start_with(example: Example, positive: int, negative: int) -> Example:
    """Return an example whose positives and negatives begin with these, counted around."""
    positive, negative = positive % max(1, len(example.positives)), negative % max(1, len(example.negatives))
    positives = example.positives[positive:] + example.positives[:positive]
    negatives = example.negatives[negative:] + example.negatives[:negative]
    return replace(example, positives=positives, negatives=negatives)


class TokenSource(_Source):
    """A folder of shards. Its dev is such a folder, or one with a folder of shards for each domain."""

    def __init__(self, spec: SourceSpec, learner: type[Learner]) -> None:
        super().__init__(spec, learner)
        self._shards = TokenShards(spec.file)
        self.sha256 = self._shards.sha256
        if not len(self):
            raise InputError(f"source {self.name}: {spec.file} holds no block")
        self._dev: dict[str, TokenShards] = {}
        if spec.dev is not None:
            if not spec.dev.is_dir():
                raise InputError(f"source {self.name}: the dev folder {spec.dev} does not exist")
            domains = {f"{self.name}/{folder.name}": folder for folder in sorted(spec.dev.iterdir()) if folder.is_dir()}
            self._dev = {name: TokenShards(folder) for name, folder in (domains or {self.name: spec.dev}).items()}

    def __len__(self) -> int:
        return len(self._shards)

    def batch(self, rows: Sequence[int], *, seed: int, sample_key: tuple[int, ...]) -> Batch:
        """Return blocks by their numbers."""
        return _batch(self._shards, rows, seed, sample_key)

    def dev(self, count: int) -> dict[str, Batch]:
        """Return at most `count` sampled blocks of each domain."""
        return {
            name: _batch(shards, sample(range(len(shards)), count, "dev"), 0, ())
            for name, shards in self._dev.items()
            if len(shards)
        }

    def check_files(self, dev_count: int) -> None:  # noqa: ARG002
        """Read all shards once, those of dev too, and refuse any that has changed since it was written."""
        for shards in (self._shards, *self._dev.values()):
            shards.check()

    def check_overlap(self, overlaps: OverlapCheck, dev_count: int) -> None:  # noqa: ARG002
        """Refuse blocks that were prepared without a check against tests: nobody can check them later."""
        about = self.spec.file.parent / MIXTURE
        if not (about.is_file() and json.loads(about.read_text("utf-8"))["settings"]["split_table"]):
            raise InputError(
                f"source {self.name}: {self.spec.file} may hold papers of tests; prepare it again with "
                "`sciprism prepare text --data`, or train without --data and report no such test"
            )
        self.test_papers = 0

    def check(self, encoder: Encoder) -> None:
        """Refuse a model of another vocabulary, or with fewer positions than a block has tokens."""
        if fingerprint_tokenizer(encoder.tokenizer) != self._shards.tokenizer:
            raise InputError(
                f"source {self.name}: its tokens are of another vocabulary than the model's; run "
                "`sciprism prepare text` with the model's tokenizer"
            )
        longest = encoder.model.config.max_length
        if self._shards.length > longest:
            raise InputError(f"source {self.name}: blocks of {self._shards.length} tokens, positions for {longest}")


StageSource = ExampleSource | TokenSource


def _batch(shards: TokenShards, rows: Sequence[int], seed: int, sample_key: tuple[int, ...]) -> Batch:
    return Batch(
        blocks=[shards[row].astype(np.int64) for row in rows],
        block_seeds=[derive_seed(*sample_key, row) for row in rows],
        seed=seed,
    )
