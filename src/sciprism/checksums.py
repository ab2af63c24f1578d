"""Checksums of files: written with them, compared when their bytes are read, so that damage is never silent.

A file has one checksum (XXH3, 64 bits) for each block of 1 MiB. A mapped file is compared block by block, each
when it is first read; small files are compared whole. A folder's checksums are in its `checksums.json`, those
of a collection in its manifest. A JSON file has its own checksum as its last key.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from sciprism.errors import DamagedFileError
from sciprism.files import PARTIAL_SUFFIX, write_atomically

BLOCK = 1 << 20  # bytes with one checksum: few enough to be read at once, enough that checksums need little space
CHECKSUMS_NAME = "checksums.json"
REMEDY = f"restore it from a copy; if you changed it yourself, delete {CHECKSUMS_NAME}"
UNLISTED = (CHECKSUMS_NAME, "README.md")
"""Files without a checksum in `checksums.json`: people edit a model card, and no program reads it."""

Bytes = NDArray[np.uint8]
State = Literal["ok", "damaged", "missing", "without checksum", "unknown"]

_SEAL = re.compile(rb',\n "checksum": "([0-9a-f]{16})"\n}\n\Z')


@dataclass(frozen=True, slots=True)
class FileState:
    """What a check found of one file; name: its path in the checked folder."""

    name: str
    state: State


def hash_bytes(content: Any) -> str:
    """Return the checksum of bytes, 16 hexadecimal digits."""
    return xxh3_64_hexdigest(content)


def hash_number(content: Any, seed: int = 0) -> int:
    """Return the checksum of bytes as a number of 64 bits; seed: what else the bytes belong to."""
    return xxh3_64_intdigest(content, seed)


def hash_file(path: Path) -> str:
    """Return one checksum of a whole file."""
    return hash_bytes("".join(hash_blocks(path)).encode())


def hash_blocks(path: Path) -> list[str]:
    """Return the checksum of each block of a file."""
    with path.open("rb") as file:
        return [hash_bytes(block) for block in iter(lambda: file.read(BLOCK), b"")]


class BlockChecks:
    """The checksums of one file's blocks; each block is compared once, when it is first read.

    remedy: what the error says to do about a damaged file. complete: all blocks were compared.
    """

    def __init__(self, path: Path, expected: Sequence[str], remedy: str) -> None:
        self.path, self._expected, self._remedy = path, expected, remedy
        self._pending = np.ones(len(expected), bool)
        self.complete = not expected

    def check(self, content: Bytes, start: int = 0, stop: int | None = None) -> None:
        """Compare the blocks that hold the bytes start..stop; content: the whole file."""
        last = len(content) if stop is None else stop
        self.check_blocks(content, range(start // BLOCK, -(-last // BLOCK)))

    def check_blocks(self, content: Bytes, blocks: Iterable[int]) -> None:
        """Compare blocks by their number, those already compared excepted. Raises DamagedFileError."""
        if self.complete:
            return
        for block in blocks:
            if block >= len(self._pending) or self._pending[block]:
                checksum = hash_bytes(content[block * BLOCK : (block + 1) * BLOCK])
                if block >= len(self._expected) or checksum != self._expected[block]:
                    where = f"bytes {block * BLOCK} to {min((block + 1) * BLOCK, len(content))}"
                    raise DamagedFileError(
                        f"{self.path} is damaged or changed: its checksum differs ({where}); {self._remedy}"
                    )
                self._pending[block] = False
        self.complete = not self._pending.any()


def seal_json(text: str) -> bytes:
    """Return the text of a JSON object, of at least one key, with its checksum as the last key."""
    body = text.rstrip().removesuffix("}").rstrip().encode("utf-8", "replace")
    return body + f',\n "checksum": "{hash_bytes(body)}"\n}}\n'.encode()


def write_sealed_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON object with its checksum, atomically; an unpaired surrogate becomes a question mark."""
    content = seal_json(json.dumps(value, indent=1, ensure_ascii=False))
    write_atomically(path, lambda file: file.write(content))


