"""What people upload or decide: a folder for each item, with an owner, a quota and an expiry.

An item is there as a whole or not at all, whenever the service is killed.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from json import JSONDecodeError, loads
from operator import methodcaller
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any
from urllib.parse import quote

from sciprism.errors import InputError
from sciprism.files import FULL, sync_folder, write_atomically, write_json
from sciprism.service.responses import Refusal, UnknownNameError
from sciprism.service.settings import MEGABYTE

log = logging.getLogger("sciprism.service")
RECORD = "item.json"
DAY = 86_400.0
BLOCK = 4_096  # bytes of a disk
_DRAFT, _GONE, _OWNER = ".draft-", ".gone-", "owner-"
MAX_NAME = 200
ID = r"[a-z]+-[0-9a-f]{16}"


@dataclass(frozen=True, slots=True)
class WorkspaceItem:
    """Something that an owner has in the workspace. kind: what it is, such as upload; it begins the id."""

    id: str
    kind: str
    name: str
    created: str
    folder: Path

    def to_json(self) -> dict[str, str]:
        """Return all but the folder."""
        return {name: value for name, value in asdict(self).items() if name != "folder"}

    def hide_path(self, text: object) -> str:
        """Return a text in which files of the item have their names alone."""
        return str(text).replace(f"{self.folder}/", "")


class Workspace:
    """A folder of items by owner; an item that was not used for some days is deleted. quota: MB of each owner."""

    def __init__(self, folder: Path, background: Background, *, quota: float, expiry: float) -> None:
        self.folder, self._background = folder, background
        self._quota, self._expiry, self._creating = quota, expiry, Lock()
        self._began = time.time()  # one service at a time uses the folder: older drafts are those of a killed one

    def create(self, owner: str, kind: str, name: str, files: Mapping[str, bytes]) -> WorkspaceItem:
        """Store an item with some files. Raises Refusal for more than the quota."""
        id = f"{kind}-{secrets.token_hex(8)}"
        home = self._home(owner)
        record = {"name": name[:MAX_NAME], "created": datetime.now(UTC).isoformat(timespec="seconds")}
        with self._creating:  # one at a time, so that two together cannot exceed the quota
            size = sum(max(BLOCK, len(content)) for content in (b"", b"", *files.values()))  # the folder, its record
            used = self.count_bytes(owner)
            if used + size > self._quota * MEGABYTE:
                free = max(0.0, self._quota - used / MEGABYTE)
                raise Refusal(507, f"{free:.1f} of your {self._quota:g} MB are free; delete an item first")
            home.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(prefix=_DRAFT, dir=home, ignore_cleanup_errors=True) as draft:  # gone if it fails
                for path, content in files.items():
                    write_atomically(Path(draft) / path, methodcaller("write", content))
                write_json(Path(draft) / RECORD, record)
                Path(draft).rename(home / id)  # while nobody counts: a folder that moves is counted twice or not at all
        sync_folder(home)
        return self.find(owner, id)

    def find(self, owner: str, id: str) -> WorkspaceItem:
        """Return an item of an owner, and note that it is used. Raises UnknownNameError for another's or none."""
        item = self._read(self._home(owner) / id) if re.fullmatch(ID, id) else None
        if item is None:
            raise UnknownNameError(f"you have no item {id!r} in the workspace; it may have expired")
        with suppress(FileNotFoundError):  # deleted meanwhile
            os.utime(item.folder / RECORD)
        return item

    def list_items(self, owner: str = "", kind: str = "[!.]*") -> list[WorkspaceItem]:
        """Return the items of an owner, "" for all owners, the newest first."""
        homes = [self._home(owner)] if owner else self.folder.glob(f"{_OWNER}*")
        found = (self._read(folder) for home in homes for folder in home.glob(f"{kind}-*"))
        return sorted(filter(None, found), key=lambda item: item.created, reverse=True)

    def delete(self, owner: str, id: str) -> None:
        """Delete an item."""
        _remove(self.find(owner, id).folder)

    def describe(self, item: WorkspaceItem) -> dict[str, Any]:
        """Return what `Background.describe` says of an item, and when it is deleted unless it is used."""
        expires = datetime.fromtimestamp(_time_of(item.folder / RECORD) + self._expiry * DAY, UTC)
        return self._background.describe(item) | {"expires": expires.isoformat(timespec="seconds")}

    def count_bytes(self, owner: str) -> int:
        """Return the bytes that all files and folders of an owner take, each at least a block."""
        total = 0
        for path in self._home(owner).rglob("*"):
            with suppress(FileNotFoundError):  # a temporary file
                total += max(BLOCK, path.stat().st_size)
        return total

    def clean(self) -> None:
        """Delete expired items and what a kill left of unfinished ones."""
        for folder in self.folder.glob(f"{_OWNER}*/*"):
            left = not (folder / RECORD).is_file() and _time_of(folder) < self._began
            if left or folder.name.startswith(_GONE):
                shutil.rmtree(folder, ignore_errors=True)
        limit = time.time() - self._expiry * DAY
        expired = [item for item in self.list_items() if _time_of(item.folder / RECORD) < limit]
        for item in expired:
            _remove(item.folder)
            log.info("%s expired and is deleted", item.id)

    def _home(self, owner: str) -> Path:
        return self.folder / f"{_OWNER}{quote(owner, safe='@')}"

    def _read(self, folder: Path) -> WorkspaceItem | None:
        try:
            record = loads((folder / RECORD).read_text(encoding="utf-8"))
            kind = folder.name.rpartition("-")[0]
            return WorkspaceItem(folder.name, kind, str(record["name"]), str(record["created"]), folder)
        except (OSError, JSONDecodeError, KeyError, TypeError):
            return None


