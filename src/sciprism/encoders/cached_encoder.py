"""An encoder whose vectors are stored on disk, so that each text is encoded once per encoding path.

One folder per encoder, path and precision holds `keys` (16 bytes of each text's hash), `vectors` (rows of
float32 or float16) and `checks` (a checksum of each row and its key, 8 bytes). All only grow; an interrupted run
leaves at most an unfinished tail, which is truncated. A damaged vector is computed again.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from filelock import FileLock
from numpy.typing import DTypeLike

from sciprism.arrays import Floats, Rows
from sciprism.encoders.ensemble import Ensemble
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.errors import InputError, ShownWarning
from sciprism.files import cache_folder, hash_number
from sciprism.formats import Format, Role
from sciprism.parallel import Progress, show_nothing
from sciprism.text.template import FIELDS, Item

KEY_BYTES = 16  # bytes of a text's hash: a billion texts collide with probability below 10^-20
CHECK_BYTES = 8
TEXTS_PER_WRITE = 4096  # texts encoded between two writes, the most that an interrupted run loses
MAX_BYTES_IN_MEMORY = 1 << 29  # bytes of vectors gathered in memory; more go through a temporary file


class CachedEncoder:
    """An encoder with its vectors in one folder per fingerprint, precision and encoding path.

    Of an ensemble, the vectors of its members are cached, which the members alone use too. folder: by default the one
    that all commands share. precision: of the vectors on disk, float32 or float16; those of the latter are separate.
    """

    def __init__(self, encoder: EncoderProtocol, folder: Path | None = None, *, precision: str = "float32") -> None:
        self.encoder, folder = encoder, folder or cache_folder() / "vectors"
        members = encoder.members if isinstance(encoder, Ensemble) else ()
        self._members = [CachedEncoder(member, folder, precision=precision) for member in members]
        self._stored, self._folder = np.dtype(precision), folder
        self._caches: dict[str, VectorCache] = {}
        self.watch(show_nothing)
        self._lock = Lock()

    def watch(self, progress: Progress, work: str = "encoding", unit: str = "texts") -> None:
        """Show from now on how many texts are encoded, of those that are not in the cache."""
        self._show = partial(progress, work, unit)
        for member in self._members:
            member.watch(progress, work, unit)

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
        """Return one row per item; texts that were encoded before come from the cache."""
        if isinstance(self.encoder, Ensemble):
            parts = [member.encode(items, format=format, role=role, fields=fields) for member in self._members]
            return self.encoder.join_vectors(parts)
        texts = self.encoder.texts(items, role, fields)
        by_batch = hasattr(self.encoder, "on_batch")  # else progress is counted after each block
        done = total = 0

        def count(texts: int) -> None:
            nonlocal done
            with self._lock:
                done = min(done + texts, total)
                self._show(done, total)

        def begin(number: int) -> None:
            nonlocal total
            total = number
            count(0)

        def encode(indices: list[int]) -> Floats:
            chosen = [items[index] for index in indices]
            vectors = self.encoder.encode(chosen, format=format, role=role, fields=fields)
            count(0 if by_batch else len(indices))
            return vectors

        name = hashlib.sha256(self.encoder.path(format, role).encode()).hexdigest()[:8]
        if (cache := self._caches.get(name)) is None:
            half = "-float16" if self._stored == np.float16 else ""
            where = self._folder / self.fingerprint / f"{name}{half}"
            cache = self._caches[name] = VectorCache(where, self.encoder.dim, self._stored)
        watched: Any = self.encoder
        try:
            if by_batch:
                watched.on_batch = count
            return cache.read(cache.find_or_encode(texts, encode, begin))
        finally:
            if by_batch:
                watched.on_batch = None


class VectorCache:
    """The vectors of one encoder on one path; damaged: how many were found damaged so far.

    stored: the type of numbers on disk; vectors are read as float32.
    """

    def __init__(self, folder: Path, dim: int, stored: DTypeLike = np.float32) -> None:
        self.folder = folder
        self.dim, self.stored = dim, np.dtype(stored)
        self.damaged = 0
        folder.mkdir(parents=True, exist_ok=True)
        self._row_of: dict[bytes, int] = {}
        self._rows = 0
        self._checked = np.zeros(0, bool)
        with self._locked():
            self._refresh()

    def find_or_encode(
        self, texts: Sequence[str], encode: Callable[[list[int]], Floats], begin: Callable[[int], None] | None = None
    ) -> Rows:
        """Return the row of each text's vector; `encode` gets the indices of texts that are not stored.

        begin: called with their number before the first is encoded. Two processes may encode one text at the same
        time; the vector written first is stored. A damaged vector is encoded and stored again, with a warning.
        """
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES] for text in texts]
        index = {key: i for i, key in reversed(list(enumerate(keys)))}
        if not self._row_of.keys() >= index.keys():
            with self._locked():
                self._refresh()  # rows that other processes have written
        damaged = self._find_damaged(dict.fromkeys(keys))
        new = [key for key in dict.fromkeys(keys) if key not in self._row_of]
        if (damaged or new) and begin is not None:
            begin(len(damaged) + len(new))
        for missing, write in ((damaged, self._replace), (new, self._append)):
            for start in range(0, len(missing), TEXTS_PER_WRITE):
                part = missing[start : start + TEXTS_PER_WRITE]
                write(part, self._check_vectors(encode([index[key] for key in part]), len(part)))
        return np.array([self._row_of[key] for key in keys], np.int64)

    def read(self, rows: Rows) -> Floats:
        """Return the vectors of rows: a view of the file for consecutive rows, else a copy."""
        if not len(rows):
            return np.empty((0, self.dim), np.float32)
        stored = self._map(self._rows)
        if (np.diff(rows) == 1).all():
            return np.asarray(stored[rows[0] : rows[-1] + 1], np.float32)
        if rows.size * self.dim * 4 <= MAX_BYTES_IN_MEMORY:
            return np.asarray(stored[rows], np.float32)
        with tempfile.NamedTemporaryFile(dir=self.folder) as file:
            gathered: Floats = np.memmap(file, np.float32, "w+", shape=(len(rows), self.dim))
            for start in range(0, len(rows), TEXTS_PER_WRITE):
                gathered[start : start + TEXTS_PER_WRITE] = stored[rows[start : start + TEXTS_PER_WRITE]]
            return gathered

    def _find_damaged(self, keys: Iterable[bytes]) -> list[bytes]:
        """Return those of the stored keys whose vectors differ from their checksums; each is compared once."""
        unchecked = [key for key in keys if key in self._row_of and not self._checked[self._row_of[key]]]
        if not unchecked:
            return []
        rows = np.array([self._row_of[key] for key in unchecked])
        stored = np.memmap(self.folder / "checks", np.uint64, "r", shape=self._rows)[rows]
        same = np.frombuffer(_hash_rows(unchecked, self._map(self._rows)[rows]), np.uint64) == stored
        self._checked[rows[same]] = True
        damaged = [unchecked[i] for i in np.flatnonzero(~same)]
        if damaged:
            self.damaged += len(damaged)
            message = f"{len(damaged):,} vectors in {self.folder} are damaged; they are computed again"
            warnings.warn(ShownWarning(message), stacklevel=4)
        return damaged

    def _check_vectors(self, vectors: Floats, count: int) -> Floats:
        if vectors.shape != (count, self.dim) or not np.isfinite(vectors).all():
            bad = np.size(vectors) - np.isfinite(vectors).sum()
            raise InputError(
                f"the encoder gave {bad} values that are not finite in {vectors.shape} vectors for "
                f"{count} texts of {self.dim} values; try float32"
            )
        with np.errstate(over="ignore"):
            rows: Floats = vectors.astype(self.stored)
        if not np.isfinite(rows).all():
            raise InputError(f"the encoder gave values beyond the range of {self.stored}; cache them as float32")
        return rows

    def _append(self, keys: Sequence[bytes], vectors: Floats) -> None:
        with self._locked():
            self._refresh()
            new = [i for i, key in enumerate(keys) if key not in self._row_of]
            added = [keys[i] for i in new]
            # Keys are written last: a key promises that its vector is stored.
            contents = vectors[new].tobytes(), _hash_rows(added, vectors[new]), b"".join(added)
            for name, content in zip(("vectors", "checks", "keys"), contents, strict=True):
                with (self.folder / name).open("ab") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            first = self._rows
            self._row_of.update({key: first + row for row, key in enumerate(added)})
            self._rows += len(added)
            self._checked = np.append(self._checked, np.ones(len(added), bool))

    def _replace(self, keys: Sequence[bytes], vectors: Floats) -> None:
        """Write vectors over damaged ones."""
        with self._locked():
            for key, vector in zip(keys, vectors, strict=True):
                row = self._row_of[key]
                for name, content in (("vectors", vector.tobytes()), ("checks", _hash_rows([key], vector[None]))):
                    with (self.folder / name).open("r+b") as file:
                        file.seek(row * len(content))
                        file.write(content)
                self._checked[row] = True

    def _map(self, rows: int) -> Floats:
        if not rows:
            return np.empty((0, self.dim), np.float32)
        return np.memmap(self.folder / "vectors", self.stored, "c", shape=(rows, self.dim))

    def _locked(self) -> FileLock:
        return FileLock(self.folder / "lock")

    def _refresh(self) -> None:
        """Read the stored keys, and truncate what an interrupted run left unfinished."""
        row_sizes = {"keys": KEY_BYTES, "vectors": self.stored.itemsize * self.dim, "checks": CHECK_BYTES}
        paths = {self.folder / name: size for name, size in row_sizes.items()}
        for path in paths:
            path.touch()
        rows = min(path.stat().st_size // size for path, size in paths.items())
        whole = all(path.stat().st_size == rows * size for path, size in paths.items())
        if rows == self._rows and whole:
            return
        for path, size in paths.items():
            os.truncate(path, rows * size)
        content = (self.folder / "keys").read_bytes()
        self._row_of = {content[i * KEY_BYTES : (i + 1) * KEY_BYTES]: i for i in range(rows)}
        self._checked = np.append(self._checked[:rows], np.zeros(max(0, rows - self._rows), bool))
        self._rows = rows


def _hash_rows(keys: Sequence[bytes], vectors: Floats) -> bytes:
    """Return the checksums of vectors, each with its text's key, 8 bytes a row."""
    rows = np.ascontiguousarray(vectors).view(np.uint8)
    sums = [hash_number(row, int.from_bytes(key[:8], "little")) for key, row in zip(keys, rows, strict=True)]
    return np.array(sums, np.uint64).tobytes()
