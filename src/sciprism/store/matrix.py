"""One matrix of vectors on disk: floats, or int8 with one scale per row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats
from sciprism.checksums import BLOCK, BlockChecks, Bytes
from sciprism.errors import DamagedFileError, InputError

Dtype = Literal["float32", "float16", "int8"]
HEADER = 128
"""Bytes of a .npy file before its rows."""
Checks = Callable[[Path], BlockChecks]
"""Maps a file to its checksums."""
DTYPES: tuple[Dtype, ...] = ("float32", "float16", "int8")


@dataclass(frozen=True, slots=True)
class MatrixFile:
    """A mapped file of rows: all its bytes, where the rows begin, the bytes of a row, and the checksums."""

    content: Bytes
    first: int
    row_size: int
    checks: BlockChecks

    def check(self, rows: slice | NDArray[np.integer], count: int) -> None:
        """Compare the blocks of some of `count` rows that were not compared before."""
        if self.checks.complete:
            return
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(count)
            self.checks.check(self.content, self.first + start * self.row_size, self.first + stop * self.row_size)
        else:
            starts = self.first + np.asarray(rows, np.int64) * self.row_size  # a row is shorter than a block
            blocks = np.concatenate([starts, starts + self.row_size - 1]) // BLOCK
            self.checks.check_blocks(self.content, np.unique(blocks).tolist())


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows (n, d) as float32, float16 or int8; int8 rows are multiplied by their scale (n,) when read.

    file: the mapped file of the values, whose blocks are compared with their checksums when first read.
    """

    values: NDArray[np.generic]
    scales: Floats | None = None
    file: MatrixFile | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def dim(self) -> int:
        """Return the width of a row."""
        return int(self.values.shape[1])

    def block(self, start: int, stop: int) -> Floats:
        """Return rows start..stop as float32; float32 rows are a view of the file, not a copy."""
        return self.take(slice(start, stop))

    def stored(self, rows: slice | NDArray[np.integer]) -> NDArray[np.generic]:
        """Return the given rows as they are stored, without scales."""
        if self.file is not None:
            self.file.check(rows, len(self))
        return self.values[rows]

    def take(self, rows: slice | NDArray[np.integer]) -> Floats:
        """Return the given rows as float32, a copy unless they are a slice of float32 rows."""
        values = self.stored(rows)
        if values.dtype == np.float32:
            return values.astype(np.float32, copy=False)
        import torch  # widens several times faster than numpy

        wide: Floats = torch.from_numpy(values).float().numpy()
        if self.scales is not None:
            wide *= self.scales[rows, None]
        return wide


def quantize(vectors: Floats, dtype: Dtype) -> Matrix:
    """Return float32 rows in the stored precision; int8 rows get one scale each."""
    if dtype == "float32":
        return Matrix(vectors)
    if dtype == "float16":
        largest = float(np.abs(vectors).max(initial=0.0))
        if largest > float(np.finfo(np.float16).max):
            raise InputError(f"a vector holds {largest:g}, too large for float16; use float32 or int8")
        return Matrix(vectors.astype(np.float16))
    highest = np.abs(vectors).max(axis=1, initial=0.0)
    scales = np.where(highest > 0, highest / 127, 1).astype(np.float32)
    return Matrix(np.rint(vectors / scales[:, None]).astype(np.int8), scales)


def open_matrix(values: Path, scales: Path | None, checks: Checks) -> Matrix:
    """Map a stored matrix into memory; rows are read on first use. checks: the checksums of a file."""
    try:
        content = map_bytes(values)
        checks(values).check(content, 0, HEADER)
        first, shape, dtype = _parse_header(content[:HEADER].tobytes())
        rows = content[first:].view(dtype).reshape(shape)
        if scales is None:
            factors = None
        else:
            whole: Bytes = np.fromfile(scales, np.uint8)
            checks(scales).check(whole)
            start, count, kind = _parse_header(whole[:HEADER].tobytes())
            factors = whole[start:].view(kind).reshape(count)
    except InputError:
        raise
    except (ValueError, EOFError) as error:
        raise DamagedFileError(f"{values} is damaged ({error}); restore it from a copy, or embed anew") from None
    return Matrix(rows, factors, MatrixFile(content, first, dtype.itemsize * shape[1], checks(values)))


def map_bytes(path: Path) -> Bytes:
    """Map a file's bytes, a private copy where they are written; torch keeps no file handle, as Python's mmap does."""
    import torch

    mapped = torch.from_file(str(path), shared=False, size=path.stat().st_size, dtype=torch.uint8)
    content: Bytes = mapped.numpy()
    return content


@lru_cache
def _parse_header(head: bytes) -> tuple[int, tuple[int, ...], np.dtype[Any]]:
    """Return where the rows of a .npy file begin, their shape and type; nearly all shards have one header."""
    file = BytesIO(head)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return file.tell(), shape, dtype
