"""Vectors of papers and labels in one space, cached: the same command encodes nothing twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciprism.arrays import Floats
from sciprism.encoders.cached_encoder import CachedEncoder, TextProgress
from sciprism.errors import InputError
from sciprism.files import cache_folder
from sciprism.formats import Format
from sciprism.papers.records import Label, Paper
from sciprism.store import StoredCollection
from sciprism.store.live_papers import iterate_papers, iterate_vectors

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

PAPER_BLOCK = 4096
"""Papers that are in memory together, where they are only tagged."""
FORMATS: tuple[Format, ...] = ("proximity", "search", "classification")
"""Formats in whose space papers and labels may both be, the better one first."""


class TagVectors:
    """An encoder in the format in which papers and labels compare. cache: the folder of vectors."""

    def __init__(self, encoder: Encoder, cache: Path | None = None) -> None:
        self.encoder = encoder
        self._cached = CachedEncoder(encoder, cache or cache_folder() / "vectors")
        shared = [each for each in FORMATS if each in encoder.formats and _is_shared(encoder, each)]
        if not shared:
            raise InputError(f"{encoder.name} has no format in which papers and labels compare; use another model")
        self.format = shared[0]

    @property
    def facts(self) -> dict[str, Any]:
        """Return what vectors must agree in: name, fingerprint, format and space."""
        space = self.encoder.space(self.format, "paper")
        return {
            "name": self.encoder.name,
            "fingerprint": self.encoder.fingerprint,
            "format": self.format,
            "space": space,
            "options": dict(self.encoder.options),
        }

    def encode_labels(self, labels: Sequence[Label], progress: TextProgress | None = None) -> Floats:
        """Return the vectors of labels' names and definitions, (labels, e)."""
        self._cached.watch(progress)
        return self._cached.encode(list(labels), format=self.format, role="label")

    def encode_papers(self, papers: Sequence[Paper], progress: TextProgress | None = None) -> Floats:
        """Return the vectors of papers, (n, e)."""
        self._cached.watch(progress)
        return self._cached.encode(list(papers), format=self.format, role="paper")

    def iterate_collection(self, stored: StoredCollection) -> Iterator[tuple[list[Paper], Floats]]:
        """Yield the papers of a collection and their stored vectors in blocks; InputError as `read_collection`."""
        stored.check_encoder(self.encoder)
        space = self.encoder.space(self.format, "paper")
        for start in range(0, len(stored.live), PAPER_BLOCK):
            rows = stored.live[start : start + PAPER_BLOCK]
            yield stored.papers(rows), stored.read_rows(space, rows).block(0, len(rows))

    def read_collection(self, stored: StoredCollection) -> tuple[list[Paper], Floats]:
        """Return the papers of a collection and their stored vectors; InputError where another model made them."""
        stored.check_encoder(self.encoder)
        space = self.encoder.space(self.format, "paper")
        papers = [paper for part in iterate_papers(stored) for paper in part]
        stored.vectors(space)  # says which spaces there are
        empty = np.empty((0, self.encoder.dim), np.float32)
        return papers, np.concatenate([empty, *iterate_vectors(stored, space)])


def check_same_vectors(facts: dict[str, Any], vectors: TagVectors) -> None:
    """Raise InputError where a tagger was trained on vectors of another encoder or space."""
    own = vectors.facts
    if any(facts.get(name) != own[name] for name in ("fingerprint", "space")):
        raise InputError(
            f"the tagger was trained on vectors of {facts.get('name')}, which differ from those of {own['name']}; "
            "name the folder of its model with --model"
        )


def _is_shared(encoder: Encoder, format: Format) -> bool:
    return encoder.space(format, "paper") == encoder.space(format, "label")
