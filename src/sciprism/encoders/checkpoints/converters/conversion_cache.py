"""The cache of model folders that are converted from other layouts, each once."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

from safetensors import SafetensorError

from sciprism.checksums import CHECKSUMS_NAME, check_folder, write_checksums
from sciprism.encoders.checkpoints.folder import LAYOUT
from sciprism.errors import DamagedCacheWarning, DamagedFileError, InputError
from sciprism.files import cache_folder, replace_folder


def convert_once(source: str | Path, facts: object, write: Callable[[Path], None]) -> Path:
    """Return the folder that `write` fills, from the cache if it was written before.

    source: the name of what is converted, for the folder's name and for messages. facts: all that decides the
    content. The folder is written atomically, also by several processes. A damaged one is made again, with a
    warning.
    """
    key = hashlib.sha256(f"{facts}|{LAYOUT}".encode()).hexdigest()[:16]
    stem = re.sub(r"[^\w.-]+", "-", Path(source).stem).strip("-")
    folder = cache_folder() / "converted" / f"{stem}-{key}"
    if folder.exists() and _is_intact(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{stem}-", dir=folder.parent))
        try:
            write(draft)
            write_checksums(draft)
            draft.chmod(0o755)
            replace_folder(folder, draft)
        except OSError:
            if not folder.exists():  # else another process was faster
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except (OSError, SafetensorError) as error:
        where = f"{source}: cannot be converted in {folder.parent}; set SCIPRISM_CACHE to another folder"
        raise InputError(f"{where}: {error}") from error
    return folder


def _is_intact(folder: Path) -> bool:
    """Return whether a folder has checksums and agrees with them; warn where it differs."""
    try:
        check_folder(folder)
    except DamagedFileError:
        warnings.warn(DamagedCacheWarning(f"{folder} is damaged; the model is converted again"), stacklevel=2)
        return False
    return (folder / CHECKSUMS_NAME).exists()


def describe_files(*folders: Path) -> list[tuple[object, ...]]:
    """Return path, size and time of all files in the folders."""
    files = [path for folder in folders for path in sorted(folder.iterdir()) if path.is_file()]
    return [(path.resolve(), path.stat().st_size, path.stat().st_mtime_ns) for path in files]
