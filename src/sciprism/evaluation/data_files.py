"""The files that the settings of a custom task lead to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.evaluation.result_packs import is_pack, scores_path
from sciprism.files import sha256

PATHS = ("data", "papers", "queries", "qrels", "labels", "reviewers", "ratings", "signatures")
"""Keys that name files or folders, relative to the TOML file."""


def resolve_paths(
    settings: Mapping[str, Any], folder: Path, where: str
) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Return a layout's settings with absolute paths, and each file that they lead to with its SHA-256."""
    found = dict(settings)
    files: dict[str, str] = {}
    for key in [key for key in PATHS if settings.get(key)]:
        names = settings[key] if isinstance(settings[key], list) else [settings[key]]
        paths = [folder.absolute() / str(name) for name in names]
        for name, path in zip(names, paths, strict=True):
            if not path.exists():
                raise InputError(f"{where}: {key} is {name!r}, but there is no {path}")
            for file in _list_files(path):
                files[str(Path(str(name)) / file.relative_to(path))] = sha256(file)
        found[key] = [str(path) for path in paths] if isinstance(settings[key], list) else str(paths[0])
    return found, tuple(sorted(files.items()))


def _list_files(path: Path) -> list[Path]:
    """Return the file, or all files of the folder except hidden ones and results written there."""
    if path.is_file():
        return [path]
    written = {item.parent.parent for item in path.rglob("items/*.npz")}
    for pack in filter(is_pack, path.rglob("*.json")):
        written |= {pack, scores_path(pack)}
    found = [item for item in path.rglob("*") if item.is_file() and not written & {item, *item.parents}]
    return [item for item in found if not any(part[0] == "." for part in item.relative_to(path).parts)]
