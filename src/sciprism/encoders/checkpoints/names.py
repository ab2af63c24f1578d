"""Resolve the name of a model to a folder: find its files, and convert those of other layouts; or to its tokenizer."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer

from sciprism.encoders.checkpoints.converters.registry import convert
from sciprism.encoders.checkpoints.locate import DEFAULT_MODEL, existing_path, find_model_files, locate
from sciprism.encoders.checkpoints.model_files import CHECKPOINT
from sciprism.encoders.checkpoints.sentence_transformers import backbone_folder
from sciprism.errors import InputError
from sciprism.text.tokenizer import open_tokenizer


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


def load_tokenizer(name: str) -> Tokenizer:
    """Return the tokenizer of a model, named as for `resolve`, or of a tokenizer's file or folder.

    No weights are fetched from a hub, except of a checkpoint. InputError says where it searched.
    """
    path = existing_path(name)
    if path is not None and path.is_file() and not name.endswith(CHECKPOINT):
        return open_tokenizer(path)
    try:
        folder = resolve(name, weights=path is not None or name.endswith(CHECKPOINT))[1]
    except InputError as error:
        missing = f"{name}: no such file of a tokenizer; " if path is None else ""
        raise InputError(f"{missing}{error}") from error
    return open_tokenizer(backbone_folder(folder) if (folder / "modules.json").exists() else folder)
