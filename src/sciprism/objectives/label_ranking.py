"""Each label of a paper against all that it does not carry: a softmax over a whole vocabulary.

Extreme classification as SciMult ranks it. In-batch contrast (its equation 2) sees few of thousands of
labels, each as often as papers carry it, so that it unlearns which are frequent (Yi et al. 2019).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def label_ranking(
    papers: Tensor, labels: Tensor, carried: Tensor, *, temperature: float = 1.0, counts: Tensor | None = None
) -> Tensor:
    """Return the cross-entropy of a paper's labels, each against itself and those that the paper lacks.

    papers: (B, D). labels: (L, D), each once. carried: (B, L) bool, at least one in every row. Scores are dot
    products over `temperature`; for cosines give vectors of length 1. counts: for how many labels each stands
    where a paper lacks it, (L,): if some of a vocabulary are drawn, the sum over all is estimated without
    bias. Returns the mean over the labels of a paper, then over papers.
    """
    scores = papers @ labels.T / temperature
    lowest = torch.finfo(scores.dtype).min  # not -inf: a paper that carries all has a gradient too
    counted = scores if counts is None else scores + counts.log()
    others = counted.masked_fill(carried, lowest).logsumexp(dim=1, keepdim=True)
    losses = F.softplus(others - scores).masked_fill(~carried, 0.0)
    return (losses.sum(dim=1) / carried.sum(dim=1)).mean()
