"""An int8 copy of vectors in memory, whose bounds prove which rows can be among the best.

Of a row x = x' + r and a query q = q' + e, with x' and q' in int8, |q.x - q'.x'| <= |e||x| + (|q| + |e|)|r|. The k rows
that seem best are scored from the vectors. A row whose upper bound is below the lowest of these scores is not among the
k best; the others are scored from the vectors too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats, Rows, row_lengths
from sciprism.parallel import count_threads, map_threads
from sciprism.store import Matrix
from sciprism.store.shard_files import quantize

QUERIES = 16  # per product: the copy is read once for all of them
MIN_ROWS = 4096  # with fewer, a copy saves less than it costs
MAX_BYTES = 1 << 30  # of a copy; a larger collection has none
MAX_RUN = 1 << 16  # rows per product: bounds the scores in memory
BLOCK = 2048  # rows that are quantized at once
GROUP = 16  # rows of which at first only the best is compared
MAX_CANDIDATES = 1024  # groups per query; where more are near, the bounds separate too little
SCALES = (1e-30, 1e30)  # of queries; beyond, float32 may lose their products
ROUNDING = 1e-5  # of sums in float32, relative to lengths: far above what they lose


Multiply = Callable[[Floats, float], Floats]
"""Whole numbers (m, d) and their scale -> products with packed rows (m, n) in float32, plus the rows' offsets."""
Pack = Callable[[NDArray[np.int8], Floats, Floats], Multiply]
"""Rows (n, d), their scales (n,) and offsets (n,) -> a product with them."""


def _pack_for_onednn(values: NDArray[np.int8], scales: Floats, offsets: Floats) -> Multiply:
    """Pack rows for numbers of queries from -127 to 127, which need instructions for int8 (AVX-512 VNNI, AMX)."""
    import torch

    packed = torch.ops.onednn.qlinear_prepack(torch.from_numpy(values), None)
    zeros = torch.zeros(len(scales), dtype=torch.int32)
    settings: tuple[Any, ...] = (torch.from_numpy(offsets), 1.0, 0, torch.float32, "none", [], "")

    def multiply(numbers: Floats, scale: float) -> Floats:
        queries = torch.from_numpy((numbers + 128).astype(np.uint8))  # uint8 is the fastest type of queries
        factors = (scale, 128, packed, torch.from_numpy(scales), zeros)
        scores: Floats = torch.ops.onednn.qlinear_pointwise(queries, *factors, *settings).numpy()
        return scores

    return multiply


def _pack_for_fbgemm(values: NDArray[np.int8], scales: Floats, offsets: Floats) -> Multiply:
    """Pack rows for numbers of queries from -63 to 63: AVX2 adds two products in 16 bits, more would overflow.

    oneDNN would pack the rows again at every product, which takes twice as long.
    """
    import torch

    factors, zeros = torch.from_numpy(scales).double(), torch.zeros(len(scales), dtype=torch.int64)
    rows = torch._make_per_channel_quantized_tensor(torch.from_numpy(values), factors, zeros, 0)
    packed = torch.ops.quantized.linear_prepack(rows, torch.from_numpy(offsets))
    multiply = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32
    return lambda numbers, scale: multiply(torch.from_numpy(numbers * np.float32(scale)), scale, 64, packed).numpy()


PRODUCTS: tuple[tuple[Pack, int], ...] = ((_pack_for_onednn, 127), (_pack_for_fbgemm, 63))  # and the largest number


@cache
def find_int8_product() -> tuple[Pack, int] | None:
    """Return the first of `PRODUCTS` that this build of torch computes on this processor without loss, None of none."""
    rows = np.repeat(np.array([[127], [-127], [1]], np.int8), 256, axis=1)
    one, none = np.ones(3, np.float32), np.zeros(3, np.float32)
    for pack, largest in PRODUCTS:
        try:
            with warnings.catch_warnings():  # torch warns once that it means to remove fbgemm's tensors
                warnings.simplefilter("ignore", UserWarning)
                scores = pack(rows, one, none)(np.full((2, 256), largest, np.float32), 1.0)
        except (AttributeError, RuntimeError, NotImplementedError):
            continue
        expected = np.array([[127, -127, 1]] * 2, np.float32) * largest * 256
        if np.array_equal(scores, expected):
            return pack, largest
    return None


@dataclass(frozen=True, slots=True)
class _Run:
    """Rows of one product: row first + j * groups + g is row j of group g; the largest bounds of each group."""

    first: int
    count: int
    multiply: Multiply
    lengths: Floats
    residuals: Floats


def _build_run(pack: Pack, first: int, values: NDArray[np.int8], numbers: Sequence[Floats]) -> _Run:
    """Pack rows (n, d), with rows that never win up to whole groups.

    numbers: the rows' scales, offsets, lengths and lengths of residuals, (n,) each.
    """
    more = -len(values) % GROUP
    filled = np.concatenate([values, np.zeros((more, values.shape[1]), np.int8)])
    scales, offsets, *bounds = (
        np.append(each, np.full(more, fill, np.float32)) for each, fill in zip(numbers, (1, -np.inf, 0, 0), strict=True)
    )
    largest = (each.reshape(GROUP, -1).max(axis=0) for each in bounds)
    return _Run(first, len(values), pack(filled, scales, offsets), *largest)


