"""Vectors of a shard that is not full yet: saved every few seconds, so that an interrupted run loses few of them."""

from __future__ import annotations

import io
import shutil
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zipfile import BadZipFile

import numpy as np

from sciprism.arrays import Floats
from sciprism.checksums import hash_bytes
from sciprism.files import write_atomically

if TYPE_CHECKING:
    from torch import Tensor

    from sciprism.encoders.packing import PackedBatch

FOLDER = "unfinished"
INTERVAL = 20.0
"""Seconds of encoding after which new vectors are saved; with the batch at work, less than 30."""

Compute = Callable[["PackedBatch"], "Tensor"]


class UnfinishedBatches:
    """The vectors of the encoder's batches since the last shard, by a checksum of their tokens.

    A batch that a run had saved before it was interrupted is not computed again: the same bytes go into the shard
    as without an interruption. A damaged file is left out, and its batches are computed again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._known: dict[str, Floats] | None = None
        self._new: dict[str, Floats] = {}
        self._saved = time.monotonic()
        self._lock = threading.Lock()

    @contextmanager
    def use(self, encoder: Any) -> Iterator[None]:
        """Let an encoder compute only batches that are not saved; what it computes is saved now and then.

        And when it is interrupted.
        """
        if self._known is None:
            self._known = dict(_read(self._folder))
        encoder.around_batches = self._wrap
        try:
            yield
        except KeyboardInterrupt:
            with self._lock:
                self._save()
            raise
        finally:
            encoder.around_batches = None

    def clear(self) -> None:
        """Delete what was saved: its shard is committed."""
        self._known, self._new = {}, {}
        if self._folder.exists():
            shutil.rmtree(self._folder)

    def _wrap(self, compute: Compute) -> Compute:
        import torch

        def run(batch: PackedBatch) -> Tensor:
            key = _hash(batch)
            known = (self._known or {}).get(key)
            if known is not None:
                return torch.from_numpy(known)
            vectors = compute(batch)
            with self._lock:
                self._new[key] = vectors.cpu().numpy()
                if time.monotonic() - self._saved > INTERVAL:
                    self._save()
            return vectors

        return run

    def _save(self) -> None:
        if self._new:
            content = io.BytesIO()
            np.savez(content, **cast("dict[str, Any]", self._new))  # its option allow_pickle is of numpy 2
            number = len(list(self._folder.glob("*.npz")))
            write_atomically(self._folder / f"{number:06d}.npz", lambda file: file.write(content.getvalue()))
            self._known = (self._known or {}) | self._new
            self._new = {}
        self._saved = time.monotonic()


def count_unfinished(folder: Path) -> int:
    """Return how many vectors of a collection are saved whose shard is not committed."""
    return sum(len(vectors) for _, vectors in _read(folder / FOLDER))


def _read(folder: Path) -> Iterator[tuple[str, Floats]]:
    for path in sorted(folder.glob("*.npz")):
        try:
            with np.load(path, allow_pickle=False) as saved:
                yield from [(key, saved[key]) for key in saved.files]
        except (OSError, ValueError, EOFError, KeyError, BadZipFile, zlib.error):
            continue


def _hash(batch: PackedBatch) -> str:
    content = batch.ids.cpu().numpy().tobytes() + repr((batch.lengths, batch.routes)).encode()
    return hash_bytes(content)
