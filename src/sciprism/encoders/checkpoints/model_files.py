"""The files of a model's name: what `locate.py` finds, and `converters/` convert."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sciprism.formats import Format

CHECKPOINT = ".ckpt"
"""The suffix of a model in one file."""
ADAPTER_CONFIG = "adapter_config.json"
ADAPTER_WEIGHTS = ("adapter.safetensors", "adapter_model.safetensors", "pytorch_adapter.bin")
"""The files of an adapter; one of the weights is enough."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model as published.

    name: its full name. title: its name in provenance. path: its folder, or the file of a checkpoint.
    adapters: route -> (name, folder) of an adapter; only for a released family, whose base has the `path`.
    """

    name: str
    title: str
    path: Path
    adapters: Mapping[Format, tuple[str, Path]] = field(default_factory=dict)


class LocateModel(Protocol):
    """A function that finds a model which other files name as their base."""

    def __call__(self, name: str, *, weights: bool = True) -> tuple[str, Path]:
        """Return the full name and the folder; weights: False where config and tokenizer are enough."""
