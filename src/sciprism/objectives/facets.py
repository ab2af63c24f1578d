"""Multi2SPE's loss: sums of facets, and the best pair of facets (section 3; its code)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def facet_contrast(
    queries: Tensor,
    positives: Tensor,
    negatives: Tensor,
    *,
    best_pair_weight: float = 0.1,
    mix: str = "losses",
    in_batch_negatives: bool = False,
) -> Tensor:
    """Return the mean cross-entropy of each query's positive against its negative, or against all of a batch.

    queries, positives, negatives: (B, K, D), row i of all three one triplet. Two scores: the product of
    the sums of the facets, and the largest product of two facets, without zero facets. best_pair_weight: of
    the second, lambda. mix: "losses", as in the code, weights two cross-entropies; "logits", as in the paper,
    the scores. in_batch_negatives: the other triplets' positives and negatives are negatives too.
    """
    candidates = torch.cat([positives, negatives])
    size = len(queries)
    targets = torch.arange(size, device=queries.device)
    whole, pair = queries.sum(dim=1) @ candidates.sum(dim=1).T, _best_pairs(queries, candidates)
    if not in_batch_negatives:
        whole, pair = (torch.stack([s[targets, targets], s[targets, targets + size]], dim=1) for s in (whole, pair))
        targets = torch.zeros_like(targets)
    weight = best_pair_weight
    if mix == "logits":
        return F.cross_entropy((1 - weight) * whole + weight * pair, targets)
    if mix != "losses":
        raise ValueError(f"unknown mix {mix!r}; known: losses, logits")
    return (1 - weight) * F.cross_entropy(whole, targets) + weight * F.cross_entropy(pair, targets)


def _best_pairs(queries: Tensor, candidates: Tensor) -> Tensor:
    scores = torch.einsum("qid,cjd->qcij", queries, candidates)
    real = queries.any(dim=-1)[:, None, :, None] & candidates.any(dim=-1)[None, :, None, :]
    return scores.masked_fill(~real, torch.finfo(scores.dtype).min).amax(dim=(2, 3))
