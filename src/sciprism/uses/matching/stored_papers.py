"""Papers and vectors of collections that `sciprism embed` made: they are not encoded again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.store.live_papers import iterate_papers, iterate_vectors
from sciprism.store.manifest import is_collection
from sciprism.uses.collection import load_encoder
from sciprism.uses.similar import choose_paper_space

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder


def read_collection(path: Path) -> list[Paper]:
    """Return all papers of a collection."""
    return [paper for part in iterate_papers(StoredCollection.open(path)) for paper in part]


@dataclass(frozen=True, slots=True, eq=False)
class StoredVectors:
    """The vectors of some collections of one encoder, by the paper's text. first: one of the collections."""

    first: StoredCollection
    rows: dict[tuple[str, str], int]
    vectors: Floats

    def load_encoder(self, model: str = "") -> Encoder:
        """Load the encoder that made the vectors, from `model` if it was moved; InputError for another one."""
        return load_encoder(self.first, model)

    def find(self, papers: Sequence[Paper]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the row of each paper's vector, -1 for a text that is not there."""
        return np.array([self.rows.get((paper.title, paper.abstract), -1) for paper in papers], np.int64)


def open_vectors(paths: Iterable[Path]) -> StoredVectors | None:
    """Return the vectors of those paths that are collections, None of none.

    Raises InputError where two collections were made by different encoders: their vectors do not compare.
    """
    opened = [StoredCollection.open(path) for path in paths if is_collection(path)]
    if not opened:
        return None
    first = opened[0]
    for other in opened[1:]:
        if other.manifest.encoder.fingerprint != first.manifest.encoder.fingerprint:
            raise InputError(
                f"{first.folder} was made by {first.manifest.encoder.name}, {other.folder} by "
                f"{other.manifest.encoder.name}: their vectors do not compare; embed one of them again"
            )
    rows: dict[tuple[str, str], int] = {}
    parts: list[Floats] = []
    for collection in opened:
        start = sum(map(len, parts))
        papers = [paper for part in iterate_papers(collection) for paper in part]
        for row, paper in enumerate(papers, start):
            rows.setdefault((paper.title, paper.abstract), row)
        parts += iterate_vectors(collection, choose_paper_space(collection))
    return StoredVectors(first, rows, np.concatenate(parts))
