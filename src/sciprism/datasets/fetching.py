"""Fetch published data sets into a folder: download, compare checksums, convert, and record what was seen.

The record is the folder's `fetched.json`. A second run does what is left; an interrupted download continues.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Literal

from sciprism.datasets.converters import CONVERTERS
from sciprism.datasets.data_root import REVISIONS, PublishedData, PublishedFile
from sciprism.errors import DamagedFileError, InputError, InterruptedRunError
from sciprism.files import (
    PARTIAL_SUFFIX,
    append_file,
    commit_folder,
    describe_wrong_path,
    digest_file,
    lock_folder,
    open_draft,
    read_sealed,
    sha256,
    write_atomically,
    write_json,
    write_sealed_json,
)
from sciprism.hub import ask_hub
from sciprism.limits import describe_excess, limit
from sciprism.papers.input_file import InputFile
from sciprism.papers.remote.objects import RemoteFolder, RemoteObject, find_remote
from sciprism.parallel import Progress, show_nothing

RECORD, DOWNLOADS = "fetched.json", ".downloads"
CHUNK, MEGABYTE = 1 << 20, 1_000_000

Status = Literal["fetched", "complete", "here", "would fetch", "manual", "failed"]
MISSING: tuple[Status, ...] = ("manual", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchOutcome:
    """What became of a data set. rows: of its files; trusted: downloads whose checksum nobody states."""

    data: PublishedData
    status: Status
    detail: str = ""
    rows: Mapping[str, int] = field(default_factory=dict)
    trusted: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON."""
        facts = {"name": self.data.name, "status": self.status, "detail": self.detail, "rows": dict(self.rows)}
        return facts | {"size": self.data.size, "licence": self.data.licence, "trusted": list(self.trusted)}


def fetch_data(
    chosen: Sequence[PublishedData], folder: Path, *, dry_run: bool = False, progress: Progress = show_nothing
) -> list[FetchOutcome]:
    """Fetch data sets into a folder, one after the other; one that fails does not stop the others.

    What is complete is not touched, nor a folder that was not made here. dry_run: nothing is written or asked for.
    """
    if dry_run:
        record = _FetchRecord(folder)
        return [_find_state(data, folder, record) or FetchOutcome(data=data, status="would fetch") for data in chosen]
    outcomes = []
    try:
        with lock_folder(folder):
            record = _FetchRecord(folder)
            for data in chosen:
                progress(data.name)
                outcomes.append(_find_state(data, folder, record) or _fetch(data, folder, record, progress))
    except KeyboardInterrupt:
        raise InterruptedRunError("what was downloaded is kept, and the same command continues") from None
    return outcomes


def describe_here(data: PublishedData, folder: Path | None) -> Status | None:
    """Return "complete" for data that were fetched, "here" for others of that name, None for none."""
    if folder is None:
        return None
    state = _find_state(data, folder, _FetchRecord(folder))
    return state.status if state and state.status in ("complete", "here") else None


