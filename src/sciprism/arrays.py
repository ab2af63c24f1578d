"""Types of the arrays that packages exchange, checks of them, and products at full speed on a CPU."""

from __future__ import annotations

import sys
from collections.abc import Sized
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciprism.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

Floats = NDArray[np.float32]  # vectors and similarities
Doubles = NDArray[np.float64]  # scores and statistics
Rows = NDArray[np.int64]  # positions in a sequence: of papers, labels, queries or tasks' items
Integers = NDArray[np.int64]  # counts, ranks and class numbers


def normalize_rows(vectors: Floats) -> Floats:
    """Scale vectors (n, d) to length 1, in a copy; a vector of zeros stays."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: Floats = (vectors / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)
    return unit


def torch_is_loaded() -> bool:
    """Return whether torch is imported: where it is not, little work is done sooner by numpy than its import takes."""
    return "torch" in sys.modules


def row_lengths(vectors: Floats) -> Floats:
    """Return the length of each vector (n, d) -> (n,)."""
    if not torch_is_loaded():
        plain: Floats = np.sqrt(np.einsum("nd,nd->n", vectors, vectors))
        return plain
    import torch

    lengths: Floats = torch.linalg.vector_norm(torch.from_numpy(vectors), dim=1).numpy()  # several times faster
    return lengths


def inner_products(left: Tensor, right: Tensor) -> Tensor:
    """Multiply every row of left (m, d) with every row of right (n, d), both float32 -> (m, n).

    On AMD processors with AVX-512 torch sends float32 products to a library that uses half of the machine; oneDNN,
    in the same wheel, uses all of it. Its operator is the one that torch's compiler emits for a linear layer, on
    plain matrices. Where a build of torch lacks it, the ordinary product gives the same numbers.
    """
    if onednn_works() and not mkl_is_faster() and left.device.type == "cpu" and len(left) and len(right):
        return _onednn(left, right)
    return left @ right.T


@cache
def mkl_is_faster() -> bool:
    """Return whether torch's own float32 products, by MKL, are faster than oneDNN's: without AVX-512 they are.

    There oneDNN's product takes 1.15 times as long, and with its fused GELU 1.5 times (results/encode.json).
    """
    import torch

    built = bool(torch.backends.mkl.is_available())  # type: ignore[no-untyped-call]
    return built and torch.backends.cpu.get_cpu_capability() == "AVX2"


@cache
def onednn_works() -> bool:
    """Return whether this build of torch has the oneDNN product, and computes it correctly."""
    import torch

    rows = torch.eye(4)
    try:
        return torch.equal(_onednn(rows[:2], rows[:3]), rows[:2, :3])
    except (AttributeError, RuntimeError, NotImplementedError):
        return False


def _onednn(left: Tensor, right: Tensor) -> Tensor:
    import torch

    product: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, None, "none", [], "")
    return product


def check_aligned(first: Sized, second: Sized, what: str) -> None:
    """Raise InputError if the two differ in length; `what` names them."""
    if len(first) != len(second):
        raise InputError(f"{what}: {len(first)} and {len(second)} of them; give one pair for each item")


def check_finite(values: ArrayLike, what: str) -> Doubles:
    """Return the numbers as doubles (n,); InputError if one is not finite."""
    numbers = np.asarray(values, dtype=np.float64).ravel()
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise InputError(f"{what}: number {bad[0] + 1} is {numbers[bad[0]]}; remove such items before scoring")
    return numbers


def safe_divide(numerator: Doubles, denominator: Doubles) -> Doubles:
    """Divide elementwise; 0 where the denominator is 0."""
    zeros = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    return np.divide(numerator, denominator, out=zeros, where=denominator != 0)
