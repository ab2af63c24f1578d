"""An int8 copy of vectors in memory, whose bounds prove which rows can be among the best.

Of a row x = x' + r and a query q = q' + e, with x' and q' in int8, |q.x - q'.x'| <= |e||x| + (|q| + |e|)|r|. A row
whose upper bound is below the k-th best lower bound is none of the k best; the others are scored from the vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows, row_lengths
from sciprism.parallel import count_threads, map_threads
from sciprism.store import Matrix
from sciprism.store.shard_files import quantize

if TYPE_CHECKING:
    from torch import Tensor

QUERIES = 16  # per product: the copy is read once for all of them
MIN_ROWS = 4096  # with fewer, a copy saves less than it costs
MAX_BYTES = 1 << 30  # of a copy; a larger collection has none
MAX_RUN = 1 << 16  # rows per product: bounds the scores in memory
BLOCK = 2048  # rows that are quantized at once
GROUP = 16  # rows of which at first only the best is compared
MAX_CANDIDATES = 1024  # groups per query; where more are near, the bounds separate too little
ROUNDING = 1e-5  # of sums in float32, relative to lengths: far above what they lose


@dataclass(frozen=True, slots=True)
class _Run:
    """Packed rows of one product: row first + j * groups + g is row j of group g; the largest bounds of each group."""

    first: int
    count: int
    packed: Tensor
    scales: Tensor
    offsets: Tensor
    lengths: Floats
    residuals: Floats

    def multiply(self, queries: Tensor, scale: float) -> Tensor:
        """Return (queries - 128) * scale times the rows, (m, n) in float32; uint8 is the fastest type of queries."""
        import torch

        zeros = torch.zeros(len(self.scales), dtype=torch.int32)
        settings: tuple[Any, ...] = (self.offsets, 1.0, 0, torch.float32, "none", [], "")
        out: Tensor = torch.ops.onednn.qlinear_pointwise(
            queries, scale, 128, self.packed, self.scales, zeros, *settings
        )
        return out


def _pack(
    first: int, values: NDArray[np.int8], scales: Floats, offsets: Floats, lengths: Floats, residuals: Floats
) -> _Run:
    """Pack rows (n, d), with rows that never win up to whole groups."""
    import torch

    more = -len(values) % GROUP
    filled = np.concatenate([values, np.zeros((more, values.shape[1]), np.int8)])
    packed = torch.ops.onednn.qlinear_prepack(torch.from_numpy(filled), None)
    scales, offsets, lengths, residuals = (
        np.append(numbers, np.full(more, fill, np.float32))
        for numbers, fill in ((scales, 1), (offsets, -np.inf), (lengths, 0), (residuals, 0))
    )
    largest = (numbers.reshape(GROUP, -1).max(axis=0) for numbers in (lengths, residuals))
    return _Run(first, len(values), packed, torch.from_numpy(scales), torch.from_numpy(offsets), *largest)


@cache
def int8_products_work() -> bool:
    """Return whether this build of torch and this processor multiply int8 numbers without loss."""
    import torch

    rows = np.repeat(np.array([[127], [-127], [1]], np.int8), 256, axis=1)
    one, none = np.ones(3, np.float32), np.zeros(3, np.float32)
    try:
        scores = _pack(0, rows, one, none, one, none).multiply(torch.full((2, 256), 255, dtype=torch.uint8), 1.0)
    except (AttributeError, RuntimeError, NotImplementedError):
        return False
    expected = torch.tensor([127.0, -127.0, 1.0]) * 127 * 256
    return torch.equal(scores[:, :3], expected.expand(2, 3))


class Int8Copy:
    """The rows of a space in int8, with scale, length and length of the residual: d + 16 bytes each."""

    def __init__(self, shards: Sequence[Matrix], distance: str) -> None:
        shards = list(shards)  # opened once
        starts = np.cumsum([0, *(len(shard) for shard in shards)])
        values = np.empty((starts[-1], shards[0].dim), np.int8)
        scales, lengths, residuals = np.empty((3, len(values)), np.float32)

        def fill(place: tuple[int, int]) -> None:
            shard, start = place
            block = shards[shard].block(start, start + BLOCK)
            rows = slice(starts[shard] + start, starts[shard] + start + len(block))
            near = quantize(block, "int8")
            values[rows], scales[rows] = near.values, near.scales
            lengths[rows], residuals[rows] = row_lengths(block), row_lengths(block - near.block(0, len(block)))

        map_threads(fill, [(i, start) for i, shard in enumerate(shards) for start in range(0, len(shard), BLOCK)])
        if distance == "cosine":
            divisors: Floats = np.where(lengths > 0, lengths, np.float32(1)).astype(np.float32)
            scales, lengths, residuals = scales / divisors, lengths / divisors, residuals / divisors
        self._euclidean = distance == "euclidean"
        offsets: Floats = np.square(lengths) * np.float32(-0.5 if self._euclidean else 0)
        self._finite = all(np.isfinite(numbers).all() for numbers in (scales, residuals, offsets))
        runs = max(count_threads(), -(-len(values) // MAX_RUN))
        cuts = np.linspace(0, len(values), runs + 1).astype(int).tolist()
        self._runs = [
            _pack(a, values[a:b], scales[a:b], offsets[a:b], lengths[a:b], residuals[a:b]) for a, b in pairwise(cuts)
        ]

    def candidates(self, queries: Floats, k: int, mask: NDArray[np.bool_] | None) -> Rows | None:
        """Return rows (m, c) that have the k best of each query, -1 for none; None where the bounds do not separate.

        queries: at most `QUERIES`, (m, d), as `normalize_for` returns them. mask: (rows,), False for excluded rows.
        """
        import torch

        scale = np.abs(queries).max(initial=0) / np.float32(127) or np.float32(1)
        numbers = np.rint(queries / scale)
        errors, sizes = (row_lengths(x)[:, None] for x in (queries - numbers * scale, queries))
        packed = torch.from_numpy((numbers + 128).astype(np.uint8))

        def scan(run: _Run) -> tuple[Floats, Floats, Floats]:
            scores = run.multiply(packed, float(scale))
            if mask is not None:
                excluded = ~mask[run.first : run.first + run.count]
                scores[:, : run.count].masked_fill_(torch.from_numpy(excluded), -torch.inf)
            grouped = scores.numpy().reshape(len(queries), GROUP, -1)
            radius = (errors + ROUNDING * sizes) * run.lengths + (sizes + errors) * run.residuals
            if self._euclidean:
                radius += ROUNDING * (run.lengths**2 + sizes**2)
            return grouped, grouped.max(axis=1), radius

        scans = map_threads(scan, self._runs)
        lower = np.concatenate([best - radius for _, best, radius in scans], axis=1)
        if not self._finite or lower.shape[1] < k:
            return None
        floor = np.partition(lower, -k, axis=1)[:, [-k]]
        return _select(scans, floor, [run.first for run in self._runs]) if np.isfinite(floor).all() else None


def _select(scans: list[tuple[Floats, Floats, Floats]], floor: Floats, firsts: list[int]) -> Rows | None:
    """Return the rows (m, c) whose upper bound reaches the floor (m, 1), -1 for none; None if they are too many."""
    parts = []
    for (scores, best, radius), first in zip(scans, firsts, strict=True):
        query, group = np.nonzero(best + radius >= floor)
        if len(query) > MAX_CANDIDATES * len(floor):
            return None
        place, member = np.nonzero(scores[query, :, group] + radius[query, group, None] >= floor[query])
        parts.append((query[place], first + member * best.shape[1] + group[place]))
    queries, rows = (np.concatenate(numbers) for numbers in zip(*parts, strict=True))
    order = np.argsort(queries, kind="stable")
    counts = np.bincount(queries, minlength=len(floor))
    chosen = np.full((len(floor), counts.max()), -1, np.int64)
    chosen[np.arange(counts.max()) < counts[:, None]] = rows[order]
    return chosen
