"""Contrastive losses: in-batch, four sums, supervised, triplets, facets, and each label against a vocabulary."""

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
    candidates that are not negatives of a query; its own positive stays. Returns the mean over B.
    """
    candidates = positives if negatives is None else torch.cat([positives, negatives])
    scores = queries @ candidates.T / temperature
    targets = torch.arange(len(queries), device=queries.device)
    if known_positives is not None:
        others = known_positives.clone()
        others[targets, targets] = False
        scores = scores.masked_fill(others, -torch.inf)
    return F.cross_entropy(scores, targets)


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


def triplet_margin(
    queries: Tensor, positives: Tensor, negatives: Tensor, *, margin: float = 1.0, distance: str = "euclidean"
) -> Tensor:
    """Return the mean over rows of max(0, d(query, positive) - d(query, negative) + margin).

    queries, positives, negatives: (B, D). distance: euclidean (the papers'), cosine (1 - cosine) or dot
    (the product with a minus sign).
    """
    near, far = (_distance(queries, other, distance) for other in (positives, negatives))
    return F.relu(near - far + margin).mean()


def _distance(left: Tensor, right: Tensor, name: str) -> Tensor:
    if name == "euclidean":
        squares = (left - right).square().sum(dim=-1)
        return squares.clamp_min(1e-12).sqrt()  # no infinite slope where they meet
    if name == "cosine":
        return 1 - F.cosine_similarity(left, right, dim=-1)
    if name == "dot":
        return -(left * right).sum(dim=-1)
    raise ValueError(f"unknown distance {name!r}; known: euclidean, cosine, dot")


def facet_contrast(
    queries: Tensor,
    positives: Tensor,
    negatives: Tensor,
    *,
    best_pair_weight: float = 0.1,
    mix: str = "losses",
) -> Tensor:
    """Return the mean cross-entropy of each query's positive against its negative.

    queries, positives, negatives: (B, K, D), row i of all three one triplet. Two scores: the product of
    the sums of the facets, and the largest product of two facets, without zero facets. best_pair_weight: of
    the second, lambda. mix: "losses", as in the code, weights two cross-entropies; "logits", as in the paper,
    the scores.
    """
    candidates = torch.stack([positives, negatives], dim=1)
    whole = torch.einsum("bd,bcd->bc", queries.sum(dim=1), candidates.sum(dim=2))
    products = torch.einsum("bid,bcjd->bcij", queries, candidates)
    real = queries.any(dim=-1)[:, None, :, None] & candidates.any(dim=-1)[:, :, None, :]
    pair = products.masked_fill(~real, torch.finfo(products.dtype).min).amax(dim=(2, 3))
    targets = torch.zeros(len(queries), dtype=torch.long, device=queries.device)
    weight = best_pair_weight
    if mix == "logits":
        return F.cross_entropy((1 - weight) * whole + weight * pair, targets)
    if mix != "losses":
        raise ValueError(f"unknown mix {mix!r}; known: losses, logits")
    return (1 - weight) * F.cross_entropy(whole, targets) + weight * F.cross_entropy(pair, targets)


def label_ranking(
    papers: Tensor,
    labels: Tensor,
    positives: Tensor,
    *,
    temperature: float = 1.0,
    counts: Tensor | None = None,
) -> Tensor:
    """Return the cross-entropy of a paper's labels, each against itself and those that the paper lacks.

    papers: (B, D). labels: (L, D), each once. positives: (B, L) bool, at least one in every row. Scores are
    dot products over `temperature`; for cosines give vectors of length 1. counts: (L,), how many labels each
    represents as a negative: with labels sampled from a vocabulary, the sum over all is estimated without
    bias. Returns the mean over the labels of a paper, then over papers.
    """
    scores = papers @ labels.T / temperature
    lowest = torch.finfo(scores.dtype).min  # not -inf: a paper with all labels has a gradient too
    counted = scores if counts is None else scores + counts.log()
    others = counted.masked_fill(positives, lowest).logsumexp(dim=1, keepdim=True)
    losses = F.softplus(others - scores).masked_fill(~positives, 0.0)
    return (losses.sum(dim=1) / positives.sum(dim=1)).mean()