class _FetchRecord:
    """What `fetched.json` of a folder knows: the checksum of each download, and the files of each data set."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / RECORD
        self.downloads: dict[str, dict[str, Any]] = {}
        self.data: dict[str, dict[str, Any]] = {}
        if self._path.is_file():
            remedy = "delete it, and data are fetched as if for the first time"
            content, _ = read_sealed(self._path, remedy)
            try:
                stored = json.loads(content)
                self.downloads, self.data = stored["downloads"], stored["data"]
            except (ValueError, KeyError, TypeError):
                raise DamagedFileError(f"{self._path} is damaged; {remedy}") from None

    def write(self) -> None:
        write_sealed_json(self._path, {"downloads": self.downloads, "data": self.data})


def _find_state(data: PublishedData, folder: Path, record: _FetchRecord) -> FetchOutcome | None:
    """Return the outcome of data that need not or cannot be fetched, None for others."""
    path, stored = folder / data.name, record.data.get(data.name)
    if stored is not None and all((path / name).is_file() for name in stored["files"]):
        changed = [name for name, known in stored["files"].items() if (path / name).stat().st_size != known["size"]]
        detail = f"changed since: {', '.join(changed)}" if changed else ""
        return FetchOutcome(data=data, status="here" if changed else "complete", detail=detail, rows=stored["rows"])
    if path.is_dir() and any(path.iterdir()) and stored is None:
        return FetchOutcome(data=data, status="here", detail="not fetched by this command, and left as it is")
    return FetchOutcome(data=data, status="manual", detail=data.by_hand) if data.by_hand else None


def _fetch(data: PublishedData, folder: Path, record: _FetchRecord, progress: Progress) -> FetchOutcome:
    try:
        if data.hub:
            return _fetch_from_hub(data, folder, record)
        place = folder / DOWNLOADS / data.name
        trusted = [name for file in data.files for name in _download_all(file, place, record, progress)]
        rows = _convert(data, place, folder / data.name)
        files = [path for path in (folder / data.name).rglob("*") if path.is_file()]
        _store(data, folder, record, files, rows)
        shutil.rmtree(place, ignore_errors=True)
        return FetchOutcome(data=data, status="fetched", detail=data.note, rows=rows, trusted=tuple(trusted))
    except InputError as error:
        return FetchOutcome(data=data, status="failed", detail=str(error))


def _store(data: PublishedData, folder: Path, record: _FetchRecord, files: list[Path], rows: dict[str, int]) -> None:
    known = {
        path.relative_to(folder / data.name).as_posix(): {"size": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(files)
    }
    record.data[data.name] = {"converter": data.converter, "files": known, "rows": rows}
    record.write()


def _fetch_from_hub(data: PublishedData, folder: Path, record: _FetchRecord) -> FetchOutcome:
    """Download a data set of the hub, whose client resumes and compares checksums itself; scripts are not fetched."""
    from huggingface_hub import snapshot_download

    place = folder / DOWNLOADS / data.name
    for revision in REVISIONS:
        with ask_hub():
            snapshot_download(
                data.name, repo_type="dataset", revision=revision, local_dir=place, ignore_patterns=["*.py"]
            )
        files = [path.relative_to(place) for path in place.rglob("*") if path.is_file()]
        files = [path for path in files if not path.parts[0].startswith((".", "README"))]
        if files:
            break
    shutil.rmtree(place / ".cache", ignore_errors=True)  # the client's notes for resuming
    _move(place, folder / data.name)
    _store(data, folder, record, [folder / data.name / path for path in files], {})
    return FetchOutcome(data=data, status="fetched", detail=data.note)


# ---- downloads


def _download_all(file: PublishedFile, place: Path, record: _FetchRecord, progress: Progress) -> Iterator[str]:
    """Download a file, or all files of a folder; yield the names of those whose checksum is taken as theirs."""
    for found in find_remote(file.url):
        if isinstance(found, RemoteFolder):
            for name, remote in found.files.items():
                if _download(remote, PublishedFile(url=remote.address, name=name), place, record, progress):
                    yield name
        elif _download(found, file, place, record, progress):
            yield file.name


def _download(remote: RemoteObject, file: PublishedFile, place: Path, record: _FetchRecord, progress: Progress) -> bool:
    """Download a file that is not here yet; return whether its checksum was not known before."""
    known = record.downloads.get(file.url, {})
    expected = file.checksum or (known.get("checksum", "") if file.fixed else "")
    stated = "the manifest" if file.checksum else f"the first download, in {RECORD}"
    size = remote.version.size
    if file.size is not None and size is not None and size != file.size:
        raise InputError(f"{remote}: {size:,} bytes, but the manifest states {file.size:,}; {_CHANGED}")
    target = place / file.name
    if not target.is_file():
        _copy(remote, target, progress)
    if wrong := describe_wrong_path(target, binary=True):
        target.unlink()
        raise InputError(f"{remote}: {wrong}")
    kind = expected.partition(":")[0] or "sha256"
    found = f"{kind}:{digest_file(target, kind)}"
    if expected and found != expected:
        target.unlink()
        raise InputError(f"{remote}: its checksum is {found}, but {stated} states {expected}; {_CHANGED}")
    seen = {"checksum": found, "size": target.stat().st_size, "modified": remote.version.modified}
    if seen != known:
        record.downloads[file.url] = seen
        record.write()
    return not expected


_CHANGED = "the owner has changed the file, or it is not the owner's; see to it before you use it"


def _copy(remote: RemoteObject, target: Path, progress: Progress) -> None:
    """Copy an object to a file, from where an interrupted copy of the same version stopped."""
    version = remote.version
    name = hashlib.sha256(f"{version.size} {version.tag} {version.modified}".encode()).hexdigest()[:8]
    part = target.with_name(f"{target.name}.{name}{PARTIAL_SUFFIX}")
    can_resume = version.size is not None and bool(version.tag or version.modified)
    for other in target.parent.glob(f"{target.name}.*{PARTIAL_SUFFIX}"):  # of versions that are no more
        if other != part or not can_resume:
            other.unlink()

    def write(file: BinaryIO, start: int) -> None:
        with remote.open(buffering=0) as source:
            if start:
                source.seek(start)
            while content := source.read(CHUNK):
                file.write(content)
                start += len(content)
                progress(target.name, "MB", start // MEGABYTE, version.size and version.size // MEGABYTE)

    append_file(target, part, write)


# ---- from downloads to the folder of a data set


def _convert(data: PublishedData, place: Path, folder: Path) -> dict[str, int]:
    """Make the folder of a data set of its downloads; return file -> number of rows."""
    if not data.converter:
        _move(place, folder)
        return {}
    files: dict[str, bytes] = {}
    for file in data.files:
        path = place / file.name
        if file.name.endswith(".tar.gz"):
            files |= read_archive(path, data.members)
        elif path.stat().st_size > limit("record"):
            raise InputError(f"{path}: {describe_excess('record')}")
        else:
            files[file.name] = path.read_bytes()
    try:
        made = CONVERTERS[data.converter](files)
    except InputError:
        raise
    except (KeyError, ValueError, IndexError, TypeError) as error:
        fault = f"{type(error).__name__}: {error}"
        raise InputError(
            f"{data.name}: its form has changed at its owner's, it cannot be converted ({fault})"
        ) from None
    rows = {name: len(content) - name.endswith(".tsv") for name, content in made.items() if isinstance(content, list)}
    if empty := [name for name, count in rows.items() if not count]:
        raise InputError(f"{data.name}: no rows for {', '.join(empty)}; its form has changed at its owner's")
    with open_draft(folder) as draft:
        for name, content in made.items():
            _write(draft / name, content)
        _move(draft, folder)
    return rows


def _move(draft: Path, folder: Path) -> None:
    """Rename a draft to its folder; where that is there, because files of it were missing, move the files into it."""
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        commit_folder(draft, folder)
        return
    for path in [path for path in draft.rglob("*") if path.is_file()]:
        target = folder / path.relative_to(draft)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)


def _write(path: Path, content: Any) -> None:
    if path.name.endswith(".jsonl.gz"):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in content)
        packed = gzip.compress(lines.encode("utf-8", "replace"), mtime=0)  # the same bytes on every run
        write_atomically(path, lambda file: file.write(packed))
    elif path.name.endswith(".tsv"):
        text = "".join("\t".join(map(str, row)) + "\n" for row in content)
        write_atomically(path, lambda file: file.write(text.encode()))
    else:
        write_json(path, content)


def read_archive(path: Path, patterns: Sequence[str]) -> dict[str, bytes]:
    """Return name -> bytes of an archive's files that match a pattern; nothing is unpacked to the disk.

    Raises InputError for a damaged archive, one with names that lead out of it, and one beyond the limits of readers.
    """
    try:
        files = {}
        with InputFile(path).binary() as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for entry in archive:
                name, content = entry.name, archive.extractfile(entry) if entry.isfile() else None  # not of a link
                if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
                    raise InputError(f"{path}: the archive has a file outside of it, {name!r}; do not use it")
                if content is not None and any(fnmatchcase(name, pattern) for pattern in patterns):
                    if entry.size > limit("record"):
                        raise InputError(f"{path}, {name}: {describe_excess('record')}")
                    files[name] = content.read()
    except tarfile.TarError as error:
        raise InputError(f"{path}: the archive is damaged ({error}); delete it, and run the command again") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    if not files:
        raise InputError(f"{path}: no file of the archive matches {', '.join(patterns)}; its form has changed")
    return files
