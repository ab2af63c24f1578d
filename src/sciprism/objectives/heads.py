"""Losses of heads over the vectors: one label of a text, several, or a number (SciRepEval, section 4)."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F


def classification(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean cross-entropy. logits: (B, C). labels: (B,), the class of each row."""
    return F.cross_entropy(logits, labels)


def multi_label(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean over texts and classes of the binary cross-entropy. labels: (B, C) of 0 and 1."""
    return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))


def regression(predictions: Tensor, numbers: Tensor) -> Tensor:
    """Return the mean squared error. predictions, numbers: (B,)."""
    return F.mse_loss(predictions, numbers.to(predictions.dtype))
