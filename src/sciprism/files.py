"""Write files so that a reader, or the next run after a crash, sees all of a file or none of it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from sciprism.errors import InputError

UNFINISHED = ".part"
LOCK_NAME = ".lock"


def commit(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside its place, force it to the disk, put it there in one step; or leave nothing."""
    part = path.with_name(path.name + UNFINISHED)
    with said_plainly(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def write_json(path: Path, value: Any, *, indent: int | None = 1) -> None:
    """Write JSON as `commit` writes bytes; half a pair of surrogates becomes a question mark."""
    text = json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    commit(path, lambda file: file.write(text.encode("utf-8", "replace")))


def write_lines(path: Path, lines: Iterable[str], *, errors: str = "strict") -> int:
    """Write lines as `commit` writes bytes, one at a time; return how many."""
    count = 0

    def write(file: BinaryIO) -> None:
        nonlocal count
        for line in lines:
            file.write(line.encode("utf-8", errors) + b"\n")
            count += 1

    commit(path, write)
    return count


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":  # elsewhere a folder cannot be opened, and renames are journalled
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def said_plainly(path: Path) -> Iterator[None]:
    """Say which file could not be written: InputError for a place not allowed, OSError for a full disk."""
    try:
        yield
    except (PermissionError, NotADirectoryError, FileExistsError, FileNotFoundError) as error:
        raise InputError(
            f"cannot write {path}: {error.strerror}; name a folder that you may write to"
        ) from error
    except OSError as error:
        raise OSError(
            f"cannot write {path}: {error.strerror or error}; what was committed before is kept: "
            "free some space, and the same command continues"
        ) from error


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; the system frees it when its process ends, however that ends."""
    with said_plainly(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK_NAME, timeout=0)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(
                f"{folder} is being written by another sciprism process; wait until it ends"
            ) from None
    try:
        yield
    finally:
        lock.release()


def sha256(path: Path) -> str:
    """Return the checksum of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cache_folder() -> Path:
    """Return where this library keeps what it can make again: SCIPRISM_CACHE or the user's cache folder."""
    chosen = os.environ.get("SCIPRISM_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sciprism"
