"""Manifests that list the files of a snapshot: of OpenAlex, of Redshift's UNLOAD, and listings of Semantic Scholar.

A manifest stands for its files. They are read from its own folder where they lie there, as in a copy of a snapshot,
else from the addresses that it states.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
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
from sciprism.papers.remote.failures import MissingObjectError
from sciprism.papers.remote.object_file import ObjectVersion
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
