"""Files: atomic writes and locks, why one cannot be written, and what a file is that is not what it should be.

A reader, or the next run after a crash, sees all of a file or folder, or none of it.

Checksums are written with files, and compared when their bytes are read, so that damage is never silent. A file has one
(XXH3, 64 bits) for each block of 1 MiB. A mapped file is compared block by block, each when it is first read; a small
file is compared whole. A folder's checksums are in its `checksums.json`, those of a collection in its manifest. A JSON
file has its own checksum as its last key.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import os
import re
import shutil
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, TypeAlias
from zipfile import BadZipFile, ZipFile

from filelock import FileLock, Timeout
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from sciprism.errors import DamagedFileError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

PARTIAL_SUFFIX = ".part"
LOCK_NAME = ".lock"


def write_atomically(path: Path, write: Callable[[BinaryIO], object], writer: str = "") -> None:
    """Write a file next to its place, flush it to the disk, and rename it; or leave nothing.

    writer: a unique name in that of the temporary file, where processes may write the same file concurrently.
    """
    part = path.with_name(path.name + (f".{writer}" if writer else "") + PARTIAL_SUFFIX)
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("wb") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def append_file(path: Path, part: Path, write: Callable[[BinaryIO, int], object]) -> None:
    """Let `write` append to a part of a file, flush it to the disk, and rename it; where that fails, the part is kept.

    write: gets the file and the number of bytes that an earlier call left in it.
    """
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab") as file:
            try:
                write(file, file.tell())
            finally:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
        sync_folder(path.parent)


def write_json(path: Path, value: Any, *, indent: int | None = 1) -> None:
    """Write JSON atomically; an unpaired surrogate becomes a question mark."""
    text = json.dumps(value, indent=indent, ensure_ascii=False) + "\n"
    write_atomically(path, lambda file: file.write(text.encode("utf-8", "replace")))


def write_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict[str, str] | None = None) -> None:
    """Write safetensors into a draft, with the rights of any new file: safetensors 0.8.0 lets only the owner read."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path.touch()
    rights = path.stat().st_mode
    try:
        save_file(tensors, path, metadata=metadata)
    except SafetensorError as error:
        raise OSError(errno.EIO, str(error), str(path)) from error
    path.chmod(rights)


def write_lines(path: Path, lines: Iterable[str], *, errors: str = "strict") -> int:
    """Write lines atomically, one at a time; return how many."""
    count = 0

    def write(file: BinaryIO) -> None:
        nonlocal count
        for line in lines:
            file.write(line.encode("utf-8", errors) + b"\n")
            count += 1

    write_atomically(path, write)
    return count


def join_cells(cells: Iterable[object], delimiter: str = ",") -> str:
    """Return a row of CSV without the end of the line."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return text.getvalue()[:-1]


def check_companion(path: Path, named: Path, *beginnings: str) -> None:
    """Raise InputError where a file that is written together with a named one would replace a file of another kind.

    beginnings: how a file begins that an earlier run wrote, and that may be replaced.
    """
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as file:
            if file.read(HEAD).startswith(tuple(text.encode() for text in beginnings)):
                return
    elif not path.exists():
        return
    raise InputError(f"{path} would be written together with {named}, and exists; move it, or name another output")


def sync_folder(folder: Path) -> None:
    """Wait until the names of a folder's files are on the disk."""
    if os.name != "posix":  # elsewhere a folder cannot be opened, and renames are journalled
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


FULL = (errno.ENOSPC, errno.EDQUOT)
REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.ENOENT, errno.EEXIST)
"""Numbers of the system's errors: what another try on the same disk meets again, and what another path mends."""


@contextmanager
def explain_write_errors(path: Path) -> Iterator[None]:
    """Name the file that could not be written, with the system's words.

    Raises InputError where the path cannot be written to, OSError with the path for a full disk and others.
    """
    try:
        yield
    except OSError as error:
        words = error.strerror or str(error)  # numpy's error of a short write has neither number nor path
        if error.errno in REFUSED:
            raise InputError(f"cannot write {path}: {words}; name a path that you can write to") from error
        if error.filename is not None or isinstance(error, BrokenPipeError):  # the former: for a file inside
            raise
        raise OSError(error.errno or errno.EIO, words, str(path)) from error


def flush_output() -> OSError | None:
    """Write what is left of standard output; return why it cannot be written, None where it can.

    What is left is then dropped: the interpreter would try again at its end, without a message.
    """
    try:
        with explain_write_errors(Path("standard output")):
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None


