"""An encoder whose vectors are cached on disk across calls, runs and tasks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from time import perf_counter

from sciprism.arrays import Floats
from sciprism.encoders.ensemble import Ensemble
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.encoders.vector_cache import VectorCache
from sciprism.formats import Format, Role
from sciprism.text.template import FIELDS, Item

TextProgress = Callable[[int, int], None]
"""Is told the texts that are encoded so far, and all that there are to encode."""


class _Count:
    """The texts of one call that are encoded: after each batch, or block of an encoder that tells of no batches."""

    def __init__(self, progress: TextProgress | None, encoder: EncoderProtocol) -> None:
        self._progress, self._encoder = progress, encoder
        self._done = self._total = 0
        self._lock = Lock()

    def __enter__(self) -> _Count:
        self._listen(self.add if self._progress is not None else None)
        return self

    def __exit__(self, *_: object) -> None:
        self._listen(None)

    def _listen(self, on_batch: Callable[[int], None] | None) -> None:
        if hasattr(self._encoder, "on_batch"):
            self._encoder.on_batch = on_batch

    def begin(self, total: int) -> None:
        self._total = total
        self.reach(0)

    def add(self, texts: int) -> None:
        with self._lock:
            self.reach(self._done + texts)

    def reach(self, done: int) -> None:
        if self._progress is not None:
            self._done = min(done, self._total)
            self._progress(self._done, self._total)


class CachedEncoder:
    """An encoder with its vectors in one folder per fingerprint, precision and encoding path.

    Of an ensemble, the vectors of its members are cached, which the members alone use too.
    """

    def __init__(self, encoder: EncoderProtocol, folder: Path) -> None:
        self.encoder = encoder
        members = encoder.members if isinstance(encoder, Ensemble) else ()
        self._members = [CachedEncoder(member, folder) for member in members]
        self._folder = folder
        self._caches: dict[str, VectorCache] = {}
        self._progress: TextProgress | None = None

    def watch(self, progress: TextProgress | None) -> None:
        """Tell `progress` from now on, while texts are encoded, how many are done and how many there are."""
        self._progress = progress
        for member in self._members:
            member.watch(progress)

    @property
    def damaged(self) -> int:
        """Return how many cached vectors were found damaged so far, and computed again."""
        caches = sum(cache.damaged for cache in self._caches.values())
        return caches + sum(member.damaged for member in self._members)

    @cached_property
    def fingerprint(self) -> str:
        """Return the encoder's fingerprint with the precision it computes in."""
        precision = str(getattr(self.encoder, "precision", "float32"))
        return self.encoder.fingerprint + ("" if precision == "float32" else f"-{precision}")

    def encode(self, items: Sequence[Item], *, format: Format, role: Role, fields: Sequence[str] = FIELDS) -> Floats:
        """Return one row per item; known texts come from the cache."""
        return self.encode_timed(items, format=format, role=role, fields=fields)[0]

    def encode_timed(
        self, items: Sequence[Item], *, format: Format, role: Role, fields: Sequence[str] = FIELDS
    ) -> tuple[Floats, float | None]:
        """Return the rows and the seconds that encoding took; None where some came from the cache."""
        if isinstance(self.encoder, Ensemble):
            timed = [member.encode_timed(items, format=format, role=role, fields=fields) for member in self._members]
            vectors = self.encoder.join_vectors([rows for rows, _ in timed])
            known = [each for _, each in timed if each is not None]
            return vectors, sum(known) if len(known) == len(timed) else None
        texts = self.encoder.texts(items, role, fields)
        seconds, encoded = 0.0, 0

        def encode(indices: list[int]) -> Floats:
            nonlocal seconds, encoded
            start = perf_counter()
            chosen = [items[index] for index in indices]
            vectors = self.encoder.encode(chosen, format=format, role=role, fields=fields)
            count.reach(encoded + len(indices))
            seconds, encoded = seconds + perf_counter() - start, encoded + len(indices)
            return vectors

        cache = self._cache(self.encoder.path(format, role))
        with _Count(self._progress, self.encoder) as count:
            vectors = cache.read(cache.find_or_encode(texts, encode, count.begin))
        return vectors, seconds if encoded == len(set(texts)) else None

    def _cache(self, path: str) -> VectorCache:
        if path not in self._caches:
            name = hashlib.sha256(path.encode()).hexdigest()[:8]
            self._caches[path] = VectorCache(self._folder / self.fingerprint / name, self.encoder.dim)
        return self._caches[path]
