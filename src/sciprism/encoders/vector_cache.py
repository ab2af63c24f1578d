"""Every text encoded once: vectors on disk, keyed by what is encoded, by what, and on which path.

One folder per encoder, path and precision holds `keys` (16 bytes of each text's hash) and `vectors`
(float32 rows). Both only grow; a run that was killed leaves at most an unfinished tail, which is cut off.
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
from sciprism.files import commit

KEY = 16
"""Bytes of a text's hash: a clash among a billion texts has a chance below one in 10^20."""
PART = 4096
"""Texts encoded between two writes; what a killed run loses."""
IN_MEMORY = 1 << 29
"""Bytes of vectors that are gathered in memory; more goes through a temporary file."""


class VectorCache:
    """The vectors of one encoder on one path."""

    def __init__(self, folder: Path, dim: int) -> None:
        self.folder = folder
        self.dim = dim
        folder.mkdir(parents=True, exist_ok=True)
        self._known: dict[bytes, int] = {}
        with self._locked():
            self._check_dim()
            self._refresh()

    def rows(self, texts: Sequence[str], encode: Callable[[list[int]], Floats]) -> Rows:
        """Return where each text's vector lies; `encode` gets the places of the texts that are new.

        Two processes may encode one text at the same time; the first that is done keeps its vector.
        """
        keys = [_key(text) for text in texts]
        place = {key: i for i, key in reversed(list(enumerate(keys)))}
        if not self._known.keys() >= place.keys():
            with self._locked():
                self._refresh()  # what others have written meanwhile
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        for start in range(0, len(new), PART):
            part = new[start : start + PART]
            self._append(part, encode([place[key] for key in part]))
        return np.array([self._known[key] for key in keys], np.int64)

    def take(self, rows: Rows) -> Floats:
        """Return the vectors of rows: a view of the file for a run of rows, else a copy."""
        if not len(rows):
            return np.empty((0, self.dim), np.float32)
        shape = (len(self._known), self.dim)
        stored = np.memmap(self.folder / "vectors", np.float32, "c", shape=shape)
        if (np.diff(rows) == 1).all():
            return np.asarray(stored[rows[0] : rows[-1] + 1])
        if rows.size * self.dim * 4 <= IN_MEMORY:
            return np.asarray(stored[rows])
        with tempfile.NamedTemporaryFile(dir=self.folder) as file:
            gathered: Floats = np.memmap(file, np.float32, "w+", shape=(len(rows), self.dim))
            for start in range(0, len(rows), PART):
                gathered[start : start + PART] = stored[rows[start : start + PART]]
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
            # The keys come last: a key promises that its vector is there.
            contents = vectors[new].astype(np.float32).tobytes(), b"".join(keys[i] for i in new)
            for name, content in zip(("vectors", "keys"), contents, strict=True):
                with (self.folder / name).open("ab") as file:
                    file.write(content)
            first = len(self._known)
            self._known.update({keys[i]: first + row for row, i in enumerate(new)})

    def _locked(self) -> FileLock:
        return FileLock(self.folder / "lock")

    def _refresh(self) -> None:
        """Read the keys that are there, and cut off what a killed run left unfinished."""
        files = [self.folder / "keys", self.folder / "vectors"]
        for file in files:
            file.touch()
        sizes = [KEY, 4 * self.dim]
        whole = min(file.stat().st_size // size for file, size in zip(files, sizes, strict=True))
        if whole == len(self._known) and all(
            file.stat().st_size == whole * size for file, size in zip(files, sizes, strict=True)
        ):
            return
        for file, size in zip(files, sizes, strict=True):
            with file.open("r+b") as opened:
                opened.truncate(whole * size)
        content = files[0].read_bytes()
        self._known = {content[i * KEY : (i + 1) * KEY]: i for i in range(whole)}

    def _check_dim(self) -> None:
        facts = self.folder / "facts.json"
        if not facts.exists():
            commit(facts, lambda file: file.write(json.dumps({"dim": self.dim}).encode() + b"\n"))
        if json.loads(facts.read_text(encoding="utf-8"))["dim"] != self.dim:
            raise InputError(f"{self.folder} holds vectors of another width than {self.dim}; remove it")


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY]
