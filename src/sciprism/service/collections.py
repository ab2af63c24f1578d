"""The collections and models of a service: opened once, read-only, and opened again when a collection changed."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from threading import Lock

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.papers import read_papers
from sciprism.registry import rank_similar
from sciprism.store import StoredCollection
from sciprism.store.manifest import MANIFEST_NAME
from sciprism.uses.collection import load_encoder

log = logging.getLogger("sciprism.service")
DEMO_PAPERS = "landmarks.jsonl"


class UnknownNameError(InputError):
    """Report a collection, a paper or a model that the service does not have."""

    status = 404


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
            log.warning("the former state is served", extra={"collection": self.name, "error": str(error)})
            return
        former = self._stored.manifest
        if newer.manifest.input is None and former.input is not None:
            return  # a run is adding papers; its last step changes the manifest again
        if newer.manifest.encoder.fingerprint != former.encoder.fingerprint:
            log.warning("embedded with another model: restart to serve it", extra={"collection": self.name})
            return
        self._stored = newer
        log.info("opened again", extra={"collection": self.name, "papers": len(newer)})

    def _stamp(self) -> tuple[int, int, int]:
        try:
            state = os.stat(self.folder / MANIFEST_NAME)  # noqa: PTH116 (once a request)
        except FileNotFoundError:
            return (0, 0, 0)
        return (state.st_ino, state.st_mtime_ns, state.st_size)


class ServedCollections(dict[str, ServedCollection]):
    """Collections by name, which is that of the folder."""

    def __init__(self, folders: Iterable[Path]) -> None:
        super().__init__()
        for folder in folders:
            name = folder.resolve().name
            if name in self:
                raise InputError(f"{folder} and {self[name].folder} have one name; rename one of the folders")
            self[name] = ServedCollection(name, folder)

    def __missing__(self, name: str) -> ServedCollection:
        near = ", ".join(list(self)[place] for _, place in rank_similar(name, list(self), 3))
        raise UnknownNameError(f"no collection {name!r} is served; the nearest: {near or 'none'}")

    def choose(self, name: str) -> ServedCollection:
        """Return the collection of a name; "" is the only one. Raises UnknownNameError for an unknown name."""
        if not name and len(self) > 1:
            raise UnknownNameError(f"name one of the collections: {', '.join(self)}")
        return self[name or next(iter(self), "")]


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


def build_demo(folder: Path) -> Path:
    """Return the collection of the example papers, below a folder; it is made where it is not there yet."""
    from sciprism.index import lexical
    from sciprism.store import embed

    package = Path(__file__).parents[1]
    places = (package / "examples" / DEMO_PAPERS, package.parents[1] / "examples" / "landmarks" / DEMO_PAPERS)
    papers = next((place for place in places if place.is_file()), None)
    if papers is None:
        raise InputError("this installation has no example papers; name a collection")
    target = folder / "landmarks"
    report = embed(read_papers(papers), Encoder(), target, replace=True)
    stored = StoredCollection.open(target)
    if report.encoded or not (target / "index" / "lexical").is_dir():
        lexical.build(stored)
    return target
