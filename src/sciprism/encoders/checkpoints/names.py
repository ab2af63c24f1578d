"""Resolve the name of a model to a folder: find its files, and convert those of other layouts."""

from __future__ import annotations

from pathlib import Path

from sciprism.encoders.checkpoints.converters.registry import convert
from sciprism.encoders.checkpoints.locate import DEFAULT_MODEL, find_model_files, locate
from sciprism.errors import InputError


def resolve(name: str | None, *, weights: bool = True) -> tuple[str, Path]:
    """Return the model's full name and its folder; downloads what is not found locally.

    name: None for the default model, a folder, a packaged model's short name, a hub id such as
    `allenai/specter`, or a checkpoint such as `yuz9yuz/SciMult/scimult_moe.ckpt`. weights: False where config
    and tokenizer are enough; of adapters those of their base. InputError says where it searched.
    """
    name = DEFAULT_MODEL if name is None else name
    if not name:
        raise InputError(f"the model's name is empty; omit it for the default, {DEFAULT_MODEL}")
    if not weights:
        return locate(name, weights=False)
    files = find_model_files(name)
    return files.name, convert(files, locate)
