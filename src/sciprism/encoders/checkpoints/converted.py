"""Model folders of our layout made from other people's files: once, and kept in the cache."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from sciprism.encoders.checkpoints.folder import LAYOUT
from sciprism.encoders.checkpoints.torch_files import read_torch_file
from sciprism.errors import InputError
from sciprism.files import cache_folder


def kept(what: str | Path, facts: object, write: Callable[[Path], None]) -> Path:
    """Return the folder that `write` fills, from the cache where it was written before.

    what: the name of what is converted, for the folder's and for messages. facts: all that decides the
    content. A folder appears whole or not at all, however many processes make it.
    """
    key = hashlib.sha256(f"{facts}|{LAYOUT}".encode()).hexdigest()[:16]
    stem = re.sub(r"[^\w.-]+", "-", Path(what).stem).strip("-")
    folder = cache_folder() / "converted" / f"{stem}-{key}"
    if folder.exists():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{stem}-", dir=folder.parent))
        try:
            write(draft)
            draft.chmod(0o755)
            draft.rename(folder)
        except OSError:
            if not folder.exists():  # else another process was faster
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        where = f"{what}: cannot be converted in {folder.parent}; set SCIPRISM_CACHE to another folder"
        raise InputError(f"{where}: {error}") from error
    return folder


def facts_of(*folders: Path) -> list[tuple[object, ...]]:
    """Return path, size and time of all files that lie in the folders."""
    files = [path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]
    return [(path.resolve(), path.stat().st_size, path.stat().st_mtime_ns) for path in files]


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, or of one that torch saved, of which nothing is executed."""
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except (SafetensorError, OSError) as error:
            raise InputError(f"{path}: damaged or not safetensors: {error}") from error
    saved = read_torch_file(path)
    if not isinstance(saved, dict):
        raise InputError(f"{path}: holds a {type(saved).__name__}, not named tensors")
    wrong = [name for name, tensor in saved.items() if not isinstance(tensor, Tensor)]
    if wrong:
        raise InputError(f"{path}: {wrong[0]} is no tensor")
    return {str(name): tensor.clone() for name, tensor in saved.items()}  # the file stays mapped no longer
