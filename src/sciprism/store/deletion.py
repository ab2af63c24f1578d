"""Delete papers from a collection: their rows stay in the files, and no search, count or export has them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sciprism.arrays import Rows
from sciprism.checksums import hash_blocks
from sciprism.errors import InputError
from sciprism.files import lock_folder, sha256, write_atomically
from sciprism.store.collection import StoredCollection
from sciprism.store.layout import DELETED_FOLDER
from sciprism.store.manifest import FileChecksum, Manifest, RowsRecord

MAX_NAMED = 10


@dataclass(frozen=True, slots=True)
class DeleteReport:
    """Papers deleted, ids that the collection has not, and its papers afterwards."""

    deleted: int
    unknown: tuple[str, ...]
    papers: int


def delete(folder: Path | str, ids: Iterable[str], *, missing_ok: bool = False) -> DeleteReport:
    """Delete the papers of some ids, all or none: an interruption leaves the collection as it was.

    Raises InputError, and deletes nothing, where an id is unknown; with missing_ok such ids are reported.
    Indexes stay valid. The rows keep their place on disk until the papers are embedded into a new folder.
    """
    folder = Path(folder)
    StoredCollection.open(folder)  # before a lock makes the folder
    with lock_folder(folder):
        collection = StoredCollection.open(folder)
        rows = {id: collection.find_row(id) for id in dict.fromkeys(ids)}
        unknown = tuple(id for id, row in rows.items() if row is None)
        if unknown and not missing_ok:
            shown = ", ".join(map(repr, unknown[:MAX_NAMED])) + (" ..." if len(unknown) > MAX_NAMED else "")
            raise InputError(
                f"{folder} has no paper with the id {shown} ({len(unknown)} of {len(rows)}); nothing was deleted; "
                "--missing-ok ignores ids that are not there"
            )
        found = np.array([row for row in rows.values() if row is not None], np.int64)
        manifest = mark_deleted(collection, found)
        if len(found):
            manifest.write(folder)
            remove_former(collection, manifest)
    return DeleteReport(len(found), unknown, manifest.papers)


def mark_deleted(collection: StoredCollection, rows: Rows) -> Manifest:
    """Write the file of all deleted rows, these too; return the manifest that commits it once it is written."""
    if not len(rows):
        return collection.manifest
    before = collection.manifest.deleted
    every = np.union1d(collection.deleted_rows, rows)
    number = int(Path(before.file).stem) + 1 if before else 0
    missing = int(collection.column("missing_abstract")[every].sum())
    record = write_rows(collection.folder, f"{DELETED_FOLDER}/{number:06d}.npy", every, missing)
    return collection.manifest.model_copy(update={"deleted": record})


def write_rows(folder: Path, name: str, rows: Rows, missing_abstracts: int) -> RowsRecord:
    """Write a file of numbers of rows, and return its record for the manifest."""
    path = folder / name
    write_atomically(path, partial(np.save, arr=rows, allow_pickle=False))
    checksum = FileChecksum(size=path.stat().st_size, sha256=sha256(path), blocks=hash_blocks(path))
    return RowsRecord(rows=len(rows), missing_abstracts=missing_abstracts, file=name, checksum=checksum)


def remove_former(collection: StoredCollection, manifest: Manifest) -> None:
    """Remove the file of deleted rows that a newer one replaced."""
    before = collection.manifest.deleted
    if before and manifest.deleted and before.file != manifest.deleted.file:
        (collection.folder / before.file).unlink(missing_ok=True)
