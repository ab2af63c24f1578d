"""Work on items of the workspace in the background, one after the other; what fails says so in its item."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from json import loads
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.service.workspace import WorkspaceItem

FAILURE = "failure.json"


class StoppedError(RuntimeError):
    """The service stops, or the item was deleted."""


@dataclass(slots=True)
class Background:
    """Works on one item at a time. progress: what is shown of each item that waits or is worked on."""

    progress: dict[str, dict[str, Any]] = field(default_factory=dict)
    _closed: bool = False
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "background"))

    def start(self, item: WorkspaceItem, work: Callable[[WorkspaceItem], None], **progress: Any) -> None:
        """Work on an item when those before it are done."""
        (item.folder / FAILURE).unlink(missing_ok=True)
        self.progress[item.id] = progress or {"doing": "waiting"}
        self._thread.submit(self._run, item, work)

    def continue_work(
        self, items: Iterable[WorkspaceItem], result: str, work: Callable[[WorkspaceItem], None], **progress: Any
    ) -> None:
        """Work on the items that have neither a result nor a failure: a stop interrupted them."""
        for item in items:
            if not any((item.folder / name).exists() for name in (result, FAILURE)):
                self.start(item, work, **progress)

    def describe(self, item: WorkspaceItem, result: str) -> dict[str, Any]:
        """Return an item with what is done on it now, "" for nothing; whether its result is there; why it failed."""
        doing = self.progress.get(item.id, {}).get("doing", "")  # looked up before the files that end it
        facts = {"doing": doing, "ready": (item.folder / result).exists(), "error": ""}
        return item.to_json() | facts | read_document(item.folder / FAILURE)

    def check(self, item: WorkspaceItem) -> None:
        """Raise StoppedError where the work on an item is to end."""
        if self._closed or not item.folder.exists():
            raise StoppedError

    def close(self) -> None:
        """Stop at the next check."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _run(self, item: WorkspaceItem, work: Callable[[WorkspaceItem], None]) -> None:
        try:
            self.check(item)
            work(item)
        except Exception as error:  # noqa: BLE001 (the page says so, and the next item goes on)
            if item.folder.exists() and not self._closed:  # an item that a stop interrupted may go on at the next start
                message = str(error).replace(f"{item.folder}/", "")
                reason = message if isinstance(error, InputError) else f"it failed ({type(error).__name__})"
                write_json(item.folder / FAILURE, {"error": reason})
        finally:
            self.progress.pop(item.id, None)


@dataclass(slots=True)
class ItemProgress:
    """Shows the pieces of work on an item as they begin, and how much of each is done; ends the work after a stop."""

    background: Background
    item: WorkspaceItem
    _text: str = ""

    def begin(self, work: str, unit: str = "", total: int | None = None) -> None:
        """Begin a piece of work of `total` units."""
        self._text = f"{work}: {{:,}} of {total:,} {unit}" if total else work
        self.update(0)

    def update(self, done: int) -> None:
        """Show how many units are done."""
        self.background.check(self.item)
        self.background.progress[self.item.id]["doing"] = self._text.format(done)


def read_document(path: Path) -> dict[str, Any]:
    """Return the document of a file, an empty one where there is no file."""
    try:
        document: dict[str, Any] = loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return document
