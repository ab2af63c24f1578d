"""An encoder that computes each text once: across calls, runs and tasks its vectors are kept on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from time import perf_counter

from sciprism.arrays import Floats
from sciprism.encoders.ensemble import Ensemble
from sciprism.encoders.face import Encodes
from sciprism.encoders.vector_cache import VectorCache
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS, Item


class CachedEncoder:
    """The vectors of an encoder, in a folder for each fingerprint, precision and path.

    Of an ensemble those of its members are kept, which serve the members alone too.
    """

    def __init__(self, encoder: Encodes, home: Path) -> None:
        self.encoder = encoder
        members = encoder.members if isinstance(encoder, Ensemble) else ()
        self._members = [CachedEncoder(member, home) for member in members]
        self._home = home
        self._caches: dict[str, VectorCache] = {}

    @cached_property
    def fingerprint(self) -> str:
        """Return the encoder's fingerprint with the precision it computes in."""
        precision = str(getattr(self.encoder, "precision", "float32"))
        return self.encoder.fingerprint + ("" if precision == "float32" else f"-{precision}")

    def encode(
        self, items: Sequence[Item], *, format: Format, role: Role, fields: Sequence[str] = FIELDS
    ) -> Floats:
        """Return one row per item; texts seen before come from the cache."""
        return self.timed(items, format=format, role=role, fields=fields)[0]

    def timed(
        self, items: Sequence[Item], *, format: Format, role: Role, fields: Sequence[str] = FIELDS
    ) -> tuple[Floats, float | None]:
        """Return also the seconds that encoding took; None where some texts came from the cache."""
        if isinstance(self.encoder, Ensemble):
            parts = [each.timed(items, format=format, role=role, fields=fields) for each in self._members]
            took = [seconds for _, seconds in parts]
            return self.encoder.joined([vectors for vectors, _ in parts]), _sum(took)
        written = self.encoder.texts(items, role, fields)
        seconds, encoded = 0.0, 0

        def encode(places: list[int]) -> Floats:
            nonlocal seconds, encoded
            began = perf_counter()
            chosen = [items[place] for place in places]
            found = self.encoder.encode(chosen, format=format, role=role, fields=fields)
            seconds, encoded = seconds + perf_counter() - began, encoded + len(places)
            return found

        cache = self._cache(self.encoder.path(format, role))
        vectors = cache.take(cache.rows(written, encode))
        return vectors, seconds if encoded == len(set(written)) else None

    def _cache(self, path: str) -> VectorCache:
        if path not in self._caches:
            name = hashlib.sha256(path.encode()).hexdigest()[:8]
            self._caches[path] = VectorCache(self._home / self.fingerprint / name, self.encoder.dim)
        return self._caches[path]


def _sum(seconds: Sequence[float | None]) -> float | None:
    """Return the sum, None where one is missing."""
    known = [each for each in seconds if each is not None]
    return sum(known) if len(known) == len(seconds) else None
