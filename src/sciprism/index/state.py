"""Remember what an added index was built from, so that an index of yesterday is not searched today."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from sciprism.errors import InputError
from sciprism.files import commit
from sciprism.store import Collection

NAME = "built_from.json"


class BuiltFrom(BaseModel):
    """The state of the collection at the time, and the settings of the index."""

    model_config = ConfigDict(frozen=True, strict=True)

    contents: str
    rows: int
    settings: dict[str, str | int | float]


def contents_of(collection: Collection) -> str:
    """Hash the checksums of all files; equal for equal collections."""
    names = [
        f"{name} {record.sha256}\n"
        for shard in collection.manifest.shards
        for name, record in shard.files.items()
    ]
    return hashlib.sha256("".join(names).encode()).hexdigest()


def forget(home: Path) -> None:
    """Mark an index as unfinished while it is being built."""
    (home / NAME).unlink(missing_ok=True)


def remember(home: Path, collection: Collection, settings: dict[str, str | int | float]) -> None:
    """Mark an index as finished; written last, so a stopped build never counts."""
    state = BuiltFrom(contents=contents_of(collection), rows=collection.rows, settings=settings)
    commit(home / NAME, lambda file: file.write((state.model_dump_json(indent=1) + "\n").encode()))


def check(home: Path, collection: Collection, kind: str) -> None:
    """Refuse an index that is unfinished or not of this very collection, and say what to run."""
    remedy = f"run: sciprism index {collection.folder} --{kind}"
    try:
        state = BuiltFrom.model_validate_json((home / NAME).read_bytes())
    except FileNotFoundError:
        raise InputError(f"{collection.folder} has no {kind} index; {remedy}") from None
    except ValidationError:
        raise InputError(f"{home / NAME} is damaged; {remedy}") from None
    if state.contents != contents_of(collection):
        raise InputError(
            f"the {kind} index of {collection.folder} is out of date: it was built from {state.rows} rows, "
            f"and the collection has changed since (now {collection.rows} rows); {remedy}"
        )
