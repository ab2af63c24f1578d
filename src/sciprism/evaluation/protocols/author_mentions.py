"""All that is known of the mentions of a data set: features with the papers' vectors, persons, blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import View
from sciprism.papers.signatures import Signatures
from sciprism.uses.disambiguation.features import PairFeatures, columns_of, similarity_column
from sciprism.uses.disambiguation.models import Pairs
from sciprism.uses.disambiguation.pairs import rows_by_block, sample_pairs

Blocks = Mapping[str, Rows]


@dataclass(frozen=True, slots=True)
class Parts:
    """The blocks of train, dev and test, each block with the rows of its mentions."""

    train: Blocks
    dev: Blocks
    test: Blocks


class Bench:
    """The mentions of a data set with one system's vectors of their papers.

    Papers that are only cited are not encoded. A paper without text has no similarity to others.
    """

    def __init__(self, data: Signatures, system: System, view: View) -> None:
        self.data = data
        self.parts = Parts(
            *(rows_by_block(data.signatures, part) for part in (data.train, data.dev, data.test))
        )
        for name, blocks in (("train", self.parts.train), ("dev", self.parts.dev), ("test", self.parts.test)):
            if not blocks:
                raise InputError(f"no mention lies in a {name} block; see the blocks' division")
        self.persons = np.unique([s.author for s in data.signatures], return_inverse=True)[1].astype(np.int64)
        used, self._papers = np.unique([s.paper for s in data.signatures], return_inverse=True)
        self.papers = len(used)
        self.tally = DropReport()
        worded = [bool(data.papers[row].title.strip() or data.papers[row].abstract.strip()) for row in used]
        for row in used[~np.array(worded)]:
            self.tally.add("paper without text, no vector", data.papers[row].id)
        self._vectors: Floats = np.asarray(system.vectors(view.papers(data.papers).take(used)), np.float32)
        self._features = PairFeatures(data)
        self._usable = self._features.english[used] & np.array(worded)

    def table(self, left: Rows, right: Rows) -> NDArray[np.float32]:
        """Return all features of pairs of mentions, (n,) and (n,) -> (n, 39)."""
        table = self._features.table(left, right)
        table[:, columns_of(["embedding"])[0]] = similarity_column(
            self._vectors, self._usable, self._papers[left], self._papers[right]
        )
        return table

    def sample(self, blocks: Blocks, most: int, seed: int) -> Pairs:
        """Draw at most `most` pairs within blocks, with features and whether they are one person."""
        left, right = sample_pairs(blocks, most, np.random.default_rng(seed))
        return Pairs(self.table(left, right), self.persons[left] == self.persons[right])

    def of_source(self, source: str) -> Parts:
        """Return the parts with the blocks of one source only."""
        named = self.data.source or ()

        def own(blocks: Blocks) -> Blocks:
            return {name: rows for name, rows in blocks.items() if named[rows[0]] == source}

        return Parts(own(self.parts.train), own(self.parts.dev), own(self.parts.test))
