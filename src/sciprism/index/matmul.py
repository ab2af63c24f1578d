"""Inner products at full speed on a CPU.

On AMD processors torch sends float32 products to a library that uses half of the machine; oneDNN, in the
same wheel, uses all of it. The operator below is the one that torch's compiler emits for a linear layer. It
takes plain matrices. Where a build of torch lacks it, the ordinary product gives the same numbers.
"""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor


@cache
def onednn_works() -> bool:
    """Return whether this build of torch has the oneDNN product, and computes it correctly."""
    rows = torch.eye(4)
    try:
        return torch.equal(_onednn(rows[:2], rows[:3]), rows[:2, :3])
    except (AttributeError, RuntimeError, NotImplementedError):
        return False


def inner_products(left: Tensor, right: Tensor) -> Tensor:
    """Multiply every row of left (m, d) with every row of right (n, d), both float32 -> (m, n)."""
    if onednn_works() and left.device.type == "cpu" and len(left) and len(right):
        return _onednn(left, right)
    return left @ right.T


def _onednn(left: Tensor, right: Tensor) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(left, right, None, "none", [], "")
    return product
