"""Compact weights, a quarter of the size: int8 matrices with one scale per row."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from sciprism.errors import InputError

COMPACT = "model.int8.safetensors"
"""A file name that other libraries ignore: they would use the int8 values as weights."""
SCALE = ".scale"
MAX_INT8 = 127


def write_compact(state: dict[str, Tensor], folder: Path) -> None:
    """Write matrices as int8, the absolute maximum of a row as 127, and vectors unchanged."""
    tensors: dict[str, Tensor] = {}
    for name, weight in state.items():
        if weight.dim() < 2:
            tensors[name] = weight.contiguous()
            continue
        scale = weight.float().abs().amax(dim=-1, keepdim=True).clamp_min(torch.finfo(torch.float32).tiny) / MAX_INT8
        tensors[name] = (weight.float() / scale).round().to(torch.int8).contiguous()
        tensors[name + SCALE] = scale.squeeze(-1).contiguous()
    save_file(tensors, folder / COMPACT, metadata={"format": "pt"})


def dequantize(tensors: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """Return float32 weights; path: the file's, for error messages."""
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
