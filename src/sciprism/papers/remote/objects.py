"""Objects as input files: found by address, folder or pattern, and opened as a `Path` of a file is."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sciprism.papers.remote.object_file import (
    MissingObjectError,
    NoPermissionError,
    ObjectFile,
    ObjectVersion,
    fixed_folder,
    folder_of,
    is_pattern,
    join_address,
    name_of,
    parse_address,
    scheme_of,
    show_address,
)

if TYPE_CHECKING:
    from sciprism.papers.remote.bucket_store import GoogleStore, S3Store
    from sciprism.papers.remote.http_store import HttpStore

    ObjectStore = S3Store | GoogleStore | HttpStore

BUFFER = 1 << 16


@cache
def open_store(scheme: str) -> ObjectStore:
    """Return the store of a scheme. Raises MissingExtraError where its package is missing."""
    from sciprism.papers.remote.bucket_store import GoogleStore, S3Store
    from sciprism.papers.remote.http_store import HttpStore

    return S3Store() if scheme == "s3" else GoogleStore() if scheme == "gs" else HttpStore()


@dataclass(frozen=True)
class RemoteObject:
    """An object that is read as a file; its text is the address without credentials.

    version: as it was found, and the one whose bytes are read.
    """

    address: str
    version: ObjectVersion = field(compare=False)

    def __str__(self) -> str:
        return show_address(self.address)

    @property
    def name(self) -> str:
        """Return the last part of the address."""
        return name_of(self.address)

    def is_file(self) -> bool:
        """Return True."""
        return True

    def open(self, mode: Literal["rb"] = "rb", buffering: int = -1) -> Any:  # noqa: ARG002 (as `Path` has it)
        """Open the bytes, raw without buffering. Raises InputError for an object that has changed or is gone."""
        raw = ObjectFile(open_store(scheme_of(self.address)).open, self.address, self.version)
        return raw if buffering == 0 else io.BufferedReader(raw, BUFFER)

    def find_version(self) -> ObjectVersion:
        """Ask for the version that the object has now."""
        version = open_store(scheme_of(self.address)).find(self.address)
        if version is None:
            raise MissingObjectError(f"{self}: was an object, and is a folder now")
        return version

    def find_neighbour(self, name: str) -> RemoteObject | None:
        """Return an object of the same folder, None where there is none that may be read."""
        address = join_address(folder_of(self.address), [name])
        try:
            version = open_store(scheme_of(address)).find(address)
        except (MissingObjectError, NoPermissionError):  # a store may refuse to say that there is nothing
            return None
        return RemoteObject(address, version) if version else None


@dataclass(frozen=True)
class RemoteFolder:
    """A folder of objects; files: path below it -> object, sorted as `Path` sorts."""

    address: str
    files: Mapping[str, RemoteObject]

    def __str__(self) -> str:
        return show_address(self.address)


def find_remote(text: str | Path) -> list[RemoteObject | RemoteFolder]:
    """Return the object or the folder of an address, or all that it matches, sorted.

    Raises MissingObjectError where there is nothing, InputError where it cannot be read.
    """
    address = parse_address(text)
    store = open_store(scheme_of(address))
    if not is_pattern(address):
        version = store.find(address)
        return [RemoteObject(address, version) if version else _list_folder(store, address)]
    start = len(fixed_folder(address))
    matches = {match: version for match, version in store.match(address).items() if "/." not in f"/{match[start:]}"}
    if not matches:
        raise MissingObjectError(f"{show_address(address)}: no object or folder matches this pattern")
    folders = tuple(match for match, version in matches.items() if version is None)
    outer = [
        match for match in _sort(matches) if not any(match != other and match.startswith(other) for other in folders)
    ]
    return [
        RemoteObject(match, version) if (version := matches[match]) else _list_folder(store, match) for match in outer
    ]


def _list_folder(store: ObjectStore, address: str) -> RemoteFolder:
    folder = address.rstrip("/") + "/"
    versions = store.list(folder)
    return RemoteFolder(folder, {path[len(folder) :]: RemoteObject(path, versions[path]) for path in _sort(versions)})


def _sort(addresses: Iterable[str]) -> list[str]:
    return sorted(addresses, key=lambda address: address.split("/"))
