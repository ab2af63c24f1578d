"""In-batch contrastive loss with hard negatives (SciMult, equation 2; DPR)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def in_batch_contrastive(
    queries: Tensor,
    positives: Tensor,
    negatives: Tensor | None = None,
    *,
    temperature: float = 1.0,
    known_positives: Tensor | None = None,
) -> Tensor:
    """Return the cross-entropy of each query against its own positive among all candidates of the batch.

    queries, positives: (B, D), row i of both belong together. negatives: (N, D), the batch's hard negatives,
    shared by all its queries; the other queries' positives are negatives too. Scores are dot products over
    `temperature` (SciMult: 1); for cosines give vectors of length 1. known_positives: (B, B + N) bool,
    candidates that are no negatives of a query; its own positive stays. Returns the mean over B.
    """
    candidates = positives if negatives is None else torch.cat([positives, negatives])
    scores = queries @ candidates.T / temperature
    targets = torch.arange(len(queries), device=queries.device)
    if known_positives is not None:
        others = known_positives.clone()
        others[targets, targets] = False
        scores = scores.masked_fill(others, -torch.inf)
    return F.cross_entropy(scores, targets)
