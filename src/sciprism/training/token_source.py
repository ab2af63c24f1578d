"""Blocks of tokens as a source: shards that `sciprism prepare text` wrote, memory-mapped."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.seeding import sample
from sciprism.text.habits import tokenizer_key
from sciprism.text.shards import MIXTURE, TokenShards
from sciprism.text.template import Item
from sciprism.training.batch import Batch
from sciprism.training.batches import mixed
from sciprism.training.learners.learner import Learner
from sciprism.training.recipe import SourceSpec


class TokenSource:
    """A folder of shards, with the face of `Source`.

    dev: a folder of shards, or one that holds such folders, whose names are those of domains.
    """

    def __init__(self, spec: SourceSpec, learner: type[Learner]) -> None:
        self.spec = spec
        self.name = spec.name
        self.learner = learner
        self.left_out = 0
        self.of_tests: int | None = None
        self.labels: tuple[str, ...] = ()
        self.candidates: dict[str, Item] = {}
        self._shards = TokenShards(spec.file)
        self._dev = self._opened_dev()
        self.sha256 = self._shards.sha256
        if not len(self):
            raise InputError(f"source {self.name}: {spec.file} holds no block")

    def __len__(self) -> int:
        return len(self._shards)

    def batch(self, rows: Sequence[int], *, seed: int, draw: tuple[int, ...]) -> Batch:
        """Return blocks by their numbers. draw: decides what is hidden, seed all else."""
        return _batch(self._shards, rows, seed, draw)

    def dev(self, count: int) -> dict[str, Batch]:
        """Return held-out blocks of each domain, at most so many, drawn by hash of their place."""
        return {
            name: _batch(shards, sample(range(len(shards)), count, "dev"), 0, ())
            for name, shards in self._dev.items()
            if len(shards)
        }

    def check_files(self) -> None:
        """Read all shards once, those of dev too, and refuse any that changed since it was written."""
        for shards in (self._shards, *self._dev.values()):
            shards.check()

    def refuse_overlaps(self) -> None:
        """Refuse blocks that were made without a look at the tests: which papers they hold is forgotten."""
        about = self.spec.file.parent / MIXTURE
        if not (about.is_file() and json.loads(about.read_text("utf-8"))["settings"]["split_table"]):
            raise InputError(
                f"source {self.name}: {self.spec.file} may hold papers of tests; make it anew with "
                "`sciprism prepare text --data`, or pass --allow-overlap and report no such test"
            )
        self.of_tests = 0

    def check(self, encoder: Encoder) -> None:
        """Refuse a model of another vocabulary, or with fewer positions than a block has tokens."""
        if tokenizer_key(encoder.tokenizer) != self._shards.tokenizer:
            raise InputError(
                f"source {self.name}: its tokens are of another vocabulary than the model's; run "
                "`sciprism prepare text` with the model's tokenizer"
            )
        longest = encoder.model.config.max_length
        if self._shards.length > longest:
            raise InputError(
                f"source {self.name}: blocks of {self._shards.length} tokens, positions for {longest}"
            )

    def _opened_dev(self) -> dict[str, TokenShards]:
        path = self.spec.dev
        if path is None:
            return {}
        if not path.is_dir():
            raise InputError(f"source {self.name}: the dev folder {path} does not exist")
        inner = sorted(each for each in path.iterdir() if each.is_dir())
        folders = {self.name: path} if not inner else {f"{self.name}/{each.name}": each for each in inner}
        return {name: TokenShards(folder) for name, folder in folders.items()}


def _batch(shards: TokenShards, rows: Sequence[int], seed: int, draw: tuple[int, ...]) -> Batch:
    blocks = [shards[row].astype(np.int64) for row in rows]
    return Batch(blocks=blocks, draws=[mixed(*draw, row) for row in rows], seed=seed)
