"""Find input files: paths, folders, patterns, addresses of objects, and the files that a manifest lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sciprism.errors import InputError
from sciprism.papers.input_file import FilePath, InputFile, SealedFile
from sciprism.papers.remote.objects import (
    WEB,
    MissingObjectError,
    RemoteFolder,
    RemoteObject,
    find_remote,
    is_address,
    parse_address,
    show_address,
)
from sciprism.papers.snapshots import expand_manifest

Paths = Iterable[str | Path | SealedFile] | str | Path
InputPath = tuple[FilePath | RemoteFolder, str]  # a file or folder that exists, and the part that is read of a file
_PATTERN = re.compile(r"[*?[]")


def find_paths(paths: Paths) -> list[InputPath]:
    """Return the files and folders of paths, patterns and addresses. Raises InputError where there is none."""
    existing: list[InputPath] = []
    for named in [paths] if isinstance(paths, str | Path) else paths:
        if isinstance(named, SealedFile):
            existing.append((named, ""))
            continue
        if is_address(named):
            existing += _find_address(str(named))
            continue
        for path, part in map(_split_part, _match_pattern(Path(named))):
            if str(path) != "-" and not path.exists():
                raise InputError(f"{path}: no such file or folder")
            existing.append((path, part))
    return existing


def find_local_paths(path: str | Path) -> list[Path]:
    """Return the files and folders of a path or pattern on this machine; none of "", an address, standard input."""
    if is_address(path) or str(path) in ("", "-"):
        return []
    return [_split_part(match)[0] for match in _match_pattern(Path(path))]


def find_file(text: str) -> FilePath:
    """Return the one file of a path or an address."""
    if not is_address(text):
        return Path(text)
    (path, _), *others = _find_address(text)
    if isinstance(path, RemoteFolder) or others:
        raise InputError(f"{show_address(text)}: not one file; name the files")
    return path


def list_files(
    paths: Iterable[InputPath], encoding: str, reads: Callable[[InputFile], bool], ignore: Callable[[], None]
) -> Iterator[tuple[InputFile, str]]:
    """Yield the files to read, each with its path below the folder that the user named.

    A folder stands for its files for which `reads` is true; `ignore` is called for each other file. A manifest stands
    for the files that it lists. Raises InputError for a folder without a readable file, and for a manifest whose files
    are missing or of another size.
    """
    for path, part in paths:
        if isinstance(path, RemoteFolder) or (isinstance(path, Path) and path.is_dir()):
            yield from _list_folder(path, encoding, reads, ignore)
            continue
        file = InputFile(path, encoding=encoding, part=part)
        listed = [] if part else expand_manifest(file)
        for listed_path, name, records in listed:
            listed_file = InputFile(listed_path, encoding=encoding)
            listed_file.listed_records = records
            yield listed_file, name
        if not listed:
            yield file, path.name


def file_size(path: FilePath) -> int:
    """Return the bytes of a file. Raises InputError for an object whose server does not say it."""
    if not isinstance(path, RemoteObject):
        return path.stat().st_size
    if path.version.size is None:
        raise InputError(f"{path}: the server does not say how long it is, so it cannot be divided; copy it first")
    return path.version.size


def find_stamp(path: FilePath) -> str:
    """Return the time of a file's last change, or what its store says of an object's version."""
    if isinstance(path, RemoteObject):
        return path.version.tag or str(path.version.modified)
    return str(path.stat().st_mtime_ns)


def _find_address(text: str) -> list[InputPath]:
    """Return what an address stands for; `ADDRESS#PART` is a part of an object, where no object has that name."""
    address, mark, part = text.rpartition("#")
    if mark and parse_address(text).startswith(WEB):  # a server never sees what follows the mark
        return [(remote, part) for remote in find_remote(address)]
    try:
        return [(remote, "") for remote in find_remote(text)]
    except MissingObjectError:
        if not mark:
            raise
        return [(remote, part) for remote in find_remote(address)]


def _list_folder(
    path: Path | RemoteFolder, encoding: str, reads: Callable[[InputFile], bool], ignore: Callable[[], None]
) -> Iterator[tuple[InputFile, str]]:
    """Yield the readable files of a folder, those of collections excepted: `embed` may write there."""
    inside: dict[str, FilePath]
    if isinstance(path, RemoteFolder):
        inside = dict(path.files)
    else:
        files = sorted((inner for inner in path.rglob("*") if inner.is_file()), key=_reading_order)
        inside = {inner.relative_to(path).as_posix(): inner for inner in files}
    collections = tuple(
        name.removesuffix("manifest.json")
        for name, inner in inside.items()
        if inner.name == "manifest.json" and _is_our_manifest(inner)
    )
    count = 0
    for name, file_path in inside.items():
        file = InputFile(file_path, encoding=encoding)
        if not name.startswith(collections) and reads(file):
            count += 1
            yield file, name
        else:
            ignore()
    if not count:
        raise InputError(f"{path}: no file in a known format in this folder; name the files")


def _match_pattern(path: Path) -> list[Path]:
    """Return the files and folders that a pattern such as `works/*/part_*.gz` matches, sorted; else the path itself."""
    if not _PATTERN.search(str(path)) or path.exists() or _split_part(path)[1]:
        return [path]
    start = Path(path.anchor)
    matches = start.glob(str(path.relative_to(start)))
    visible = {match for match in matches if not any(name.startswith(".") for name in match.parts)}
    if not visible:
        raise InputError(f"{path}: no file or folder matches this pattern")
    return sorted((match for match in visible if visible.isdisjoint(match.parents)), key=_reading_order)


def _reading_order(path: Path) -> tuple[bool, Path]:
    """Return by what files are sorted: OpenAlex's merged ids come after its works, whose old files may have them."""
    return "merged_ids" in path.parts, path


def _is_our_manifest(path: FilePath) -> bool:
    """Say whether a file is that of a collection: what `embed` writes may lie in the folder of its input."""
    with path.open("rb") as file:
        head = file.read(1 << 12)
    return all(key in head for key in (b'"layout"', b'"encoder"', b'"fingerprint"'))


def _split_part(path: Path) -> tuple[Path, str]:
    """Split `zotero.sqlite#COLLECTION` into the file and what is read of it; other paths have no part."""
    name = str(path)
    if not path.exists():
        for mark in re.finditer("#", name):
            if Path(name[: mark.start()]).is_file():
                return Path(name[: mark.start()]), name[mark.end() :]
    return path, ""
