"""AdamW over the parameters of a model, in groups that decay and learn at their own rates."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

import torch
from torch import nn

from sciprism.training.recipe import Optimiser

_BLOCK = re.compile(r"(?:^|\.)blocks\.(\d+)\.")


def adamw(named: Iterable[tuple[str, nn.Parameter]], settings: Optimiser, layers: int) -> torch.optim.AdamW:
    """Make AdamW for the parameters that are trained.

    Biases and norms do not decay. With a layer decay d the rate is lr * d^(layers + 2 - depth), where the
    embeddings have depth 0, block n depth n + 1 and all else learns at the full rate (TASER's rule). Each
    group keeps its share of the rate in `share`.
    """
    groups: dict[tuple[float, float], list[nn.Parameter]] = defaultdict(list)
    for name, parameter in named:
        if parameter.requires_grad:
            decay = settings.weight_decay if parameter.ndim > 1 else 0.0
            groups[_share(name, settings.layer_decay, layers), decay].append(parameter)
    return torch.optim.AdamW(
        [
            {"params": parameters, "weight_decay": decay, "lr": settings.lr, "share": share}
            for (share, decay), parameters in groups.items()
        ],
        betas=settings.betas,
        eps=settings.eps,
        fused=True,
    )


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Give each group its share of a learning rate."""
    for group in optimiser.param_groups:
        group["lr"] = rate * group["share"]


def _share(name: str, decay: float, layers: int) -> float:
    found = _BLOCK.search(name)
    if found:
        depth = int(found[1]) + 1
    elif "embeddings." in name:
        depth = 0
    else:
        return 1.0
    return float(decay ** (layers + 2 - depth)) if decay < 1 else 1.0
