"""FAISS: its import, its distances, and its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sciprism.errors import DamagedFileError, MissingExtraError
from sciprism.files import explain_write_errors


def import_faiss() -> Any:
    """Return the package; MissingExtraError where it is not installed."""
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("scale", "approximate search") from None
    return faiss


def metric_of(distance: str) -> int:
    """Return the metric of a distance; vectors of cosines are normalised."""
    faiss = import_faiss()
    metric: int = faiss.METRIC_L2 if distance == "euclidean" else faiss.METRIC_INNER_PRODUCT
    return metric


def write_index(index: Any, path: Path) -> None:
    """Write an index under a temporary name, flush it to the disk, and rename it."""
    part = path.with_name(path.name + ".part")
    with explain_write_errors(path):
        try:
            import_faiss().write_index(index, str(part))
        except RuntimeError as error:  # faiss has no other error
            raise OSError(str(error)) from error
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        part.replace(path)


def read_index(path: Path, flags: int = 0) -> Any:
    """Read an index. Raises DamagedFileError where FAISS cannot."""
    try:
        return import_faiss().read_index(str(path), flags)
    except RuntimeError:
        raise DamagedFileError(f"{path} is missing or damaged") from None
