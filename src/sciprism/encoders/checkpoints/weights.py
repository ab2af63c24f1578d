"""Read weights from a model folder without executing code that a file names."""

from __future__ import annotations

import hashlib
import os
import warnings
from contextlib import suppress
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from sciprism.checksums import hash_file
from sciprism.encoders.checkpoints.compact import COMPACT, dequantize
from sciprism.encoders.checkpoints.torch_files import read_torch_file
from sciprism.errors import DamagedCacheWarning, InputError
from sciprism.files import cache_folder, describe_wrong_path
from sciprism.text.tokenizer import read_json

OTHER_WEIGHTS = {
    ".safetensors": "safetensors",
    ".bin": "PyTorch",
    ".pt": "PyTorch",
    ".pth": "PyTorch",
    ".ckpt": "a checkpoint",
    ".h5": "Keras",
    ".msgpack": "Flax",
    ".ot": "Rust",
    ".onnx": "ONNX",
    ".gguf": "llama.cpp",
    ".tflite": "TensorFlow Lite",
    ".index": "TensorFlow",
}
"""Suffix of files with weights -> whose."""
MAX_LISTED = 8


def read_weights(folder: Path) -> dict[str, Tensor]:
    """Return all tensors of the folder by name, from safetensors or, where there are none, from `.bin`.

    Both may be sharded with an index file. A `.bin` is cached as safetensors, with the checksum in the file's
    name; one that names code is refused. Our own compact weights are returned as float32.
    """
    compact = folder / COMPACT
    if compact.exists():
        return dequantize(_read_safetensors(compact), compact)
    for stem, read in (("model.safetensors", _read_safetensors), ("pytorch_model.bin", _read_pickled)):
        if (folder / stem).exists():
            return read(folder / stem)
        index = folder / f"{stem}.index.json"
        if index.exists():
            shard_of = read_json(index).get("weight_map")
            if not isinstance(shard_of, dict) or not shard_of:
                raise InputError(f"{index}: names no weight files")
            names = sorted({str(name) for name in shard_of.values()})
            for name in names:
                if Path(name).name != name or not (folder / name).exists():
                    raise InputError(f"{folder}: the weight index names {name!r}, which is not in the folder")
            return {key: tensor for name in names for key, tensor in read(folder / name).items()}
    raise InputError(f"{folder}: no weights; looked for model.safetensors and pytorch_model.bin{_list_others(folder)}")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file of safetensors or of torch; no code in it is executed."""
    if path.suffix == ".safetensors":
        return _read_safetensors(path)
    saved = read_torch_file(path)
    if not isinstance(saved, dict):
        raise InputError(f"{path}: holds a {type(saved).__name__}, not named tensors")
    if wrong := [name for name, tensor in saved.items() if not isinstance(tensor, Tensor)]:
        raise InputError(f"{path}: {wrong[0]} is no tensor")
    return {str(name): tensor.detach().clone() for name, tensor in saved.items()}  # clones need no mapped file


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: {_wrong(path) or f'damaged or not safetensors: {error}'}") from error


def _read_pickled(path: Path) -> dict[str, Tensor]:
    state = path.stat()
    key = hashlib.sha256(f"{path.resolve()}|{state.st_size}|{state.st_mtime_ns}".encode()).hexdigest()[:32]
    cache = cache_folder() / "converted"
    for known in sorted(cache.glob(f"{key}-*.safetensors")):
        if known.stem == f"{key}-{hash_file(known)}":
            return _read_safetensors(known)
        warnings.warn(DamagedCacheWarning(f"{known} is damaged; {path} is converted again"), stacklevel=2)
        known.unlink(missing_ok=True)
    loaded = read_torch_file(path)
    if not isinstance(loaded, dict):
        raise InputError(f"{path}: holds a {type(loaded).__name__}, not named tensors")
    tensors = {str(k): v.to_dense().contiguous().clone() for k, v in loaded.items() if isinstance(v, Tensor)}
    with suppress(OSError, SafetensorError):  # without a cache, the next load converts again
        cache.mkdir(parents=True, exist_ok=True)
        draft = cache / f"{key}.{os.getpid()}"
        save_file(tensors, draft)
        draft.replace(cache / f"{key}-{hash_file(draft)}.safetensors")
    return tensors


def _list_others(folder: Path) -> str:
    """Return the files with weights under other names, in subfolders too, and how a model gets the right ones."""
    found = [path for path in sorted(folder.glob("**/*")) if path.suffix in OTHER_WEIGHTS and path.is_file()]
    if not found:
        return "; there are no other weight files in it: was the download complete?"
    names = [f"{path.relative_to(folder).as_posix()} ({OTHER_WEIGHTS[path.suffix]})" for path in found]
    more = f" and {len(names) - MAX_LISTED:,} more" if len(names) > MAX_LISTED else ""
    return (
        f"; it holds other weights: {', '.join(names[:MAX_LISTED])}{more}; rename a file of the same layout, "
        "or save the model as safetensors with the library that wrote it"
    )


def _wrong(path: Path) -> str:
    return describe_wrong_path(path, binary=True)
