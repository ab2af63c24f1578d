"""Find input files: paths, folders, patterns, addresses, what manifests and differences of releases list, checksums.

A manifest (OpenAlex, Redshift's UNLOAD, listings of Semantic Scholar) stands for its files. They are read from its own
folder where they lie there, as in a copy of a snapshot, else from the addresses that it states. A difference is the
answer of Semantic Scholar's datasets API to `/diffs/START/to/END/papers`, saved as a `.json` file; the files that it
names apply in its order. PubMed has a `.md5` next to each file (`pubmed25n0001.xml.gz.md5`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from os.path import commonprefix
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import sciprism.papers.remote.objects as objects
from sciprism.errors import DamagedFileError, InputError
from sciprism.papers.input_file import FilePath, InputFile, SealedFile

Paths = Iterable[str | Path | SealedFile] | str | Path
InputPath = tuple[
    FilePath | objects.RemoteFolder, str
]  # a file or folder that exists, and the part that is read of a file
_PATTERN = re.compile(r"[*?[]")


def find_paths(paths: Paths) -> list[InputPath]:
    """Return the files and folders of paths, patterns and addresses. Raises InputError where there is none."""
    existing: list[InputPath] = []
    for named in [paths] if isinstance(paths, str | Path) else paths:
        if isinstance(named, SealedFile):
            existing.append((named, ""))
            continue
        if objects.is_address(named):
            existing += _find_address(str(named))
            continue
        for path, part in map(_split_part, _match_pattern(Path(named))):
            if str(path) != "-" and not path.exists():
                raise InputError(f"{path}: no such file or folder")
            existing.append((path, part))
    return existing


def find_local_paths(path: str | Path) -> list[Path]:
    """Return the files and folders of a path or pattern on this machine; none of "", an address, standard input."""
    if objects.is_address(path) or str(path) in ("", "-"):
        return []
    return [_split_part(match)[0] for match in _match_pattern(Path(path))]


def find_file(text: str) -> FilePath:
    """Return the one file of a path or an address."""
    if not objects.is_address(text):
        return Path(text)
    (path, _), *others = _find_address(text)
    if isinstance(path, objects.RemoteFolder) or others:
        raise InputError(f"{objects.show_address(text)}: not one file; name the files")
    return path


def list_files(
    paths: Iterable[InputPath], encoding: str, reads: Callable[[InputFile], bool]
) -> Iterator[tuple[InputFile | None, str]]:
    """Yield the files to read, each with its path below the folder that the user named.

    A folder stands for its files for which `reads` is true; each other file is None. A manifest stands
    for the files that it lists. Raises InputError for a folder without a readable file, and for a manifest whose files
    are missing or of another size.
    """
    for path, part in paths:
        if isinstance(path, objects.RemoteFolder) or (isinstance(path, Path) and path.is_dir()):
            yield from _list_folder(path, encoding, reads)
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
    if not isinstance(path, objects.RemoteObject):
        return path.stat().st_size
    if path.version.size is None:
        raise InputError(f"{path}: the server does not say how long it is, so it cannot be divided; copy it first")
    return path.version.size


def find_stamp(path: FilePath) -> str:
    """Return the time of a file's last change, or what its store says of an object's version."""
    if isinstance(path, objects.RemoteObject):
        return path.version.tag or str(path.version.modified)
    return str(path.stat().st_mtime_ns)


def _find_address(text: str) -> list[InputPath]:
    """Return what an address stands for; `ADDRESS#PART` is a part of an object, where no object has that name."""
    address, mark, part = text.rpartition("#")
    if mark and objects.parse_address(text).startswith(objects.WEB):  # a server never sees what follows the mark
        return [(remote, part) for remote in objects.find_remote(address)]
    try:
        return [(remote, "") for remote in objects.find_remote(text)]
    except objects.MissingObjectError:
        if not mark:
            raise
        return [(remote, part) for remote in objects.find_remote(address)]


def _list_folder(
    path: Path | objects.RemoteFolder, encoding: str, reads: Callable[[InputFile], bool]
) -> Iterator[tuple[InputFile | None, str]]:
    """Yield the readable files of a folder, those of collections excepted: `embed` may write there."""
    inside: dict[str, FilePath]
    if isinstance(path, objects.RemoteFolder):
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
            yield None, name
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


MAX_NAMED = 3  # missing files that a message names
WORKERS = 10  # files that a server is asked for at once
_ENTRIES = re.compile(r'"entries"\s*:\s*\[\s*\{[^{}]*(\{[^{}]*\}[^{}]*)?"url"\s*:')
_FILES = re.compile(r'"files"\s*:\s*\[\s*"\w+://')
_ENTRY_KEYS = {"url", "meta", "mandatory"}
DATASET = "papers"  # the data set whose records are papers
_DIFF = re.compile(r"""\A\s*\{(?=.*"diffs"\s*:\s*\[)(?=.*"(start|from)_release"\s*:)""", re.DOTALL)
MD5_SUFFIX = ".xml.gz"  # files of this suffix may have a checksum in their folder
_MD5 = re.compile(rb"\b[0-9a-fA-F]{32}\b")
_MAX_MD5_BYTES = 1 << 12


class ListedFile(NamedTuple):
    """A file as a manifest lists it: its address or path, its bytes and its records, where they are stated."""

    url: str
    size: int | None = None
    records: int | None = None


def expand_manifest(file: InputFile) -> list[tuple[FilePath, str, int | None]]:
    """Return the files that a manifest lists, none where the file is no manifest.

    Of each file its path, its name below the folder of all, and the number of its records where it is stated. Raises
    InputError where some are missing, or have another size than it states.
    """
    name = file.path.name.lower()
    if not file.path.is_file() or not ("manifest" in name or name.endswith(".json") or "." not in name):
        return []
    listed = _read_manifest(file)
    if not listed:
        return []
    if isinstance(file.path, SealedFile):
        file.path.refuse_references()
    paths = _find_files(file.path, [entry.url for entry in listed])
    missing = [objects.show_address(entry.url) for entry in listed if entry.url not in paths]
    if missing:
        named = ", ".join(missing[:MAX_NAMED]) + (" ..." if len(missing) > MAX_NAMED else "")
        raise InputError(
            f"{file.path}: of {len(listed):,} files that it lists, {len(missing):,} cannot be found "
            f"({named}); fetch them, or a new manifest"
        )
    for entry in listed:
        path = paths[entry.url]
        size = path.version.size if isinstance(path, objects.RemoteObject) else path.stat().st_size
        if entry.size is not None and entry.size != size:
            raise InputError(f"{path} has {size:,} bytes, but {entry.size:,} in {file.path}; fetch both again")
    shared = len(commonprefix([_split(entry.url)[:-1] for entry in listed]))  # noqa: RUF071 (of names, no letters)
    return [(paths[entry.url], "/".join(_split(entry.url)[shared:]), entry.records) for entry in listed]


def _read_manifest(file: InputFile) -> list[ListedFile]:
    head = file.head()
    if not head.lstrip().startswith("{") or not (_ENTRIES.search(head) or _FILES.search(head)):
        return []
    try:
        content = json.loads("".join(file.chunks()))
    except ValueError as error:
        raise InputError(f"{file.path}: a manifest that is not valid JSON: {error}; fetch it again") from None
    entries, files = content.get("entries"), content.get("files")
    if isinstance(entries, list) and all(isinstance(entry, dict) and entry.keys() <= _ENTRY_KEYS for entry in entries):
        listed = [_read_entry(file.path, entry) for entry in entries]
    elif isinstance(files, list) and all(isinstance(url, str) for url in files):
        listed = [ListedFile(url) for url in files]
    else:
        return []
    if repeated := len(listed) - len({entry.url for entry in listed}):
        raise InputError(f"{file.path}: lists {repeated:,} files twice; fetch it again")
    return listed


def _read_entry(path: FilePath, entry: dict[str, Any]) -> ListedFile:
    meta = entry.get("meta") or {}
    numbers = [meta.get("content_length"), meta.get("record_count")] if isinstance(meta, dict) else ["meta"]
    if not isinstance(entry.get("url"), str) or any(not isinstance(number, int | None) for number in numbers):
        raise InputError(f"{path}: not an entry of a manifest: {json.dumps(entry)[:200]}; fetch it again")
    return ListedFile(entry["url"], *numbers)


def _find_files(manifest: Path | objects.RemoteObject, urls: Sequence[str]) -> dict[str, FilePath]:
    """Return url -> file, of those that exist: in the manifest's folder, else at their addresses.

    How much of a path counts there is the same for all: the most with which the first file is found.
    """

    def join(names: Sequence[str]) -> Path | str:
        if isinstance(manifest, Path):
            return manifest.parent.joinpath(*names)
        return objects.join_address(objects.folder_of(manifest.address), names)

    parts = {url: _split(url) for url in urls}
    first = parts[urls[0]]
    inside = not any(".." in names for names in parts.values())
    starts = (start for start in range(len(first)) if inside and _find_file(join(first[start:])))
    if (start := next(starts, None)) is not None:
        wanted = {url: join(names[start:]) for url, names in parts.items()}
    else:
        wanted = {url: objects.parse_address(url) for url in urls if objects.is_address(url)}
    with ThreadPoolExecutor(WORKERS) as pool:
        found = zip(wanted, pool.map(_find_file, wanted.values()), strict=True)
        return {url: path for url, path in found if path is not None}


def _find_file(place: Path | str) -> FilePath | None:
    """Return the file at a path or an address, None where there is none."""
    if isinstance(place, Path):
        return place if place.is_file() else None
    try:
        version = objects.find_version(place)
    except objects.MissingObjectError:
        return None
    return objects.RemoteObject(place, version) if version else None


def _split(url: str) -> tuple[str, ...]:
    return objects.split_path(objects.parse_address(url)) if objects.is_address(url) else Path(url).parts


def is_release_diff(file: InputFile) -> bool:
    """Say whether a file is a saved difference."""
    return file.name.endswith(".json") and file.path.is_file() and _DIFF.match(file.head()) is not None


def expand_diffs(files: Sequence[tuple[InputFile, str]]) -> list[tuple[InputFile, str]]:
    """Put in the place of each difference the files that it names; they are not read a second time.

    files: with the name of each in the folder that was named. Raises InputError for a difference of another data set,
    with a gap between releases, or that names a file which is not there.
    """
    diffs = {number: _read_diff(file) for number, (file, _) in enumerate(files) if is_release_diff(file)}
    named = {_resolve(inner) for inside in diffs.values() for inner in inside}
    expanded: list[tuple[InputFile, str]] = []
    for number, (file, name) in enumerate(files):
        if number in diffs:
            expanded += [(inner, inner.path.name) for inner in diffs[number]]
        elif not named or _resolve(file) not in named:
            expanded.append((file, name))
    return expanded


def _resolve(file: InputFile) -> FilePath:
    return file.path.resolve() if isinstance(file.path, Path) else file.path


def _read_diff(file: InputFile) -> list[InputFile]:
    if isinstance(file.path, SealedFile):
        file.path.refuse_references()
    if not isinstance(file.path, Path):
        raise InputError(f"{file.path} is a difference of releases; copy it and the files that it names to a folder")
    try:
        content = json.loads("".join(file.chunks()))
        listed = [(_find_named(file.path, name), deletes) for name, deletes in _list_names(content, file.path)]
    except InputError:
        raise
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise InputError(f"{file.path} is a damaged difference of releases ({error}); fetch it again") from None
    paths = [path for path, _ in listed]
    if repeated := next((path for path in paths if paths.count(path) > 1), None):
        raise InputError(
            f"{file.path} names {repeated} twice; keep files of one name in folders, and write their paths"
        )
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


def _find_named(diff: Path, name: str) -> Path:
    """Return the file of a name or an address: in the folder of the difference, or below it as the address says."""
    parts = [part for part in urlsplit(name).path.split("/") if part] if "://" in name else [name]
    for start in range(len(parts)):
        if (path := diff.parent.joinpath(*parts[start:])).is_file():
            return path
    fetched = parts[-1] if parts else name
    raise InputError(f"{diff} names {fetched}, which is not in {diff.parent}; fetch the files that it names to there")


def find_md5(path: FilePath) -> str:
    """Return the MD5 that the file next to a PubMed file states, "" where there is none."""
    if isinstance(path, SealedFile) or not path.name.endswith(MD5_SUFFIX) or not path.is_file():
        return ""
    name = f"{path.name}.md5"
    checksum = path.find_neighbour(name) if isinstance(path, objects.RemoteObject) else path.with_name(name)
    if checksum is None or not checksum.is_file():
        return ""
    with checksum.open("rb") as file:
        md5 = _MD5.search(file.read(_MAX_MD5_BYTES))
    if md5 is None:
        raise DamagedFileError(f"{checksum} holds no MD5; fetch it again, or delete it")
    return md5[0].decode().lower()
