"""One matrix of vectors on disk: floats, or int8 with one scale per row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats
from sciprism.errors import InputError

Dtype = Literal["float32", "float16", "int8"]
DTYPES: tuple[Dtype, ...] = ("float32", "float16", "int8")


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows (n, d) as float32, float16 or int8; int8 rows are multiplied by their scale (n,) when read."""

    values: NDArray[np.generic]
    scales: Floats | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def dim(self) -> int:
        """Return the width of a row."""
        return int(self.values.shape[1])

    def block(self, start: int, stop: int) -> Floats:
        """Return rows start..stop as float32; float32 rows are a view of the file, not a copy."""
        return self.take(slice(start, stop))

    def take(self, rows: slice | NDArray[np.integer]) -> Floats:
        """Return the given rows as float32, a copy unless they are a slice of float32 rows."""
        values = self.values[rows]
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


def open_matrix(values: Path, scales: Path | None) -> Matrix:
    """Map a stored matrix into memory; rows are read on first use."""
    # "c" (changes stay private) and not "r": torch wants writable memory even where it only reads
    try:
        return Matrix(np.load(values, mmap_mode="c"), None if scales is None else np.load(scales))
    except (ValueError, EOFError) as error:
        raise InputError(f"{values} is damaged ({error}); restore it from a copy, or embed anew") from None
