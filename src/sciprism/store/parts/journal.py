"""Put the shards of all parts in their places in one collection: links or renames, resumed after a kill."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from sciprism.checksums import read_sealed, seal_json
from sciprism.errors import InputError
from sciprism.files import explain_write_errors, sync_folder, write_atomically
from sciprism.papers.division import PartNumber
from sciprism.store.manifest import InputRecord, Manifest, RowsRecord, ShardRecord, read_manifest
from sciprism.store.parts.plan import PartsPlan
from sciprism.store.parts.state import PARTS_FOLDER, part_folder

JOURNAL_NAME = "merge.json"
"""In the folder of parts while their shards are put in their places."""

_NUMBER = re.compile(r"\d+(?=\.(?:parquet|npy|scales\.npy)\Z)")


class MergeJournal(BaseModel):
    """What a merge does: the shards of the collection in order, as (part, shard), and the rows that repeat others."""

    model_config = ConfigDict(frozen=True, strict=True)

    shards: list[tuple[int, int]]
    repeated: RowsRecord | None
    input: InputRecord


def write_journal(folder: Path, journal: MergeJournal) -> None:
    """Write what will be done; from then on nothing else is."""
    content = seal_json(journal.model_dump_json())
    write_atomically(folder / PARTS_FOLDER / JOURNAL_NAME, lambda file: file.write(content))


def read_journal(folder: Path) -> MergeJournal | None:
    """Return what an interrupted merge was doing, None where there is none."""
    path = folder / PARTS_FOLDER / JOURNAL_NAME
    remedy = "delete it, and merge again"
    try:
        return MergeJournal.model_validate_json(read_sealed(path, remedy)[0])
    except FileNotFoundError:
        return None
    except ValidationError:
        raise InputError(f"{path} is damaged; {remedy}") from None


def carry_out(folder: Path, plan: PartsPlan, journal: MergeJournal) -> Manifest:
    """Put all shards in their places and commit the collection with its manifest; what is done is not done again.

    A kill before the last step leaves no collection, and parts whose shards are in one of two places.
    """
    manifests = {part.number: read_manifest(part_folder(folder, part)) for part in plan.numbers()}
    shards = []
    for number, (part, shard) in enumerate(journal.shards):
        record = manifests[part].shards[shard]
        source = part_folder(folder, PartNumber(part, plan.parts))
        names = {name: _NUMBER.sub(f"{number:06d}", name) for name in record.files}
        for name, new in names.items():
            _place(source / name, folder / new)
        shards.append(_renumber(record, names))
    for subfolder in _subfolders(folder, plan):
        if subfolder.exists():
            sync_folder(subfolder)
    manifest = Manifest(
        encoder=plan.encoder,
        dtype=plan.dtype,
        shard_size=plan.shard_size,
        spaces=plan.spaces,
        input=journal.input,
        shards=shards,
        repeated=journal.repeated,
    )
    manifest.write(folder)
    return manifest


def remove_parts(folder: Path) -> None:
    """Remove the parts of a merged collection, whose shards have their places in it."""
    shutil.rmtree(folder / PARTS_FOLDER, ignore_errors=True)


def _place(source: Path, target: Path) -> None:
    """Give a file its place: by a hard link, or by a rename where the file system has none."""
    with explain_write_errors(target):
        if target.exists():
            if not source.exists() or target.samefile(source):
                return
            target.unlink()  # of a merge that was given up
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except FileNotFoundError:
            raise InputError(f"{source} is missing; restore it from a copy, and merge again") from None
        except OSError:
            source.rename(target)


def _renumber(record: ShardRecord, names: dict[str, str]) -> ShardRecord:
    return record.model_copy(update={"files": {names[name]: file for name, file in record.files.items()}})


def _subfolders(folder: Path, plan: PartsPlan) -> Iterator[Path]:
    yield folder / "papers"
    for space in plan.spaces.values():
        yield folder / "vectors" / space.folder
