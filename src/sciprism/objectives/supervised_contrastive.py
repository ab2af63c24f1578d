"""Supervised contrastive loss (Khosla et al. 2020, equation 2; SciRepEval's code): classes attract."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def supervised_contrastive(vectors: Tensor, labels: Tensor, *, temperature: float = 0.3) -> Tensor:
    """Return the mean over all texts of minus the sum, over the others of a text's class, of log shares.

    vectors: (B, D), scaled to length 1 here. labels: (B,). A share is exp(s / t) of the sum of it over all
    other texts, s the cosines. The sum is divided by the texts of the class, the text itself counted, as in
    SciRepEval's code; equation 2 divides by the others. A text alone in its class adds 0.
    """
    unit = F.normalize(vectors, dim=-1)
    itself = torch.eye(len(unit), dtype=torch.bool, device=unit.device)
    log_share = (unit @ unit.T / temperature).masked_fill(itself, -torch.inf).log_softmax(dim=-1)
    alike = (labels[:, None] == labels[None, :]) & ~itself
    return -(log_share.masked_fill(~alike, 0.0).sum(dim=1) / (alike.sum(dim=1) + 1)).mean()
