"""Copies of input files in a temporary folder, for readers that need more than one pass or must not lock a file."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from sciprism.errors import InputError
from sciprism.papers.input_file import InputFile

_ATTEMPTS = 3


@contextmanager
def copy_file(file: InputFile, side_suffixes: tuple[str, ...] = ()) -> Iterator[Path]:
    """Copy the decompressed bytes of a file, and the files next to it with these suffixes; removed at the end.

    A file that changes while it is copied is copied again; InputError after three attempts.
    """
    local = file.path if isinstance(file.path, Path) else None  # the bytes of an object are those of one version
    sides = [local.with_name(local.name + suffix) for suffix in side_suffixes] if local else []
    watched = [local, *sides] if local else []
    with TemporaryDirectory(prefix="sciprism-") as folder:
        copy = Path(folder) / "copy"
        for _ in range(_ATTEMPTS):
            before = _stamps(*watched)
            _copy(file, copy, sides)
            if _stamps(*watched) == before:
                break
        else:
            raise InputError(f"{file.path} changes while it is read; close the program that writes it, or try again")
        yield copy


def _copy(file: InputFile, copy: Path, sides: list[Path]) -> None:
    try:
        with file.binary() as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        for side in sides:
            target_side = copy.with_name(copy.name + side.name.removeprefix(file.path.name))
            target_side.unlink(missing_ok=True)
            if side.is_file():
                shutil.copyfile(side, target_side)
    except OSError as error:
        advice = f"{copy.parent.parent} needs the room of the file; set TMPDIR to another folder"
        raise OSError(f"{file.path} cannot be copied: {error.strerror or error}; {advice}") from error


def _stamps(*paths: Path) -> list[tuple[int, int] | None]:
    """Return time of change and size of each file, None of one that is absent or a pipe."""
    found: list[tuple[int, int] | None] = []
    for path in paths:
        try:
            status = path.stat() if path.is_file() else None
        except FileNotFoundError:
            status = None
        found.append(status and (status.st_mtime_ns, status.st_size))
    return found
