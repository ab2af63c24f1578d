"""InfoNCE against both queries and passages: four sums in the denominator (INDUS, section 3.3; GTE)."""

from __future__ import annotations

import torch
from torch import Tensor


def four_sum_contrastive(
    queries: Tensor,
    positives: Tensor,
    negatives: Tensor | None = None,
    *,
    temperature: float = 1.0,
    count_pair_twice: bool = True,
) -> Tensor:
    """Return the mean over pairs of -log(e^s / Z), s the score of a query and its passage over `temperature`.

    queries, positives: (B, D), row i of both belong together. negatives: (N, D), shared by all. Z is, for
    pair i, the sum over query i with every passage, passage i with every query, query i with the other
    queries, passage i with the other passages; hard negatives are passages in the first and the last.
    count_pair_twice: the pair itself is in both of the first two sums, as published; else in one. Scores are
    dot products; for cosines give vectors of length 1.
    """
    queries, positives = queries.float(), positives.float()
    passages = positives if negatives is None else torch.cat([positives, negatives.float()])
    same_pair = torch.eye(len(queries), dtype=torch.bool, device=queries.device)
    forward = queries @ passages.T / temperature
    backward = forward[:, : len(queries)].T
    between_queries = (queries @ queries.T / temperature).masked_fill(same_pair, -torch.inf)
    between_passages = positives @ passages.T / temperature
    same = torch.cat([same_pair, same_pair.new_zeros(len(same_pair), len(passages) - len(same_pair))], dim=1)
    between_passages = between_passages.masked_fill(same, -torch.inf)
    if not count_pair_twice:
        backward = backward.masked_fill(same_pair, -torch.inf)
    scores = torch.cat([forward, backward, between_queries, between_passages], dim=1)
    return (scores.logsumexp(dim=1) - forward.diagonal()).mean()
