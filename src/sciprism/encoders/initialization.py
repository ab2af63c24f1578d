"""BERT's initialization of new weights, sampled from torch's global generator."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

T = TypeVar("T", bound=nn.Linear | nn.Embedding)
DEVIATION = 0.02


def initialize_weights(module: T) -> T:
    """Return the module with normal weights of standard deviation 0.02 and zero bias."""
    if module.weight.is_meta:
        return module  # nothing to fill, and torch would import its compiler (1 s)
    nn.init.normal_(module.weight, std=DEVIATION)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
    return module


def build_embedding(rows: int, width: int) -> nn.Embedding:
    """Return an embedding table with BERT's initialization."""
    return initialize_weights(nn.Embedding(rows, width, _weight=torch.empty(rows, width)))


def initialize_linears(module: nn.Module) -> None:
    """Initialize every linear map inside a module."""
    for linear in module.modules():
        if isinstance(linear, nn.Linear):
            initialize_weights(linear)
