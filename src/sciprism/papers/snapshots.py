"""What is next to the files of a data set: manifests that list them, differences of releases, checksums.

A manifest (OpenAlex, Redshift's UNLOAD, listings of Semantic Scholar) stands for its files. They are read from its own
folder where they lie there, as in a copy of a snapshot, else from the addresses that it states. A difference is the
answer of Semantic Scholar's datasets API to `/diffs/START/to/END/papers`, saved as a `.json` file; the files that it
names apply in its order. PubMed has a `.md5` next to each file (`pubmed25n0001.xml.gz.md5`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sciprism.errors import DamagedFileError, InputError
from sciprism.papers.input_file import FilePath, InputFile
from sciprism.papers.remote.address import (
    WEB,
    folder_of,
    is_address,
    join_address,
    parse_address,
    scheme_of,
    show_address,
    split_path,
)
from sciprism.papers.remote.object_file import MissingObjectError, ObjectVersion
from sciprism.papers.remote.objects import RemoteObject, open_store

MAX_NAMED = 3
"""Missing files that a message names."""
PROBED = 3
"""Files by which the place of all is found, one by one."""
WORKERS = 16
"""Files that a web server is asked for at once."""

_ENTRIES = re.compile(r'"entries"\s*:\s*\[\s*\{[^{}]*(\{[^{}]*\}[^{}]*)?"url"\s*:')
_FILES = re.compile(r'"files"\s*:\s*\[\s*"\w+://')
_ENTRY_KEYS = {"url", "meta", "mandatory"}
DATASET = "papers"
"""The data set whose records are papers."""

_DIFF = re.compile(r"""\A\s*\{(?=.*"diffs"\s*:\s*\[)(?=.*"(start|from)_release"\s*:)""", re.DOTALL)
MD5_SUFFIX = ".xml.gz"
"""Files of this suffix may have a checksum in their folder."""

_MD5 = re.compile(rb"\b[0-9a-fA-F]{32}\b")
_MAX_MD5_BYTES = 1 << 12


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as a manifest lists it: its address or path, its bytes and its records, where they are stated."""

    url: str
    size: int | None = None
    records: int | None = None


@dataclass(frozen=True, slots=True)
class SnapshotFile:
    """A file of a manifest that exists; name: its path below the folder of all."""

    path: FilePath
    name: str
    records: int | None


def expand_manifest(file: InputFile) -> list[SnapshotFile]:
    """Return the files that a manifest lists, none where the file is no manifest.

    Raises InputError where some are missing, or have another size than it states.
    """
    if not _may_be_manifest(file.path):
        return []
    listed = _read_manifest(file)
    if not listed:
        return []
    found = _find_beside(file.path, listed) or _find_at_addresses(listed)
    missing = [each for each in listed if each.url not in found]
    if missing:
        raise InputError(
            f"{file.path}: of {len(listed):,} files that it lists, {len(missing):,} cannot be found "
            f"({_name_missing(missing)}); fetch them, or a new manifest"
        )
    for each in listed:
        path = found[each.url]
        size = path.version.size if isinstance(path, RemoteObject) else path.stat().st_size
        if each.size is not None and each.size != size:
            raise InputError(f"{path} has {size:,} bytes, but {each.size:,} in {file.path}; fetch both again")
    shared = _count_shared([_split(each.url) for each in listed])
    return [SnapshotFile(found[each.url], "/".join(_split(each.url)[shared:]), each.records) for each in listed]


def _may_be_manifest(path: FilePath) -> bool:
    name = path.name.lower()
    return path.is_file() and ("manifest" in name or name.endswith(".json") or "." not in name)


def _read_manifest(file: InputFile) -> list[ListedFile]:
    head = file.head()
    if not head.lstrip().startswith("{") or not (_ENTRIES.search(head) or _FILES.search(head)):
        return []
    try:
        value = json.loads("".join(file.chunks()))
    except ValueError as error:
        raise InputError(f"{file.path}: a manifest that is not valid JSON: {error}; fetch it again") from None
    entries = value.get("entries")
    if isinstance(entries, list) and all(isinstance(each, dict) and each.keys() <= _ENTRY_KEYS for each in entries):
        listed = [_read_entry(file.path, each) for each in entries]
    elif isinstance(value.get("files"), list) and all(isinstance(each, str) for each in value["files"]):
        listed = [ListedFile(url) for url in value["files"]]
    else:
        return []
    twice = len(listed) - len({each.url for each in listed})
    if twice:
        raise InputError(f"{file.path}: lists {twice:,} files twice; fetch it again")
    return listed


def _read_entry(path: FilePath, entry: dict[str, Any]) -> ListedFile:
    meta = entry.get("meta") or {}
    numbers = [meta.get("content_length"), meta.get("record_count")] if isinstance(meta, dict) else ["meta"]
    if not isinstance(entry.get("url"), str) or any(not isinstance(each, int | None) for each in numbers):
        raise InputError(f"{path}: not an entry of a manifest: {json.dumps(entry)[:200]}; fetch it again")
    return ListedFile(entry["url"], *numbers)


def _find_beside(manifest: FilePath, listed: Sequence[ListedFile]) -> dict[str, FilePath]:
    """Return url -> the file of that path in the manifest's folder, of all that are there; empty where none is.

    How much of a path counts is the same for all: the most with which one of the first files is found.
    """
    parts = {each.url: _split(each.url) for each in listed}
    for first in list(parts.values())[:PROBED]:
        for start in range(len(first)):
            if ".." not in first and _find_files({"": _join(manifest, first[start:])}):
                return _find_files({url: _join(manifest, names[start:]) for url, names in parts.items()})
    return {}


def _find_at_addresses(listed: Sequence[ListedFile]) -> dict[str, FilePath]:
    return _find_files({each.url: parse_address(each.url) for each in listed if is_address(each.url)})


def _find_files(wanted: Mapping[str, Path | str]) -> dict[str, FilePath]:
    """Return name -> file of paths and addresses, of those that exist."""
    found: dict[str, FilePath] = {
        name: path for name, path in wanted.items() if isinstance(path, Path) and path.is_file()
    }
    addresses = {name: address for name, address in wanted.items() if isinstance(address, str)}
    versions = _find_versions(sorted(set(addresses.values())))
    return found | {
        name: RemoteObject(address, version)
        for name, address in addresses.items()
        if (version := versions.get(address)) is not None
    }


def _find_versions(addresses: Sequence[str]) -> dict[str, ObjectVersion]:
    """Return the versions of the objects that exist; many in a bucket are found by one listing of their folder."""
    found: dict[str, ObjectVersion] = {}
    buckets: dict[str, list[str]] = {}
    for address in addresses:
        in_bucket = scheme_of(address) not in WEB
        buckets.setdefault("/".join(address.split("/")[:3]) if in_bucket else "", []).append(address)
    for bucket, members in buckets.items():
        if bucket and len(members) > PROBED:
            shared = _count_shared([_split(each) for each in members])
            folder = "/".join(_split(members[0])[:shared])
            found |= open_store(scheme_of(bucket)).list(f"{scheme_of(bucket)}://{folder}/")
            continue
        with ThreadPoolExecutor(WORKERS) as pool:
            versions = zip(members, pool.map(_find_version, members), strict=True)
            found |= {address: version for address, version in versions if version is not None}
    return found


def _find_version(address: str) -> ObjectVersion | None:
    try:
        return open_store(scheme_of(address)).find(address)
    except MissingObjectError:
        return None


def _split(url: str) -> tuple[str, ...]:
    return split_path(parse_address(url)) if is_address(url) else Path(url).parts


def _count_shared(paths: Sequence[tuple[str, ...]]) -> int:
    """Return how many folders all paths begin with."""
    folders = [path[:-1] for path in paths]
    shared = (number for number, names in enumerate(zip(*folders, strict=False)) if len(set(names)) > 1)
    return next(shared, min(map(len, folders)))


def _join(manifest: FilePath, names: Sequence[str]) -> Path | str:
    """Return the path or the address of a file below the folder of a manifest."""
    if isinstance(manifest, Path):
        return manifest.parent.joinpath(*names)
    return join_address(folder_of(manifest.address), names)


def _name_missing(missing: Sequence[ListedFile]) -> str:
    named = ", ".join(show_address(each.url) for each in missing[:MAX_NAMED])
    return named + (" ..." if len(missing) > MAX_NAMED else "")


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


def find_md5(path: FilePath) -> str:
    """Return the MD5 that the file next to a PubMed file states, "" where there is none."""
    if not path.name.endswith(MD5_SUFFIX) or not path.is_file():
        return ""
    name = f"{path.name}.md5"
    beside = path.find_neighbour(name) if isinstance(path, RemoteObject) else path.with_name(name)
    if beside is None or not beside.is_file():
        return ""
    with beside.open("rb") as file:
        found = _MD5.search(file.read(_MAX_MD5_BYTES))
    if found is None:
        raise DamagedFileError(f"{beside} holds no MD5; fetch it again, or delete it")
    return found[0].decode().lower()
