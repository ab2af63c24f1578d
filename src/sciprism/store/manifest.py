"""The manifest of a collection; a shard belongs to it once the manifest names it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError, computed_field

from sciprism.checksums import lost_checksum, read_sealed, seal_json
from sciprism.errors import InputError
from sciprism.files import write_atomically
from sciprism.store.shard_files import Dtype

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

MANIFEST_NAME = "manifest.json"
PART_NAME = "part.json"  # the file that says which part of an input a collection holds
LAYOUT_VERSION = 1
MAX_SHOWN = 5  # collections that a message names


def is_collection(folder: str | Path) -> bool:
    """Return whether a path is the folder of a collection."""
    return (Path(folder) / MANIFEST_NAME).is_file()


class StoredRecord(BaseModel):
    """A record that is stored as JSON: read strictly, and never changed."""

    model_config = ConfigDict(frozen=True, strict=True)

    @classmethod
    def load(cls, path: Path, remedy: str) -> Self | None:
        """Return the record of a file, None where there is none. Raises InputError for a damaged one."""
        try:
            return cls.model_validate_json(read_sealed(path, remedy)[0])
        except FileNotFoundError:
            return None
        except ValidationError:
            raise InputError(f"{path} is damaged; {remedy}") from None

    def store(self, path: Path, *, indent: int | None = 1, exclude: set[str] | None = None) -> None:
        """Write the record with its checksum, whole or not at all."""
        content = seal_json(self.model_dump_json(indent=indent, exclude=exclude))
        write_atomically(path, lambda file: file.write(content))


class EncoderRecord(StoredRecord):
    """Which encoder made the vectors, the options it was loaded with, and how its vectors are compared."""

    name: str
    options: dict[str, str | int] = {}
    fingerprint: str
    distance: Literal["cosine", "dot", "euclidean"]

    def check(self, encoder: Encoder, place: object) -> None:
        """Raise InputError for an encoder whose vectors do not compare with those stored at a place."""
        if encoder.fingerprint != self.fingerprint:
            raise InputError(
                f"{place} holds vectors of {self.name} (fingerprint {self.fingerprint}), not of "
                f"{encoder.name} (fingerprint {encoder.fingerprint}); use {self.name}, or embed the papers "
                "again with the other encoder into a new folder"
            )


class SpaceRecord(StoredRecord):
    """One space, a matrix per shard: its formats and the encoder's path that gave the vectors."""

    folder: str
    path: str
    formats: list[str]
    dim: int


class FileChecksum(StoredRecord):
    """Size (bytes) and checksums of a committed file: of the whole, and of each block."""

    size: int
    sha256: str
    blocks: list[str]


class ShardRecord(StoredRecord):
    """One shard: its rows, the older rows that they supersede, and its files by path in the folder."""

    rows: int
    missing_abstracts: int
    superseded: int = 0
    superseded_missing_abstracts: int = 0
    files: dict[str, FileChecksum]


class RowsRecord(StoredRecord):
    """Some rows that no search returns, and how many lack an abstract; their numbers are in a file."""

    rows: int
    missing_abstracts: int
    file: str
    checksum: FileChecksum


class InputRecord(StoredRecord):
    """Counts of the last input that was embedded completely: papers read, repeated and skipped."""

    read: int
    duplicates: int
    bad: int


class _LayoutVersion(StoredRecord):
    layout: int


class Manifest(_LayoutVersion):
    """What a collection holds; `input` is None while a run is unfinished.

    deleted: the newest rows of deleted papers. repeated: rows of parts that were merged whose paper another row has;
    they are as if they were not there.
    """

    layout: int = LAYOUT_VERSION
    encoder: EncoderRecord
    dtype: Dtype
    shard_size: int
    spaces: dict[str, SpaceRecord]
    input: InputRecord | None = None
    shards: list[ShardRecord] = []
    deleted: RowsRecord | None = None
    repeated: RowsRecord | None = None

    @property
    def rows(self) -> int:
        """Count the stored rows, superseded ones included."""
        return sum(shard.rows for shard in self.shards)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def superseded(self) -> int:
        """Count the rows that a newer row of the same paper supersedes."""
        return sum(shard.superseded for shard in self.shards)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def papers(self) -> int:
        """Count the papers."""
        return self.rows - self.superseded - sum(record.rows for record in self.row_files)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def missing_abstracts(self) -> int:
        """Count the papers that were encoded by their title alone."""
        here = sum(shard.missing_abstracts - shard.superseded_missing_abstracts for shard in self.shards)
        return here - sum(record.missing_abstracts for record in self.row_files)

    @property
    def row_files(self) -> list[RowsRecord]:
        """List the files of rows that no search returns."""
        return [record for record in (self.deleted, self.repeated) if record is not None]

    @property
    def formats(self) -> list[str]:
        """List the formats whose vectors are stored."""
        return sorted(format for space in self.spaces.values() for format in space.formats)

    def write(self, folder: Path) -> None:
        """Replace the folder's manifest atomically."""
        absent = {name for name in ("deleted", "repeated") if getattr(self, name) is None}
        self.store(folder / MANIFEST_NAME, exclude=absent)


def read_manifest(folder: Path) -> Manifest:
    """Read and check a collection's manifest; InputError where it is missing, damaged or too new."""
    path = folder / MANIFEST_NAME
    if not folder.is_dir():
        raise InputError(_explain_no_collection(folder))
    remedy = "restore it from a copy, or embed into a new folder"
    try:
        text, sealed = read_sealed(path, remedy)
    except FileNotFoundError:
        raise InputError(_explain_no_collection(folder)) from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error}") from error
    try:
        layout = _LayoutVersion.model_validate_json(text).layout
        if layout != LAYOUT_VERSION:
            raise InputError(f"{path} has layout {layout}; this version of sciprism reads {LAYOUT_VERSION}")
        manifest = Manifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise InputError(
            f"{path} is not a manifest of sciprism, or it is damaged ({field}: {first['msg']}); {remedy}"
        ) from None
    if not sealed:
        raise lost_checksum(path, remedy)
    return manifest


def _explain_no_collection(path: Path) -> str:
    """Return what a path is instead of a collection, and a command that makes one and can be copied."""
    if path.is_file() or (path.is_dir() and any(path.iterdir())):
        target, number = path.with_name(f"{path.stem}-vectors"), 2
        while target.exists() and not (target / MANIFEST_NAME).exists():
            target, number = path.with_name(f"{path.stem}-vectors-{number}"), number + 1
        kind = "a file" if path.is_file() else f"a folder without {MANIFEST_NAME}"
        command = shlex.join(["sciprism", "embed", str(path), "-o", str(target)])
        return f"{path} is {kind}, not a collection; make one of it with: {command}, and name {target}"
    collections = sorted(file.parent.name for file in path.parent.glob(f"*/{MANIFEST_NAME}"))
    others = f"; collections next to it: {', '.join(collections[:MAX_SHOWN])}" if collections else ""
    what = "is empty, not a collection" if path.is_dir() else "does not exist"
    return f"{path} {what}{others}; make a collection with: sciprism embed FILES -o {shlex.quote(str(path))}"
