"""Record which state of a collection an index was built from, so that an outdated index is never searched."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sciprism.errors import DamagedFileError, InputError
from sciprism.files import BlockChecks, FileState, find_state
from sciprism.store import StoredCollection
from sciprism.store.collection import FileChecksum, StoredRecord

RECORD_NAME = "built_from.json"
Settings = dict[str, str | int | float]  # settings of an index by name, and what was measured when they were chosen


class BuildRecord(StoredRecord):
    """The collection's contents (a hash) and rows when the index was built, the index's settings and files."""

    contents: str
    rows: int
    settings: Settings
    files: dict[str, FileChecksum]


def hash_contents(collection: StoredCollection) -> str:
    """Return a hash of the checksums of all files; equal for equal collections."""
    files = (item for shard in collection.manifest.shards for item in shard.files.items())
    return hashlib.sha256("".join(f"{name} {' '.join(file.blocks)}\n" for name, file in files).encode()).hexdigest()


def write_record(
    folder: Path, collection: StoredCollection, settings: Settings, names: Sequence[str] | None = None
) -> None:
    """Write the record as the last step of a build, so that an interrupted build never counts.

    names: the files of the index, None for all in the folder. The record replaces that of a former index in one step.
    """
    paths = sorted(folder.iterdir()) if names is None else [folder / name for name in names]
    files = {path.name: FileChecksum.of(path) for path in paths}
    record = BuildRecord(contents=hash_contents(collection), rows=collection.rows, settings=settings, files=files)
    record.store(folder / RECORD_NAME)


class IndexChecks:
    """The checks of the files of one index that is built from the collection's present state.

    Raises InputError for an index that is unfinished, or built from another state of the collection.
    """

    def __init__(self, folder: Path, collection: StoredCollection, kind: str) -> None:
        self.folder = folder
        self.remedy = f"run: sciprism index {collection.folder} --{kind}"
        record = BuildRecord.load(folder / RECORD_NAME, self.remedy)
        if record is None:
            raise InputError(f"{collection.folder} has no {kind} index; {self.remedy}")
        if record.contents != hash_contents(collection):
            raise InputError(
                f"the {kind} index of {collection.folder} is out of date: it was built from {record.rows} rows, "
                f"and the collection has changed since (now {collection.rows} rows); {self.remedy}"
            )
        self.settings = record.settings
        self._files = record.files

    def find_name(self, suffix: str) -> str:
        """Return the name of the file with a suffix."""
        return next(name for name in self._files if name.endswith(suffix))

    def open(self, name: str) -> BlockChecks:
        """Return the checks of one file, compared block by block later. Raises DamagedFileError for another size."""
        path, file = self.folder / name, self._files[name]
        if not path.is_file() or path.stat().st_size != file.size:
            raise DamagedFileError(f"{path} is missing or damaged; {self.remedy}")
        return BlockChecks(path, file.blocks, self.remedy)

    def check_whole(self, *except_for: str) -> None:
        """Compare all files but some with their checksums. Raises DamagedFileError."""
        for name in self._files.keys() - set(except_for):
            checks = self.open(name)
            if checks.path.stat().st_size:
                checks.check(np.memmap(checks.path, np.uint8, "r"))


def list_index_states(collection: StoredCollection) -> Iterator[FileState]:
    """Yield the state of the files of all indexes of a collection."""
    for path in sorted((collection.folder / "index").rglob(RECORD_NAME)):
        place = path.parent.relative_to(collection.folder)
        try:
            record = BuildRecord.load(path, "")
        except DamagedFileError:
            record = None
        yield FileState((place / RECORD_NAME).as_posix(), "ok" if record else "damaged")
        for name, file in record.files.items() if record else ():
            yield FileState((place / name).as_posix(), find_state(path.parent / name, file.size, file.blocks))
