"""What new weights are before training: BERT's start, drawn from torch's generator, which a seed sets."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

T = TypeVar("T", bound=nn.Linear | nn.Embedding)
DEVIATION = 0.02


def started(module: T) -> T:
    """Return the module with normal weights of deviation 0.02 and a bias of zero."""
    if module.weight.is_meta:
        return module  # there is nothing to fill, and torch would import its compiler for it (1 s)
    nn.init.normal_(module.weight, std=DEVIATION)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    return module


def table(rows: int, width: int) -> nn.Embedding:
    """Make an embedding table with BERT's start."""
    return started(nn.Embedding(rows, width, _weight=torch.empty(rows, width)))


def start_maps(module: nn.Module) -> None:
    """Give every linear map inside of a module its start."""
    for each in module.modules():
        if isinstance(each, nn.Linear):
            started(each)
