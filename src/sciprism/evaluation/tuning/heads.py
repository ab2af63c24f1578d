"""A linear head on token states, and its losses."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sciprism.encoders.layers import Dropout, Linear, initialize_weights
from sciprism.encoders.packing import PackedBatch


class LinearHead(nn.Module):
    """Dropout, then a linear map (BLURB's heads), (n, hidden) -> (n, width)."""

    def __init__(self, hidden: int, width: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.map = initialize_weights(Linear(hidden, width))

    def forward(self, states: Tensor, batch: PackedBatch, positions: Sequence[Sequence[int]]) -> Tensor:
        """Map the states at the positions of each text, all texts end to end."""
        rows = [start + at for start, own in zip(batch.bounds, positions, strict=False) for at in own]
        index = torch.tensor(rows, dtype=torch.long, device=states.device)
        return self.map(self.dropout(states.index_select(0, index)))  # type: ignore[no-any-return]


def class_loss(outputs: Tensor, targets: Sequence[int]) -> Tensor:
    """Return the sum of cross-entropies, 0 of none. outputs: (n, c). targets: n classes."""
    wanted = torch.tensor(targets, dtype=torch.long, device=outputs.device)
    return F.cross_entropy(outputs, wanted, reduction="sum")


def label_loss(outputs: Tensor, targets: Sequence[Sequence[float]]) -> Tensor:
    """Return the sum over texts of the mean binary cross-entropy of c labels. outputs: (n, c)."""
    wanted = torch.tensor(targets, dtype=outputs.dtype, device=outputs.device)
    return F.binary_cross_entropy_with_logits(outputs, wanted, reduction="sum") / outputs.shape[1]


def regression_loss(outputs: Tensor, targets: Sequence[float]) -> Tensor:
    """Return the sum of squared errors. outputs: (n, 1)."""
    wanted = torch.tensor(targets, dtype=outputs.dtype, device=outputs.device)
    return (outputs[:, 0] - wanted).square().sum()


def span_loss(outputs: Tensor, counts: Sequence[int], targets: Sequence[Sequence[int]]) -> Tensor:
    """Return the sum over windows of the mean cross-entropy of start and end.

    outputs: (sum of counts, 2). counts: positions of each window. targets: start and end among them.
    """
    bounds = (0, *accumulate(counts))
    losses = [
        F.cross_entropy(outputs[a:b].T, torch.tensor(target, device=outputs.device))
        for a, b, target in zip(bounds, bounds[1:], targets, strict=False)
    ]
    return torch.stack(losses).sum()
