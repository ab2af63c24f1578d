"""An encoder that computes each text once: across calls, runs and tasks its vectors are kept on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from sciprism.encoders.face import Encodes
from sciprism.encoders.inference import Vectors
from sciprism.encoders.methods import Format, Role
from sciprism.encoders.vector_cache import VectorCache
from sciprism.text.template import FIELDS, Item


class CachedEncoder:
    """The vectors of an encoder, in a folder for each fingerprint, precision and path."""

    def __init__(self, encoder: Encodes, home: Path) -> None:
        self.encoder = encoder
        self._home = home
        self._caches: dict[str, VectorCache] = {}

    @cached_property
    def fingerprint(self) -> str:
        """Return the encoder's fingerprint with the precision it computes in."""
        precision = str(getattr(self.encoder, "precision", "float32"))
        return self.encoder.fingerprint + ("" if precision == "float32" else f"-{precision}")

    def encode(
        self, items: Sequence[Item], *, format: Format, role: Role, fields: Sequence[str] = FIELDS
    ) -> Vectors:
        """Return one row per item; texts seen before come from the cache."""

        def encode(places: list[int]) -> Vectors:
            chosen = [items[place] for place in places]
            return self.encoder.encode(chosen, format=format, role=role, fields=fields)

        cache = self._cache(self.encoder.path(format, role))
        return cache.take(cache.rows(self.encoder.texts(items, role, fields), encode))

    def _cache(self, path: str) -> VectorCache:
        if path not in self._caches:
            name = hashlib.sha256(path.encode()).hexdigest()[:8]
            self._caches[path] = VectorCache(self._home / self.fingerprint / name, self.encoder.dim)
        return self._caches[path]
