"""Supervised contrastive loss (Khosla et al. 2020, equation 2; SciRepEval's code)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def supervised_contrastive(vectors: Tensor, labels: Tensor, *, temperature: float = 0.3) -> Tensor:
    """Return the mean over texts of -sum of log p over the other texts of the same class.

    vectors: (B, D), scaled to length 1 here. labels: (B,). p is the softmax of the cosines over
    `temperature`, over all other texts. The sum is divided by the size of the class, the text itself counted,
    as in SciRepEval's code; equation 2 divides by the others. A text alone in its class adds 0.
    """
    unit = F.normalize(vectors, dim=-1)
    self_mask = torch.eye(len(unit), dtype=torch.bool, device=unit.device)
    log_p = (unit @ unit.T / temperature).masked_fill(self_mask, -torch.inf).log_softmax(dim=-1)
    same_class = (labels[:, None] == labels[None, :]) & ~self_mask
    return -(log_p.masked_fill(~same_class, 0.0).sum(dim=1) / (same_class.sum(dim=1) + 1)).mean()
