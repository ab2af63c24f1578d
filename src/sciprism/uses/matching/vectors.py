"""Vectors of papers for matching and screening: those of collections, and of the encoder for all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.store.manifest import is_collection
from sciprism.store.paper_lookup import iterate_papers, iterate_vectors
from sciprism.uses.collection import load_encoder
from sciprism.uses.matching.settings import MatchProgress
from sciprism.uses.search import choose_paper_space

if TYPE_CHECKING:
    from sciprism.encoders.protocols import EncoderProtocol


@dataclass(frozen=True, slots=True, eq=False)
class StoredVectors:
    """Vectors of collections of one encoder. first: shows which; rows: (title, abstract) -> row of vectors."""

    first: StoredCollection
    rows: dict[tuple[str, str], int]
    vectors: Floats


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


def load_match_encoder(encoder: EncoderProtocol | str | None, stored: StoredVectors | None) -> EncoderProtocol:
    """Return the given or named encoder, else that of the collections, else the default.

    Raises InputError where it is not the one that made the vectors of the collections.
    """
    from sciprism.encoders.encoder import Encoder

    if encoder is None or isinstance(encoder, str):
        return load_encoder(stored.first, encoder or "") if stored is not None else Encoder.load(encoder or None)
    if stored is not None and encoder.fingerprint != stored.first.manifest.encoder.fingerprint:
        raise InputError(f"{stored.first.folder} holds vectors of another encoder")
    return encoder


def encode_papers(
    encoder: EncoderProtocol,
    parts: Mapping[str, Sequence[Paper]],
    progress: MatchProgress,
    stored: StoredVectors | None = None,
) -> dict[str, Floats]:
    """Return the vectors of several lists of papers, for proximity.

    Those of collections are read, known texts come from the cache on disk, others are encoded.
    """
    from sciprism.encoders.cached_encoder import CachedEncoder

    cached = CachedEncoder(encoder)
    vectors_by_part = {}
    for name, papers in parts.items():
        progress.begin(f"encoding {name}", "papers", len(papers))
        cached.watch(lambda done, _: progress.update(done))
        known = {} if stored is None else stored.rows
        rows: Rows = np.array([known.get((paper.title, paper.abstract), -1) for paper in papers], np.int64)
        vectors = np.empty((len(papers), encoder.dim), np.float32)
        if stored is not None:
            vectors[rows >= 0] = stored.vectors[rows[rows >= 0]]
        if new := np.flatnonzero(rows < 0).tolist():
            vectors[new] = cached.encode([papers[row] for row in new], format="proximity", role="paper")
        vectors_by_part[name] = vectors
    return vectors_by_part