@contextmanager
def open_draft(folder: Path) -> Iterator[Path]:
    """Yield an empty folder next to this one, for `replace_folder` or `commit_folder`; failing leaves nothing."""
    draft = folder.with_name(f".{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def sync_tree(folder: Path) -> None:
    """Wait until a folder's files, which others' functions wrote, are on the disk."""
    for path in folder.rglob("*"):
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb+") as file:
                os.fsync(file.fileno())
    sync_folder(folder)


def commit_folder(draft: Path, folder: Path) -> None:
    """Flush a draft to the disk, and rename it to a folder that is not there."""
    with explain_write_errors(folder):
        sync_tree(draft)
        draft.rename(folder)
        sync_folder(folder.parent)


def replace_folder(folder: Path, draft: Path) -> None:
    """Replace a folder by a finished draft; at every moment one whole version exists."""
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    sync_tree(draft)
    if folder.exists():
        folder.rename(old)
    draft.rename(folder)
    sync_folder(folder.parent)
    shutil.rmtree(old, ignore_errors=True)


def recover_folder(folder: Path) -> None:
    """Put back a folder whose replacement was killed between two renames, and remove what the kill left."""
    old = folder.with_name(f".{folder.name}.old")
    if old.exists() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(folder.with_name(f".{folder.name}.draft"), ignore_errors=True)


@contextmanager
def lock_folder(folder: Path, *, timeout: float = 0) -> Iterator[None]:
    """Hold the folder's lock; the system frees it when the process ends, even by a kill.

    timeout: seconds to wait for another process. Raises InputError where that holds it longer.
    """
    lock = FileLock(folder / LOCK_NAME, timeout=timeout)
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            raise InputError(f"{folder} is being written by another sciprism process; wait until it ends") from None
        except NotImplementedError:
            raise InputError(f"{folder}: this file system has no locks; name a folder on another disk") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def create_work_folder(folder: Path, prefix: str) -> Iterator[Path]:
    """Lock a folder, and yield an empty one inside it, which is gone at the end; those of killed runs are removed."""
    with lock_folder(folder):
        for left in folder.glob(f"{prefix}*"):
            shutil.rmtree(left, ignore_errors=True)
        with TemporaryDirectory(prefix=prefix, dir=folder) as name:
            yield Path(name)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    return digest_file(path, "sha256")


def digest_file(path: Path, kind: str) -> str:
    """Return a digest of a file's bytes, of a kind that hashlib names."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def cache_folder() -> Path:
    """Return the folder of caches: SCIPRISM_CACHE, or sciprism in the user's cache folder.

    It is made where it is missing. Raises InputError where it cannot be written.
    """
    user = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "sciprism"
    folder = Path(os.environ.get("SCIPRISM_CACHE") or user)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except (OSError, RuntimeError) as error:  # the latter where the user has no home
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{folder}: {reason}; set SCIPRISM_CACHE to a folder that can be written") from error
    return folder


HEAD = 4096  # bytes that tell what a file is
_SIGNATURES = {
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive, or a document of an office program",
    b"SQLite format 3\x00": "an SQLite database",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ\x00": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a Zstandard archive",
    b"PAR1": "a Parquet file",
    b"\xd0\xcf\x11\xe0": "a document of an old office program",
}
_HTML = re.compile(rb"\s*(?:(?><!--.*?-->)\s*)*(<!doctype html|<html|<head|<body)", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_LFS_SIZE = re.compile(rb"^size (\d+)$", re.MULTILINE)
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")


def describe_wrong_file(head: bytes, *, binary: bool = False) -> str:
    """Return what the first bytes of a file show it to be and what to do, "" where nothing is wrong with it.

    binary: the file should be binary, so that only other kinds are wrong.
    """
    if not head.strip(b"\x00\x1a \t\r\n\xef\xbb\xbf"):
        return "the file is empty" if not head else "the file is empty: it holds nothing but blanks"
    if head.startswith(b"version https://git-lfs"):
        size = _LFS_SIZE.search(head)
        much = f" of {int(size[1]):,} bytes" if size else ""
        return f"a Git-LFS pointer, not the file{much} that it stands for; fetch it with: git lfs pull"
    if _HTML.match(head.removeprefix(b"\xef\xbb\xbf")):
        title = _TITLE.search(head)
        words = " ".join(title[1].decode("utf-8", "replace").split()) if title else ""
        named = f" ({words:.80})" if words else ""
        return f"an HTML page{named}, not the file itself: a download often gives one for an error; fetch it again"
    if binary:
        return ""
    kind = next((what for signature, what in _SIGNATURES.items() if head.startswith(signature)), "")
    is_wide = any(not any(head[start::2]) for start in (0, 1))  # letters of two or four bytes: every other byte is 0
    if kind or (b"\x00" in head and not head.startswith(_BYTE_ORDER_MARKS) and not is_wide):
        return f"{kind or 'a binary file'}, not text; name a file in a known format"
    return ""


def describe_wrong_path(path: Path, *, binary: bool = False) -> str:
    """Return what a file is that is not what it should be, "" where nothing is wrong or it cannot be read."""
    if not path.is_file():  # to open a pipe may take forever
        return ""
    try:
        with path.open("rb") as file:
            return describe_wrong_file(file.read(HEAD), binary=binary)
    except OSError:
        return ""


BLOCK = 1 << 20  # bytes with one checksum: few enough to be read at once, enough that checksums need little space
CHECKSUMS_NAME = "checksums.json"
REMEDY = f"restore it from a copy; if you changed it yourself, delete {CHECKSUMS_NAME}"
UNLISTED = (CHECKSUMS_NAME, "README.md")
"""Files without a checksum in `checksums.json`: people edit a model card, and no program reads it."""

Bytes: TypeAlias = "NDArray[np.uint8]"
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
        self._pending = {*range(len(expected))}
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
            if block >= len(self._expected) or block in self._pending:
                checksum = hash_bytes(content[block * BLOCK : (block + 1) * BLOCK])
                if block >= len(self._expected) or checksum != self._expected[block]:
                    where = f"bytes {block * BLOCK} to {min((block + 1) * BLOCK, len(content))}"
                    raise DamagedFileError(
                        f"{self.path} is damaged or changed: its checksum differs ({where}); {self._remedy}"
                    )
                self._pending.remove(block)
        self.complete = not self._pending


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