class Int8Copy:
    """The rows of a space in int8, with scale, length and length of the residual: d + 16 bytes each."""

    def __init__(self, shards: Sequence[Matrix], distance: str) -> None:
        product = find_int8_product()
        if product is None:
            raise RuntimeError("this processor has no product of int8 numbers without loss")
        pack, self._largest = product
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
            lengths[rows] = shards[shard].lengths(start, block)
            residuals[rows] = row_lengths(block - near.block(0, len(block)))

        map_threads(fill, [(i, start) for i, shard in enumerate(shards) for start in range(0, len(shard), BLOCK)])
        if distance == "cosine":
            divisors: Floats = np.where(lengths > 0, lengths, np.float32(1)).astype(np.float32)
            scales, lengths, residuals = scales / divisors, lengths / divisors, residuals / divisors
        self._euclidean = distance == "euclidean"
        offsets: Floats = np.square(lengths) * np.float32(-0.5 if self._euclidean else 0)
        self._finite = all(np.isfinite(numbers).all() for numbers in (scales, residuals, offsets))
        runs = max(count_threads(), -(-len(values) // MAX_RUN))
        cuts = np.linspace(0, len(values), runs + 1).astype(int).tolist()
        numbers = (scales, offsets, lengths, residuals)
        self._runs = map_threads(
            lambda cut: _build_run(pack, cut[0], values[slice(*cut)], [each[slice(*cut)] for each in numbers]),
            pairwise(cuts),
        )

    def candidates(
        self, queries: Floats, k: int, mask: NDArray[np.bool_] | None, score: Callable[[Rows], tuple[Floats, Rows]]
    ) -> Rows | None:
        """Return rows (m, c) that have the k best of each query, -1 for none; None where the bounds do not separate.

        queries: at most `QUERIES`, (m, d), as `normalize_for` returns them. mask: (rows,), False for excluded rows.
        score: of rows (m, k), by their vectors, scores and rows (m, k), the best first.
        """
        scale = np.abs(queries).max(initial=0) / np.float32(self._largest) or np.float32(1)
        if not self._finite or not SCALES[0] < scale < SCALES[1]:
            return None
        numbers = np.rint(queries / scale)
        errors, sizes = (row_lengths(x)[:, None] for x in (queries - numbers * scale, queries))

        def scan(run: _Run) -> _Scan:
            scores = run.multiply(numbers, float(scale))
            if mask is not None:
                np.copyto(scores[:, : run.count], -np.inf, where=~mask[run.first : run.first + run.count])
            grouped = scores.reshape(len(queries), GROUP, -1)
            radius = (errors + ROUNDING * sizes) * run.lengths + (sizes + errors) * run.residuals
            if self._euclidean:
                radius += ROUNDING * (run.lengths**2 + sizes**2)
            return _Scan(run.first, grouped, grouped.max(axis=1), radius)

        scans = map_threads(scan, self._runs)
        near = _find_near(scans, k)
        if near is None:
            return None
        floor = score(near)[0][:, -1:].astype(np.float64)
        if self._euclidean:
            floor = (np.square(sizes, dtype=np.float64) - floor**2) / 2
        return _select(scans, floor) if np.isfinite(floor).all() else None


@dataclass(frozen=True, slots=True)
class _Scan:
    """Scores (m, `GROUP`, groups) of the rows from `first` on, the best of each group and the radius of its bounds."""

    first: int
    scores: Floats
    best: Floats
    radius: Floats

    def rows(self, group: Rows, member: Rows) -> Rows:
        """Return the rows that are such members of such groups."""
        rows: Rows = self.first + member * self.best.shape[1] + group
        return rows


def _find_near(scans: list[_Scan], k: int) -> Rows | None:
    """Return the best row of each of the k best groups (m, k); None where there are fewer."""
    best = np.concatenate([scan.best for scan in scans], axis=1)
    if best.shape[1] < k:
        return None
    top = np.argpartition(best, -k, axis=1)[:, -k:]
    if not np.isfinite(np.take_along_axis(best, top, axis=1)).all():
        return None
    starts = np.cumsum([0, *(scan.best.shape[1] for scan in scans)])
    rows = np.empty_like(top)
    for scan, start, end in zip(scans, starts, starts[1:], strict=False):
        query, place = np.nonzero((top >= start) & (top < end))
        group = top[query, place] - start
        rows[query, place] = scan.rows(group, scan.scores[query, :, group].argmax(axis=1))
    return rows


def _select(scans: list[_Scan], floor: Doubles) -> Rows | None:
    """Return the rows (m, c) whose upper bound reaches the floor (m, 1), -1 for none; None if they are too many."""
    parts = []
    for scan in scans:
        query, group = np.nonzero(scan.best + scan.radius >= floor)
        if len(query) > MAX_CANDIDATES * len(floor):
            return None
        place, member = np.nonzero(scan.scores[query, :, group] + scan.radius[query, group, None] >= floor[query])
        parts.append((query[place], scan.rows(group[place], member)))
    queries, rows = (np.concatenate(numbers) for numbers in zip(*parts, strict=True))
    order = np.argsort(queries, kind="stable")
    counts = np.bincount(queries, minlength=len(floor))
    chosen = np.full((len(floor), counts.max()), -1, np.int64)
    chosen[np.arange(counts.max()) < counts[:, None]] = rows[order]
    return chosen
