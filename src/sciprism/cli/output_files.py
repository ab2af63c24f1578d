"""Check where a command writes, before its work."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sciprism.errors import InputError


def check_outputs(outputs: Iterable[Path], inputs: Iterable[str | Path]) -> None:
    """Raise InputError for an output that is a folder, or that the command reads too, itself or its folder."""
    from sciprism.papers.input_paths import find_local_paths

    read = [(str(each), path.resolve()) for each in inputs for path in find_local_paths(each)]
    for output in outputs:
        if output.is_dir():
            raise InputError(f"{output} is a folder; name a file such as {output / 'out.csv'}")
        place = output.resolve()
        for name, path in read:
            if place == path or (path.is_dir() and path in place.parents):
                raise InputError(f"{output} is also read, as {name}; name another file to write")
