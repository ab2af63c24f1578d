"""Resolve the name of a model to a folder of ours or of sentence-transformers; convert other layouts first.

A name that ends in `.ckpt` is a checkpoint of SciMult; adapters, control codes and PALs are recognised by
their names or by the files in their folders.
"""

from __future__ import annotations

from pathlib import Path

from sciprism.encoders.checkpoints import adapter_sets, control_codes, pals, scimult
from sciprism.encoders.checkpoints.locate import (
    DEFAULT_MODEL,
    existing_path,
    file_from_hub,
    is_hub_file,
    locate,
)
from sciprism.encoders.checkpoints.released_models import RELEASED_MODELS
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
    path = existing_path(name)
    if path is not None and path.is_dir():
        return str(path), convert_folder(path, path.resolve().name)
    if name.endswith(".ckpt") and (path is not None or is_hub_file(name)):
        return name, scimult.convert(path or file_from_hub(name))
    if name in RELEASED_MODELS:
        return name, adapter_sets.convert_named(name)
    full_name, folder = locate(name)
    return full_name, convert_folder(folder, name)


def convert_folder(folder: Path, title: str) -> Path:
    """Return the folder, or the model folder that it was converted to, called title there.

    Converted are AdapterHub's folders, SciRepEval's PALs and control codes; a folder of ours or of
    sentence-transformers is returned as it is.
    """
    if any((folder / file).exists() for file in ("sciprism.json", "modules.json")):
        return folder
    adapters = adapter_sets.convert_folder(folder, title)
    if adapters is not None:
        return adapters
    if pals.has_pals(folder):
        return pals.convert(folder, title)
    return control_codes.convert(folder, title) if control_codes.has_codes(folder) else folder
