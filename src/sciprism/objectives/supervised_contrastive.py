"""Supervised contrastive loss (Khosla et al. 2020, equation 2): texts of one class attract each other."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def supervised_contrastive(vectors: Tensor, labels: Tensor, *, temperature: float = 0.3) -> Tensor:
    """Return the mean over texts that share their class with another one of the batch; 0 where none does.

    vectors: (B, D), scaled to length 1 here. labels: (B,). For a text: minus the mean over the others of its
    class of log(exp(s / t) / sum over all other texts of exp(s / t)), s the cosines.
    """
    unit = F.normalize(vectors, dim=-1)
    itself = torch.eye(len(unit), dtype=torch.bool, device=unit.device)
    log_share = (unit @ unit.T / temperature).masked_fill(itself, -torch.inf).log_softmax(dim=-1)
    alike = (labels[:, None] == labels[None, :]) & ~itself
    count = alike.sum(dim=1)
    mean = log_share.masked_fill(~alike, 0.0).sum(dim=1) / count.clamp_min(1)
    return -mean.sum() / (count > 0).sum().clamp_min(1)
