"""The author mentions of a data set with a system's vectors: features of pairs, persons, blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.datasets.inputs import Signatures
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.context import EvaluationContext
from sciprism.evaluation.disambiguation.features import PairFeatures, embedding_similarity, find_columns
from sciprism.evaluation.disambiguation.models import MentionPairs, group_by_block, sample_pairs
from sciprism.evaluation.systems import System

Blocks = Mapping[str, Rows]


@dataclass(frozen=True, slots=True)
class BlockSplits:
    """The train, dev and test blocks: name -> the rows of its mentions."""

    train: Blocks
    dev: Blocks
    test: Blocks


class EncodedMentions:
    """The mentions of a data set with one system's vectors of their papers.

    Papers that are only cited are not encoded. A paper without text has no similarity to others.
    persons: the number of each mention's author. papers: the number of encoded papers.
    """

    def __init__(self, data: Signatures, system: System, context: EvaluationContext) -> None:
        self.data = data
        splits = {"train": data.train, "dev": data.dev, "test": data.test}
        blocks = {name: group_by_block(data.signatures, split) for name, split in splits.items()}
        for name, found in blocks.items():
            if not found:
                raise InputError(f"no mention is in a {name} block; see the division of the blocks")
        self.splits = BlockSplits(**blocks)
        self.persons = np.unique([s.author for s in data.signatures], return_inverse=True)[1].astype(np.int64)
        used, self._papers = np.unique([s.paper for s in data.signatures], return_inverse=True)
        self.papers = len(used)
        self.dropped = DropReport()
        has_text = [bool(data.papers[row].title.strip() or data.papers[row].abstract.strip()) for row in used]
        for row in used[~np.array(has_text)]:
            self.dropped.add("paper without text, no vector", data.papers[row].id)
        self._vectors: Floats = np.asarray(system.encode(context.papers(data.papers).take(used)), np.float32)
        self._features = PairFeatures(data)
        self._usable = self._features.english[used] & np.array(has_text)

    def pair_features(self, left: Rows, right: Rows) -> NDArray[np.float32]:
        """Return all features of pairs of mentions, (n,) and (n,) -> (n, 39)."""
        table = self._features.table(left, right)
        table[:, find_columns(["embedding"])[0]] = embedding_similarity(
            self._vectors, self._usable, self._papers[left], self._papers[right]
        )
        return table

    def sample_pairs(self, blocks: Blocks, max_pairs: int, seed: int) -> MentionPairs:
        """Sample at most `max_pairs` pairs within blocks, with features and whether they are one person."""
        left, right = sample_pairs(blocks, max_pairs, np.random.default_rng(seed))
        return MentionPairs(self.pair_features(left, right), self.persons[left] == self.persons[right])

    def of_source(self, source: str) -> BlockSplits:
        """Return the blocks of one source."""
        sources = self.data.source or ()
        parts = (self.splits.train, self.splits.dev, self.splits.test)
        return BlockSplits(
            *({name: rows for name, rows in part.items() if sources[rows[0]] == source} for part in parts)
        )
