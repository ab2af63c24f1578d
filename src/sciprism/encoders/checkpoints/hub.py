"""Fetch models, adapters and files from the hub; what its local cache holds is not fetched again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from sciprism.encoders.checkpoints.model_files import ADAPTER_CONFIG, ADAPTER_WEIGHTS
from sciprism.errors import InputError

# Files fetched from a hub; weights as safetensors, or as .bin where there are no others.
SETTINGS = ("*.json", "*.txt", "*.md")
SAFE_WEIGHTS, PICKLED_WEIGHTS, PICKLED_ADAPTER = "*.safetensors", "pytorch_model*.bin", "pytorch_adapter.bin"
ELSEWHERE = ("onnx/*", "openvino/*", "*.onnx", "coreml/*")
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json")


def model_from_hub(name: str, *, weights: bool) -> Path:
    """Return the folder of a repository with a model, or with an adapter, which has no config.json."""

    def enough(folder: Path) -> bool:
        if not (folder / "config.json").exists():
            return weights and _has_adapter(folder)
        if not weights:
            return any((folder / file).exists() for file in TOKENIZERS)
        return any(any(folder.glob(each)) for each in (SAFE_WEIGHTS, PICKLED_WEIGHTS)) or _has_adapter(folder)

    pickled = [*SETTINGS, SAFE_WEIGHTS, PICKLED_WEIGHTS, PICKLED_ADAPTER]
    return _snapshot(name, enough, [[*SETTINGS, SAFE_WEIGHTS], pickled] if weights else [[*SETTINGS]])


def adapter_from_hub(name: str) -> Path:
    """Return the folder of an adapter's repository; one without an adapter is an InputError."""
    folder = _snapshot(name, _has_adapter, [[*SETTINGS, SAFE_WEIGHTS], [*SETTINGS, PICKLED_ADAPTER]])
    if not _has_adapter(folder):
        raise InputError(f"{name}: {folder} holds no {ADAPTER_CONFIG} with weights; not an adapter")
    return folder


def file_from_hub(name: str) -> Path:
    """Return a file of a hub's repository; name: `owner/repository/file`."""
    from huggingface_hub import hf_hub_download

    repository, file = name.rsplit("/", 1)
    return _download(f"{name} is no file", partial(hf_hub_download, repository, file), [{}], Path.exists)


def _snapshot(name: str, enough: Callable[[Path], bool], patterns: list[list[str]]) -> Path:
    """Return a repository's folder: from the cache if that has enough, else by downloading the patterns."""
    from huggingface_hub import snapshot_download

    wanted = [{"allow_patterns": each, "ignore_patterns": list(ELSEWHERE)} for each in patterns]
    return _download(f"{name} is no folder", partial(snapshot_download, name), wanted, enough)


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


def _has_adapter(folder: Path) -> bool:
    return (folder / ADAPTER_CONFIG).exists() and any((folder / file).exists() for file in ADAPTER_WEIGHTS)
