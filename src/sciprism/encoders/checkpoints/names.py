"""From the name of a model to a folder of ours or of sentence-transformers, converted where it is another's.

A name that ends in `.ckpt` is a checkpoint of SciMult; adapters, control codes and PALs are recognised by
their names or by the files in their folders.
"""

from __future__ import annotations

from pathlib import Path

from sciprism.encoders.checkpoints import adapter_sets, foreign, scimult
from sciprism.encoders.checkpoints.family import MEMBERS
from sciprism.encoders.checkpoints.locate import (
    DEFAULT_MODEL,
    existing_path,
    file_from_hub,
    is_hub_file,
    locate,
)
from sciprism.errors import InputError

CHECKPOINT = ".ckpt"


def resolve(name: str | None, *, weights: bool = True) -> tuple[str, Path]:
    """Return the model's full name and its folder; downloads only what no local place has.

    name: None for the default model, a folder, a packaged model's short name, a hub id such as
    `allenai/specter`, or a checkpoint such as `yuz9yuz/SciMult/scimult_moe.ckpt`. weights: False where the
    shape and the tokenizer are enough, of adapters their base's. Raises InputError saying where was looked.
    """
    name = DEFAULT_MODEL if name is None else name
    if not name:
        raise InputError(f"the model's name is empty; leave it out for the default, {DEFAULT_MODEL}")
    path = existing_path(name)
    if not weights or (path is not None and path.is_dir()):
        full_name, folder = locate(name, weights=weights)
        return full_name, foreign.converted(folder, folder.resolve().name) if weights else folder
    if name.endswith(CHECKPOINT) and (path is not None or is_hub_file(name)):
        return name, scimult.convert(path or file_from_hub(name))
    if name in MEMBERS:
        return name, adapter_sets.convert_named(name)
    full_name, folder = locate(name)
    return full_name, foreign.converted(folder, name)
