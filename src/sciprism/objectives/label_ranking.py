"""Each label of a paper against all labels that the paper lacks: a softmax over a whole vocabulary.

Extreme classification as ranked in SciMult. In-batch contrast (its equation 2) sees few of thousands of
labels, each as often as papers have it, and so unlearns which are frequent (Yi et al. 2019).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


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
