"""Token blocks as a source: memory-mapped shards that `sciprism prepare text` wrote."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.seeding import derive_seed, sample
from sciprism.text.token_shards import MIXTURE, TokenShards
from sciprism.text.tokenizer_fingerprint import fingerprint_tokenizer
from sciprism.training.batch import Batch
from sciprism.training.learners.learner import Learner
from sciprism.training.source_spec import SourceSpec
from sciprism.training.sources import OverlapCheck, StageSource


class TokenSource(StageSource):
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
            domains = {f"{self.name}/{each.name}": each for each in sorted(spec.dev.iterdir()) if each.is_dir()}
            self._dev = {name: TokenShards(each) for name, each in (domains or {self.name: spec.dev}).items()}

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

    def refuse_overlaps(self, overlaps: OverlapCheck, dev_count: int) -> None:  # noqa: ARG002
        """Refuse blocks that were prepared without a check against tests: nobody can check them later."""
        about = self.spec.file.parent / MIXTURE
        if not (about.is_file() and json.loads(about.read_text("utf-8"))["settings"]["split_table"]):
            raise InputError(
                f"source {self.name}: {self.spec.file} may hold papers of tests; prepare it again with "
                "`sciprism prepare text --data`, or pass --allow-overlap and report no such test"
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


def _batch(shards: TokenShards, rows: Sequence[int], seed: int, sample_key: tuple[int, ...]) -> Batch:
    return Batch(
        blocks=[shards[row].astype(np.int64) for row in rows],
        block_seeds=[derive_seed(*sample_key, row) for row in rows],
        seed=seed,
    )
