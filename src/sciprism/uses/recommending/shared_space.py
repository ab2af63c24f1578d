"""One space for all inputs: that of the collections among them, or of a model that encodes papers of files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.files import cache_folder
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.uses.collection import load_encoder
from sciprism.uses.similar import choose_paper_space

if TYPE_CHECKING:
    from sciprism.encoders.cached_encoder import CachedEncoder
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format


class SharedSpace:
    """Encodes papers so that their vectors compare with those of some collections.

    collections: their vectors must be of one encoder and one space; else InputError names two that differ. model: a
    name, a folder or an encoder; by default that of the collections, or without any the model that ships. It is
    loaded by the first paper that has no vector; `model` is its name. Vectors are cached: the next day encodes new
    papers alone.
    """

    def __init__(self, collections: Sequence[StoredCollection], model: str | Encoder = "") -> None:
        self._collections, self._model = collections, model
        self._encoder: Encoder | CachedEncoder | None = None
        self.model = collections[0].manifest.encoder.name if collections else ""
        self.encoded = 0
        for other in collections[1:]:
            _check_same_space(collections[0], other)
        if collections and not isinstance(model, str):
            collections[0].check_encoder(model)

    def encode(self, papers: Sequence[Paper]) -> Floats:
        """Return the vectors of papers, (n, d)."""
        if self._encoder is None:
            self._encoder = self._open_encoder()
        self.encoded += len(papers)
        return self._encoder.encode(papers, format=self._format, role="paper")

    @property
    def _format(self) -> Format:
        if not self._collections:
            return "proximity"
        stored = self._collections[0]
        return cast("Format", stored.manifest.spaces[choose_paper_space(stored)].formats[0])

    def _open_encoder(self) -> Encoder | CachedEncoder:
        from sciprism.encoders.cached_encoder import CachedEncoder
        from sciprism.encoders.encoder import Encoder

        if not isinstance(self._model, str):
            self.model = self._model.name
            return self._model
        if self._collections:
            stored = self._collections[0]
            precision = str(stored.manifest.encoder.options.get("precision", "float32"))
            encoder = load_encoder(stored, self._model, precision=precision)
        else:
            encoder = Encoder.load(self._model or None)
        if self._format not in encoder.formats:
            raise InputError(f"{encoder.name} has no format {self._format!r}; it has {', '.join(encoder.formats)}")
        self.model = encoder.name
        return CachedEncoder(encoder, cache_folder() / "vectors") if isinstance(encoder, Encoder) else encoder


def normalize(vectors: Floats) -> Floats:
    """Scale vectors (n, d) to length 1, in a copy; a vector of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = (vectors / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)
    return unit


def _check_same_space(one: StoredCollection, other: StoredCollection) -> None:
    first, second = one.manifest.encoder, other.manifest.encoder
    spaces = choose_paper_space(one), choose_paper_space(other)
    if (first.fingerprint, spaces[0]) != (second.fingerprint, spaces[1]):
        raise InputError(
            f"{one.folder} has vectors of {first.name} (fingerprint {first.fingerprint}, space {spaces[0]}), "
            f"{other.folder} of {second.name} (fingerprint {second.fingerprint}, space {spaces[1]}); they do not "
            "compare: embed one of them again with the other's model, or name its file of papers"
        )
