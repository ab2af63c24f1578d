"""Record which state of a collection an index was built from, so that an outdated index is never searched."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from sciprism.errors import InputError
from sciprism.files import write_atomically
from sciprism.store import Collection

RECORD_NAME = "built_from.json"


class BuildRecord(BaseModel):
    """The collection's contents (a hash) and rows when the index was built, and the index's settings."""

    model_config = ConfigDict(frozen=True, strict=True)

    contents: str
    rows: int
    settings: dict[str, str | int | float]


def hash_contents(collection: Collection) -> str:
    """Return a hash of the checksums of all files; equal for equal collections."""
    files = (item for shard in collection.manifest.shards for item in shard.files.items())
    return hashlib.sha256("".join(f"{name} {file.sha256}\n" for name, file in files).encode()).hexdigest()


def delete_record(folder: Path) -> None:
    """Delete the record: the index is being built and does not count."""
    (folder / RECORD_NAME).unlink(missing_ok=True)


def write_record(folder: Path, collection: Collection, settings: dict[str, str | int | float]) -> None:
    """Write the record as the last step of a build, so that an interrupted build never counts."""
    record = BuildRecord(contents=hash_contents(collection), rows=collection.rows, settings=settings)
    write_atomically(folder / RECORD_NAME, lambda file: file.write((record.model_dump_json(indent=1) + "\n").encode()))


def check_record(folder: Path, collection: Collection, kind: str) -> None:
    """Raise InputError for an index that is unfinished or built from another state of the collection."""
    remedy = f"run: sciprism index {collection.folder} --{kind}"
    try:
        record = BuildRecord.model_validate_json((folder / RECORD_NAME).read_bytes())
    except FileNotFoundError:
        raise InputError(f"{collection.folder} has no {kind} index; {remedy}") from None
    except ValidationError:
        raise InputError(f"{folder / RECORD_NAME} is damaged; {remedy}") from None
    if record.contents != hash_contents(collection):
        raise InputError(
            f"the {kind} index of {collection.folder} is out of date: it was built from {record.rows} rows, "
            f"and the collection has changed since (now {collection.rows} rows); {remedy}"
        )