def read_sealed(path: Path, remedy: str) -> tuple[bytes, bool]:
    """Return the bytes of a JSON file and whether it has a checksum. Raises DamagedFileError where that differs."""
    content = path.read_bytes()
    seal = _SEAL.search(content)
    if seal and hash_bytes(content[: seal.start()]) != seal[1].decode():
        raise DamagedFileError(f"{path} is damaged or changed: its checksum differs; {remedy}")
    return content, seal is not None


def write_checksums(folder: Path) -> None:
    """Write the checksums of all files in a folder to its `checksums.json`.

    Those in subfolders too, except in one that has its own.
    """
    files = {name: {"size": path.stat().st_size, "blocks": hash_blocks(path)} for name, path in _list_files(folder)}
    write_sealed_json(folder / CHECKSUMS_NAME, {"block": BLOCK, "files": files})


def check_folder(folder: Path, names: Iterable[str] | None = None) -> None:
    """Compare a folder's files with its `checksums.json`, if it has one; names: only these files.

    Raises DamagedFileError for the first one that is damaged or missing.
    """
    recorded = _read_checksums(folder)
    for name in recorded if names is None else recorded.keys() & set(names):
        state = find_state(folder / name, recorded[name]["size"], recorded[name]["blocks"])
        if state != "ok":
            problem = "is missing" if state == "missing" else "is damaged or changed: its checksum differs"
            raise DamagedFileError(f"{folder / name} {problem}; {REMEDY}")


def find_state(path: Path, size: int, blocks: Sequence[str]) -> State:
    """Return the state of a file by its size and the checksums of its blocks."""
    if not path.is_file():
        return "missing"
    return "ok" if path.stat().st_size == size and hash_blocks(path) == list(blocks) else "damaged"


def list_states(folder: Path) -> Iterator[FileState]:
    """Yield the state of each file in a folder: by the nearest `checksums.json` above it, else by its own content.

    A JSON file may hold its own checksum, and zip files (.npz) hold those of their parts.
    """
    covered: set[Path] = set()
    for path in sorted(folder.rglob(CHECKSUMS_NAME)):
        covered.add(path)
        name = path.relative_to(folder).as_posix()
        try:
            recorded = _read_checksums(path.parent)
        except DamagedFileError:
            yield FileState(name, "damaged")
            continue
        yield FileState(name, "ok")
        for inside, record in recorded.items():
            file = path.parent / inside
            covered.add(file)
            state = find_state(file, record["size"], record["blocks"])
            yield FileState(file.relative_to(folder).as_posix(), state)
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path not in covered):
        yield FileState(path.relative_to(folder).as_posix(), find_own_state(path))


def find_own_state(path: Path) -> State:
    """Return the state of a file by what it holds itself."""
    if path.name.startswith(".") or path.name.endswith(PARTIAL_SUFFIX):
        return "unknown"
    try:
        if path.suffix == ".json":
            content, sealed = read_sealed(path, "")
            json.loads(content)
            return "ok" if sealed else "without checksum"
        if path.suffix == ".npz":
            with ZipFile(path) as file:
                return "damaged" if file.testzip() else "ok"
    except (ValueError, OSError, BadZipFile, NotImplementedError, zlib.error):
        return "damaged"
    return "without checksum"


def _list_files(folder: Path) -> Iterator[tuple[str, Path]]:
    checked = {path.parent for path in folder.rglob(CHECKSUMS_NAME)} - {folder}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        skipped = any(part.startswith(".") for part in name.split("/")) or name.endswith(PARTIAL_SUFFIX)
        if path.is_file() and name not in UNLISTED and not skipped and checked.isdisjoint(path.parents):
            yield name, path


def _read_checksums(folder: Path) -> dict[str, Any]:
    """Return file name -> size and blocks; empty where the folder has no checksums."""
    path = folder / CHECKSUMS_NAME
    if not path.is_file():
        return {}
    remedy = f"restore {folder} from a copy; or delete {CHECKSUMS_NAME}, and its files are read unchecked"
    content, sealed = read_sealed(path, remedy)
    if not sealed:
        raise DamagedFileError(f"{path} is damaged: it lacks its checksum; {remedy}")
    files: dict[str, Any] = json.loads(content)["files"]
    return files
