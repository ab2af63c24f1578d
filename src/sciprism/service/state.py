"""What a running service holds, opened once: collections, models with their batches, uploads; and its threads.

Collections are read-only, and opened again when they changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock
from typing import Any, NoReturn, TypeVar, cast

from sciprism.encoders.encoder import Encoder
from sciprism.errors import DamagedFileError, InputError
from sciprism.papers import Paper, ReadReport
from sciprism.papers.read import AbstractCompletion
from sciprism.parallel import Progress, show_each, show_nothing
from sciprism.registry import most_similar
from sciprism.service.batching import GIVEN_UP, CallGroups, SharedEncoder, TokenBatcher
from sciprism.service.limits import CLIENT, Gatekeeper, Turns
from sciprism.service.observation import QUEUE, count_batch
from sciprism.service.papers import ServedTagger
from sciprism.service.responses import UnknownNameError
from sciprism.service.settings import ServeSettings
from sciprism.service.workspace import COLLECTION, ID, REPORT, UPLOAD, Background, Workspace, WorkspaceItem
from sciprism.store import StoredCollection
from sciprism.store.collection import MANIFEST_NAME
from sciprism.store.embed import EmbedInput, embed_files
from sciprism.uses.collection import index_words, load_encoder
from sciprism.uses.deduplication import dedupe
from sciprism.uses.search import QUERY_BATCH, Ranking

log = logging.getLogger("sciprism.service")
Item = TypeVar("Item")
Result = TypeVar("Result")
THREADS, SHARE = 8, 2  # uses that run at once, of all and of each client; their encoding shares the batches
DEMO_PAPERS = "landmarks.jsonl"
OPEN = 64  # uploads that are held open


class ServedCollection:
    """A collection under a name and a title; `open` returns the newest finished state of its folder."""

    def __init__(self, name: str, folder: Path, title: str = "") -> None:
        self.name, self.folder, self.title = name, folder, title or name
        self._lock = Lock()
        self._seen = self._stamp()
        self._stored = StoredCollection.open(folder)

    def open(self) -> StoredCollection:
        """Return the collection; callers keep what they got, while a newer state replaces it for the next one.

        A state that is unfinished, damaged, or of another model does not replace the one that is served.
        """
        with self._lock:
            stamp = self._stamp()
            if stamp != self._seen:
                self._seen = stamp
                self._replace()
            return self._stored

    def _replace(self) -> None:
        try:
            newer = StoredCollection.open(self.folder)
        except InputError as error:
            log.warning("the former state of %s is served: %s", self.name, error)
            return
        former = self._stored.manifest
        if newer.manifest.input is None and former.input is not None:
            return  # a run is adding papers; its last step changes the manifest again
        if newer.manifest.encoder.fingerprint != former.encoder.fingerprint:
            log.warning("%s was embedded with another model: restart to serve it", self.name)
            return
        self._stored = newer
        log.info("%s was opened again: %d papers", self.name, len(newer))

    def _stamp(self) -> tuple[int, int, int]:
        try:
            state = os.stat(self.folder / MANIFEST_NAME)  # noqa: PTH116 (once a request)
        except FileNotFoundError:
            return (0, 0, 0)
        return (state.st_ino, state.st_mtime_ns, state.st_size)


class Served(dict[str, Item]):
    """Things of a kind that are served, by their name."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, name: str) -> NoReturn:
        near = ", ".join(most_similar(name, list(self)))
        raise UnknownNameError(f"no {self._kind} {name!r} is served; the nearest: {near or 'none'}")

    def choose(self, name: str) -> Item:
        """Return the thing of a name; "" is the only one. Raises UnknownNameError for an unknown name."""
        if not name and len(self) > 1:
            raise UnknownNameError(f"name one of the {self._kind}s: {', '.join(self)}")
        return self[name or next(iter(self), "")]


