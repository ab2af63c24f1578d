"""Vectors on disk, so that an encoder encodes each text once per encoding path.

One folder per encoder, path and precision holds `keys` (16 bytes of each text's hash) and `vectors` (float32
rows). Both only grow; an interrupted run leaves at most an unfinished tail, which is truncated.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from filelock import FileLock

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.files import write_atomically

KEY_BYTES = 16
"""Bytes of a text's hash: a billion texts collide with probability below 10^-20."""
TEXTS_PER_WRITE = 4096
"""Texts encoded between two writes, the most that an interrupted run loses."""
MAX_BYTES_IN_MEMORY = 1 << 29
"""Bytes of vectors gathered in memory; more go through a temporary file."""


class VectorCache:
    """The vectors of one encoder on one path."""

    def __init__(self, folder: Path, dim: int) -> None:
        self.folder = folder
        self.dim = dim
        folder.mkdir(parents=True, exist_ok=True)
        self._known: dict[bytes, int] = {}
        with self._locked():
            facts = folder / "facts.json"
            if not facts.exists():
                write_atomically(facts, lambda file: file.write(json.dumps({"dim": dim}).encode() + b"\n"))
            if json.loads(facts.read_text(encoding="utf-8"))["dim"] != dim:
                raise InputError(f"{folder} holds vectors of another width than {dim}; remove it")
            self._refresh()

    def find_or_encode(self, texts: Sequence[str], encode: Callable[[list[int]], Floats]) -> Rows:
        """Return the row of each text's vector; `encode` gets the indices of texts that are not stored.

        Two processes may encode one text at the same time; the vector written first is stored.
        """
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES] for text in texts]
        index = {key: i for i, key in reversed(list(enumerate(keys)))}
        if not self._known.keys() >= index.keys():
            with self._locked():
                self._refresh()  # rows that other processes have written
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        for start in range(0, len(new), TEXTS_PER_WRITE):
            part = new[start : start + TEXTS_PER_WRITE]
            self._append(part, encode([index[key] for key in part]))
        return np.array([self._known[key] for key in keys], np.int64)

    def read(self, rows: Rows) -> Floats:
        """Return the vectors of rows: a view of the file for consecutive rows, else a copy."""
        if not len(rows):
            return np.empty((0, self.dim), np.float32)
        stored = np.memmap(self.folder / "vectors", np.float32, "c", shape=(len(self._known), self.dim))
        if (np.diff(rows) == 1).all():
            return np.asarray(stored[rows[0] : rows[-1] + 1])
        if rows.size * self.dim * 4 <= MAX_BYTES_IN_MEMORY:
            return np.asarray(stored[rows])
        with tempfile.NamedTemporaryFile(dir=self.folder) as file:
            gathered: Floats = np.memmap(file, np.float32, "w+", shape=(len(rows), self.dim))
            for start in range(0, len(rows), TEXTS_PER_WRITE):
                gathered[start : start + TEXTS_PER_WRITE] = stored[rows[start : start + TEXTS_PER_WRITE]]
            return gathered

    def _append(self, keys: Sequence[bytes], vectors: Floats) -> None:
        if vectors.shape != (len(keys), self.dim) or not np.isfinite(vectors).all():
            bad = np.size(vectors) - np.isfinite(vectors).sum()
            raise InputError(
                f"the encoder gave {bad} values that are not finite in {vectors.shape} vectors for "
                f"{len(keys)} texts of {self.dim} values; try float32"
            )
        with self._locked():
            self._refresh()
            new = [i for i, key in enumerate(keys) if key not in self._known]
            # Keys are written last: a key promises that its vector is stored.
            contents = vectors[new].astype(np.float32).tobytes(), b"".join(keys[i] for i in new)
            for name, content in zip(("vectors", "keys"), contents, strict=True):
                with (self.folder / name).open("ab") as file:
                    file.write(content)
            first = len(self._known)
            self._known.update({keys[i]: first + row for row, i in enumerate(new)})

    def _locked(self) -> FileLock:
        return FileLock(self.folder / "lock")

    def _refresh(self) -> None:
        """Read the stored keys, and truncate what an interrupted run left unfinished."""
        row_sizes = {self.folder / "keys": KEY_BYTES, self.folder / "vectors": 4 * self.dim}
        for file in row_sizes:
            file.touch()
        sizes = {file: file.stat().st_size for file in row_sizes}
        rows = min(sizes[file] // size for file, size in row_sizes.items())
        expected = {file: rows * size for file, size in row_sizes.items()}
        if rows == len(self._known) and sizes == expected:
            return
        for file, size in expected.items():
            with file.open("r+b") as opened:
                opened.truncate(size)
        content = (self.folder / "keys").read_bytes()
        self._known = {content[i * KEY_BYTES : (i + 1) * KEY_BYTES]: i for i in range(rows)}
