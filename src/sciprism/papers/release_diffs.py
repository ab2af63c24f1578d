"""Differences of Semantic Scholar's releases: the files that add and change papers, and those that delete them.

A difference is the answer of the datasets API to `/diffs/START/to/END/papers`, saved as a `.json` file, and the files
that it names. It names them in the order in which they apply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sciprism.errors import InputError
from sciprism.papers.input_file import FilePath, InputFile

DATASET = "papers"
"""The data set whose records are papers."""

_DIFF = re.compile(r"""\A\s*\{(?=.*"diffs"\s*:\s*\[)(?=.*"(start|from)_release"\s*:)""", re.DOTALL)


def is_release_diff(file: InputFile) -> bool:
    """Say whether a file is a saved difference."""
    return file.name.endswith(".json") and file.path.is_file() and _DIFF.match(file.head()) is not None


def expand_diffs(files: Sequence[tuple[InputFile, str]]) -> list[tuple[InputFile, str]]:
    """Put in the place of each difference the files that it names; they are not read a second time.

    files: with the name of each in the folder that was named. Raises InputError for a difference of another data set,
    with a gap between releases, or that names a file which is not there.
    """
    diffs = {number: _read_diff(file) for number, (file, _) in enumerate(files) if is_release_diff(file)}
    if not diffs:
        return list(files)
    named = {_resolve(each) for inner in diffs.values() for each in inner}
    found: list[tuple[InputFile, str]] = []
    for number, (file, name) in enumerate(files):
        if number in diffs:
            found += [(each, each.path.name) for each in diffs[number]]
        elif _resolve(file) not in named:
            found.append((file, name))
    return found


def _resolve(file: InputFile) -> FilePath:
    return file.path.resolve() if isinstance(file.path, Path) else file.path


def _read_diff(file: InputFile) -> list[InputFile]:
    if not isinstance(file.path, Path):
        raise InputError(f"{file.path} is a difference of releases; copy it and the files that it names to a folder")
    try:
        content = json.loads("".join(file.chunks()))
        listed = [(_find_file(file.path, name), deletes) for name, deletes in _list_names(content, file.path)]
    except InputError:
        raise
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise InputError(f"{file.path} is a damaged difference of releases ({error}); fetch it again") from None
    paths = [path for path, _ in listed]
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if paths.count(path) > 1)
        raise InputError(f"{file.path} names {twice} twice; keep files of one name in folders, and write their paths")
    return [InputFile(path, encoding=file.chosen_encoding, deletes=deletes) for path, deletes in listed]


def _list_names(content: Mapping[str, Any], path: Path) -> Iterator[tuple[str, bool]]:
    """Yield the files of a difference in the order in which they apply, and whether each deletes."""
    dataset = content.get("dataset", DATASET)
    if dataset != DATASET:
        raise InputError(f"{path} is a difference of the data set {dataset!r}; papers are in {DATASET!r}")
    release = content.get("start_release")
    for diff in content["diffs"]:
        if release and diff.get("from_release", release) != release:
            raise InputError(
                f"{path}: after the release {release} it goes on from {diff['from_release']}; fetch it again"
            )
        release = diff.get("to_release")
        yield from ((name, False) for name in diff.get("update_files") or ())
        yield from ((name, True) for name in diff.get("delete_files") or ())


def _find_file(diff: Path, name: str) -> Path:
    """Return the file of a name or an address: beside the difference, or below, as far as the address says."""
    parts = [each for each in urlsplit(name).path.split("/") if each] if "://" in name else [name]
    candidates = [diff.parent.joinpath(*parts[start:]) for start in range(len(parts))]
    found = next((each for each in candidates if each.is_file()), None)
    if found is None:
        fetched = parts[-1] if parts else name
        raise InputError(
            f"{diff} names {fetched}, which is not in {diff.parent}; fetch the files that it names to there"
        )
    return found
