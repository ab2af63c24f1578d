"""Weights in a quarter of their size: int8 matrices with a scale for each row, for models that travel."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from sciprism.errors import InputError

COMPACT = "model.int8.safetensors"
"""A name that other libraries do not look for: they would take the numbers as they are."""
SCALE = ".scale"
STEPS = 127


def write_compact(state: dict[str, Tensor], folder: Path) -> None:
    """Write weights: what has rows as int8 (absolute largest of a row: 127), vectors as they are."""
    kept: dict[str, Tensor] = {}
    for name, weight in state.items():
        if weight.dim() < 2:
            kept[name] = weight.contiguous()
            continue
        scale = (
            weight.float().abs().amax(dim=-1, keepdim=True).clamp_min(torch.finfo(torch.float32).tiny) / STEPS
        )
        kept[name] = (weight.float() / scale).round().to(torch.int8).contiguous()
        kept[name + SCALE] = scale.squeeze(-1).contiguous()
    save_file(kept, folder / COMPACT, metadata={"format": "pt"})


def restored(tensors: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Return float32 weights. path: of the file, for what is said of it."""
    found = {}
    for name, weight in tensors.items():
        if weight.dtype == torch.int8:
            scale = tensors.get(name + SCALE)
            if scale is None or scale.shape != weight.shape[:-1]:
                raise InputError(f"{path}: {name} has no scale for each of its rows; damaged")
            found[name] = weight.float() * scale[..., None]
        elif not (name.endswith(SCALE) and name.removesuffix(SCALE) in tensors):
            found[name] = weight
    return found