class ServedCollections(Served[ServedCollection]):
    """Collections by name, which is that of the folder."""

    def __init__(self, folders: Iterable[Path]) -> None:
        super().__init__("collection")
        for folder in folders:
            name = folder.resolve().name
            if name in self:
                raise InputError(f"{folder} and {self[name].folder} have one name; rename one of the folders")
            self[name] = ServedCollection(name, folder)


def load_encoders(collections: ServedCollections, model: str = "") -> dict[str, Encoder]:
    """Load each model once: the named one first, then those of the collections; fingerprint -> encoder."""
    encoders: dict[str, Encoder] = {}
    if model or not collections:
        named = Encoder.load(model or None)
        encoders[named.fingerprint] = named
    for served in collections.values():
        stored = served.open()
        if stored.manifest.encoder.fingerprint not in encoders:
            encoder = load_encoder(stored)
            encoders[encoder.fingerprint] = encoder
    return encoders


@lru_cache(OPEN)
def _open_upload(item: WorkspaceItem) -> ServedCollection:
    return ServedCollection(item.id, item.folder / COLLECTION, item.name)


def find_demo() -> Path:
    """Return the file of the example papers. Raises InputError where this installation has none."""
    package = Path(__file__).parents[1]
    for place in (package / "examples", package.parents[1] / "examples" / "landmarks"):
        if (place / DEMO_PAPERS).is_file():
            return place / DEMO_PAPERS
    raise InputError("this installation has no example papers; name a collection, or files of papers")


def build_library(
    files: Sequence[str | Path], folder: Path, *, merge: bool = False, progress: Progress = show_nothing
) -> tuple[Path, dict[str, int]]:
    """Embed files of papers below a folder, again only what changed, and index their words.

    merge: records of one paper become one. Returns the collection, and counts of what the files hold.
    """
    source = EmbedInput(paths=tuple(map(str, files)), skip_bad=True)
    read, known = ReadReport(), 0
    records = sum(1 for _ in show_each(source.read(read), progress, "reading", "papers"))

    def find_distinct(papers: list[Paper]) -> list[Paper]:
        nonlocal known
        distinct = [paper for paper, _ in dedupe(papers, progress=progress).papers()]
        known = len(distinct)
        return distinct if merge else papers

    key = hashlib.sha256("\n".join(str(Path(path).resolve()) for path in files).encode()).hexdigest()[:12]
    target = folder / f"{key}{'-merged' * merge}" / (Path(files[0]).stem or "library")
    report = embed_files(
        source,
        Encoder(),
        target,
        AbstractCompletion(),
        replace=True,
        prune=not read.skipped_count,
        deduplicate=find_distinct,
        progress=progress,
    )
    if reason := report.explain_nothing():
        raise InputError(reason)
    index_words(target, progress)
    stored = StoredCollection.open(target)
    return target, {
        "papers": len(stored),
        "records are merged": records - len(stored),
        "records are repeated (--dedupe merges them)": len(stored) - known,
        "records are unusable (`sciprism inspect` names them)": read.skipped_count,
    }


