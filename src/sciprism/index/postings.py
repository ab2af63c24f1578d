"""The postings of a BM25 index, built in bounded memory: term counts of each batch on disk, then scores by term."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from sciprism.files import PARTIAL_SUFFIX

BATCH = 1 << 16
"""Documents whose terms are counted at once."""
ZEROS = bytes(1 << 20)
COUNT = np.dtype([("term", np.int32), ("document", np.int32), ("count", np.int32)])


class PostingsBuilder:
    """Counts the terms of documents, and then writes for each term the documents that have it, with their scores.

    folder: of the index. Memory is that of one batch, of the lengths of all documents, and of a number for each term.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"counts{PARTIAL_SUFFIX}"
        self._file: BinaryIO = self._path.open("w+b")
        self._waiting: list[Sequence[int]] = []
        self._batches: list[int] = []
        self._lengths = [np.zeros(0, np.int32)]
        self._frequencies = np.zeros(0, np.int64)
        self.documents = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)

    @property
    def mean_length(self) -> float:
        """The terms of a document, on average."""
        return float(sum(int(part.sum()) for part in self._lengths) / self.documents)

    def add(self, documents: Sequence[Sequence[int]]) -> None:
        """Count documents, given as numbers of terms."""
        self._waiting += documents
        self.documents += len(documents)
        if len(self._waiting) >= BATCH:
            self._count()

    def write(self, data: Path, indices: Path, terms: int, k1: float, b: float) -> NDArray[np.int64]:
        """Write the scores and the documents by term, ascending, as arrays of numpy; return where each term begins.

        A score is idf * tf / (tf + k1 (1 - b + b length / mean length)), as of Lucene and bm25s.
        """
        self._count()
        found = _grow(self._frequencies, terms)
        starts = np.concatenate([[0], np.cumsum(found)])
        rarity = np.log(1 + (self.documents - found + 0.5) / (found + 0.5)).astype(np.float32)
        lengths = k1 * ((1 - b) + b * np.concatenate(self._lengths) / self.mean_length)
        scores, rows = _allocate(data, np.float32, starts[-1]), _allocate(indices, np.int32, starts[-1])
        ends = starts[:-1].copy()
        self._file.seek(0)
        for size in self._batches:
            batch = np.fromfile(self._file, COUNT, size)
            term, document, count = (batch[name] for name in ("term", "document", "count"))
            known, first, many = np.unique(term, return_index=True, return_counts=True)
            places = np.repeat(ends[known] - first, many) + np.arange(size)
            scores[places] = rarity[term] * (count / (lengths[document] + count))
            rows[places] = document
            ends[known] += many
        for array in (scores, rows):
            array.flush()
        return starts

    def _count(self) -> None:
        """Write the counts of the documents that wait, by term and document."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        first = self.documents - len(waiting)
        lengths = np.fromiter(map(len, waiting), np.int32, len(waiting))
        terms = np.fromiter(chain.from_iterable(waiting), np.int64, int(lengths.sum()))
        owners = np.repeat(np.arange(len(waiting)), lengths)
        pairs, counts = np.unique(terms * len(waiting) + owners, return_counts=True)
        batch = np.empty(len(pairs), COUNT)
        batch["term"], batch["document"] = np.divmod(pairs, len(waiting))
        batch["document"] += first
        batch["count"] = counts
        self._file.write(batch.tobytes())  # unlike tofile, it says that a disk is full
        self._batches.append(len(batch))
        self._lengths.append(lengths)
        found = np.bincount(batch["term"])
        self._frequencies = _grow(self._frequencies, len(found))
        self._frequencies[: len(found)] += found


def _grow(numbers: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return np.concatenate([numbers, np.zeros(max(0, size - len(numbers)), np.int64)])


def _allocate(path: Path, dtype: Any, count: int) -> np.memmap[Any, Any]:
    """Write an array of zeros and map it: a full disk fails here, with an error, not when a page is written."""
    size = int(count) * np.dtype(dtype).itemsize
    with path.open("wb") as file:
        header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (int(count),)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, size, len(ZEROS)):
            file.write(ZEROS[: size - start])
    return np.lib.format.open_memmap(path, "r+")