def _time_of(path: Path) -> float:
    """Return when a file was changed; of one that was just deleted, now."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return time.time()


def _remove(folder: Path) -> None:
    gone = folder.with_name(_GONE + folder.name)
    with suppress(FileNotFoundError):  # by another request too
        folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


FAILURE, REPORT = "failure.json", "report.json"
WAITING, FAILED = {"state": "waiting", "doing": "waiting"}, {"state": "failed", "doing": ""}
UPLOAD, COLLECTION = "upload", "collection"
FULL_DISK = "the disk of the service is full: delete what you do not need, or tell whoever runs it; then try again"


class StoppedError(RuntimeError):
    """The service stops, or the item was deleted."""


@dataclass(slots=True)
class Background:
    """Works on items, of each owner on one at a time.

    kinds: kind of item -> what is there when the work is done, and the work. progress: what is shown of each item that
    waits, is worked on, or failed.
    """

    kinds: dict[str, tuple[str, Callable[..., None]]] = field(default_factory=dict)
    progress: dict[str, dict[str, Any]] = field(default_factory=dict)
    _closed: bool = False
    _queues: dict[str, ThreadPoolExecutor] = field(default_factory=dict)  # an owner -> one thread

    def start(self, item: WorkspaceItem, queue: str = "", **options: Any) -> dict[str, Any]:
        """Work on an item when those before it are done, of its owner or a queue; return what is shown of it."""
        shown = self.progress.get(item.id, {"error": ""})
        if "error" in shown:  # it neither waits nor is worked on
            (item.folder / FAILURE).unlink(missing_ok=True)
            shown = self.progress[item.id] = dict(WAITING)
            name = queue or item.folder.parent.name
            self._queues.setdefault(name, ThreadPoolExecutor(1, "background")).submit(self._run, item, options)
        return shown

    def resume(self, items: Iterable[WorkspaceItem]) -> None:
        """Work on the items that have neither a result nor a failure: a stop interrupted them."""
        for item in items:
            result, _ = self.kinds.get(item.kind, (RECORD, None))
            if not any((item.folder / name).exists() for name in (result, FAILURE)):
                self.start(item)

    def describe(self, item: WorkspaceItem) -> dict[str, Any]:
        """Return an item with its state, what is done on it now, whether its result is there, and why it failed."""
        progress = self.progress.get(item.id, {})  # looked up before the files that end it
        result, failure = self.kinds.get(item.kind, (RECORD, None))[0], read_document(item.folder / FAILURE)
        ready = (item.folder / result).exists()
        state = {"state": "failed" if failure else "ready" if ready else "waiting", "ready": ready, "error": ""}
        shown = state | {"doing": "", "papers": 0} | read_document(item.folder / REPORT) | failure | progress
        return item.to_json() | shown

    def check(self, item: WorkspaceItem) -> None:
        """Raise StoppedError where the work on an item is to end."""
        if self._closed or not item.folder.exists():
            raise StoppedError

    def show(self, item: WorkspaceItem, work: str, unit: str = "", done: int = 0, total: int | None = None, /) -> None:
        """Show how far the work on an item is; raises StoppedError where it is to end."""
        self.check(item)
        count = f": {done:,}{f' of {total:,}' if total else ''} {unit}" if done else ""
        self.progress[item.id] = {"state": "working", "doing": work + count}

    def close(self) -> None:
        """Stop at the next check."""
        self._closed = True
        for queue in self._queues.values():
            queue.shutdown(wait=False, cancel_futures=True)

    def _run(self, item: WorkspaceItem, options: dict[str, Any]) -> None:
        before = {*item.folder.glob("*")}
        try:
            self.check(item)
            self.kinds[item.kind][1](item, **options)
        except Exception as error:  # noqa: BLE001 (the page says so, and the next item goes on)
            if item.folder.exists() and not self._closed:  # an item that a stop interrupted may go on at the next start
                for path in {*item.folder.glob("*")} - before:  # what was made before it failed
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                reason = str(error) if isinstance(error, InputError) else f"it failed ({type(error).__name__})"
                reason = FULL_DISK if isinstance(error, OSError) and error.errno in FULL else reason
                facts = {"error": item.hide_path(reason)}
                self.progress[item.id] = FAILED | facts
                with suppress(OSError):  # if the disk is full, the progress says it until a restart
                    write_json(item.folder / FAILURE, facts)
                return
        del self.progress[item.id]


def read_document(path: Path) -> dict[str, Any]:
    """Return the document of a file, an empty one where there is no file."""
    try:
        document: dict[str, Any] = loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return document