class ServiceState:
    """The one copy of all that requests share; `load` makes it ready, before the server begins."""

    def __init__(self, settings: ServeSettings, collections: ServedCollections, model: str = "") -> None:
        self.settings, self.collections, self.model = settings, collections, model
        self.gatekeeper = Gatekeeper(settings.token_file)
        self.batchers: dict[str, TokenBatcher] = {}
        self.taggers = Served[ServedTagger]("tagger")
        self.searches: CallGroups[str, Ranking] = CallGroups(QUERY_BATCH)
        self.background = Background()
        place = settings.workspace
        limits = {"quota": settings.quota, "expiry": settings.expiry}
        self.workspace = Workspace(place, self.background, **limits) if place else None
        self._temporary = TemporaryDirectory(prefix="sciprism-", ignore_cleanup_errors=True)  # without a workspace
        self.maps = (place or Path(self._temporary.name)) / "maps"
        self._threads = ThreadPoolExecutor(THREADS, "use")
        self._turns = Turns(SHARE)
        self._loop: asyncio.AbstractEventLoop | None = None

    def load(self) -> None:
        """Load the models and the taggers, before the server answers."""
        encoders = load_encoders(self.collections, self.model)
        first = next(iter(encoders.values()))
        self.taggers.update({path.stem: ServedTagger(path, first) for path in self.settings.tagger})
        options: dict[str, Any] = {"queue": self.settings.queue, "on_batch": count_batch}
        self.batchers = {fingerprint: TokenBatcher(encoder, **options) for fingerprint, encoder in encoders.items()}
        QUEUE.set_function(lambda: sum(item.waiting for item in self.batchers.values()))

    def begin(self) -> None:
        """Note the server's loop, and continue the work that a stop interrupted."""
        self._loop = asyncio.get_running_loop()
        if self.workspace is not None:
            self.background.resume(self.workspace.list_items())

    def find_batcher(self, name: str) -> TokenBatcher:
        """Return the batches of a model by its name; "" is the first. Raises UnknownNameError."""
        names = {batcher.name: batcher for batcher in self.batchers.values()}
        if not name or name in names:
            return names[name or next(iter(names))]
        raise UnknownNameError(f"no model {name!r} is served; there is {', '.join(names)}")

    def share_model(self, fingerprint: str = "", *, patient: bool = False) -> Encoder:
        """Return the encoder of a fingerprint, the first by default, for uses in other threads.

        Raises InputError for a model that is not served any more.
        """
        assert self._loop is not None
        batcher = self.batchers.get(fingerprint or next(iter(self.batchers)))
        if batcher is None:
            raise InputError("this collection was embedded with a model that is not served; serve it with --model")
        return cast("Encoder", SharedEncoder(batcher, self._loop, patient=patient))

    async def run(self, work: Callable[..., Result], *args: Any) -> Result:
        """Return what a function returns that runs in one of the threads, of which each client has a share.

        Where nobody waits for it any more, what it encodes is given up.
        """
        context, given_up = copy_context(), Event()
        context.run(GIVEN_UP.set, given_up)
        async with self._turns.take(CLIENT.get()):
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, context.run, work, *args)
            finally:
                given_up.set()

    def find_collection(self, owner: str, name: str) -> ServedCollection:
        """Return a served collection, or an upload of an owner. Raises UnknownNameError for another name."""
        if self.workspace is not None and name.startswith(f"{UPLOAD}-") and name not in self.collections:
            item = self.workspace.find(owner, name)
            if not (item.folder / REPORT).exists():
                how_far = f"/workspace/collections/{item.id} says how far it is"
                raise InputError(f"the upload {item.id} is not embedded yet; {how_far}")
            return _open_upload(item)
        return self.collections.choose(name)

    def hide_paths(self, message: str) -> str:
        """Return a message of a use with the names of collections in place of their folders."""
        for served in self.collections.values():
            message = message.replace(str(served.folder), served.name)
        if self.workspace is not None:
            place = rf"{re.escape(str(self.workspace.folder))}/[^/]+/({ID})(/{COLLECTION})?"
            message = re.sub(place, r"\1", message)
        return message

    async def use(self, owner: str, name: str, work: Callable[[StoredCollection, Encoder], Result]) -> Result:
        """Return what a use of a collection and its encoder returns; once more where its files were just replaced."""
        return await self.run(self._use, owner, name, work)

    def _use(self, owner: str, name: str, work: Callable[[StoredCollection, Encoder], Result]) -> Result:
        served = self.find_collection(owner, name)
        stored = served.open()
        try:
            return work(stored, self.share_model(stored.manifest.encoder.fingerprint))
        except DamagedFileError:
            newer = served.open()
            if newer is stored:
                raise
            return work(newer, self.share_model(newer.manifest.encoder.fingerprint))

    def close(self) -> None:
        """Free the threads, after the last request."""
        self.background.close()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._temporary.cleanup()  # here: a signal ends the process once the server has stopped
