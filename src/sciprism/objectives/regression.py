"""Regression loss (SciRepEval, section 4)."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def regression(predictions: Tensor, numbers: Tensor) -> Tensor:
    """Return the mean squared error. predictions, numbers: (B,)."""
    return F.mse_loss(predictions, numbers.to(predictions.dtype))
