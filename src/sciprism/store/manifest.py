"""The manifest of a collection; a shard belongs to it once the manifest names it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError, computed_field

from sciprism.checksums import hash_blocks, read_sealed, seal_json
from sciprism.errors import DamagedFileError, InputError
from sciprism.files import write_atomically
from sciprism.store.shard_files import Dtype

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

MANIFEST_NAME = "manifest.json"
PART_NAME = "part.json"  # the file that says which part of an input a collection holds
MAX_SHOWN = 5  # collections that a message names


def is_collection(folder: str | Path) -> bool:
    """Return whether a path is the folder of a collection."""
    return (Path(folder) / MANIFEST_NAME).is_file()


class StoredRecord(BaseModel):
    """A record that is stored as JSON: read strictly, and never changed."""

    model_config = ConfigDict(frozen=True, strict=True)

    @classmethod
    def load(cls, path: Path, remedy: str) -> Self | None:
        """Return the record of a file, None where there is none. Raises DamagedFileError that names what is wrong."""
        try:
            content, sealed = read_sealed(path, remedy)
        except FileNotFoundError:
            return None
        try:
            record = cls.model_validate_json(content)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(map(str, first["loc"])) or "the whole file"
            what = f"or not of this version of sciprism ({field}: {first['msg']})"
            raise DamagedFileError(f"{path} is damaged, {what}; {remedy}") from None
        if not sealed:
            raise DamagedFileError(f"{path} is damaged: it lacks its checksum; {remedy}")
        return record

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
            made, asked = (
                ", ".join(
                    [each.name, f"fingerprint {each.fingerprint}", *(f"{k} {v}" for k, v in each.options.items())]
                )
                for each in (self, encoder)
            )
            raise InputError(
                f"{place} holds vectors of {made}; not of {asked}; use {self.name}, or embed the papers "
                "again with the other encoder into a new folder"
            )


class SpaceRecord(StoredRecord):
    """One space, a matrix per shard: its formats and the encoder's path that gave the vectors."""

    folder: str
    path: str
    formats: list[str]
    dim: int


class FileChecksum(StoredRecord):
    """Size (bytes) of a committed file, and the checksum of each block."""

    size: int
    blocks: list[str]

    @classmethod
    def of(cls, path: Path) -> Self:
        """Return the checksum of a file."""
        return cls(size=path.stat().st_size, blocks=hash_blocks(path))


class ShardRecord(StoredRecord):
    """One shard: its rows, the older rows that they supersede, and its files by path in the folder."""

    rows: int
    superseded: int = 0
    files: dict[str, FileChecksum]


class RowsRecord(StoredRecord):
    """Some rows that no search returns; their numbers are in a file."""

    rows: int
    file: str
    checksum: FileChecksum


class InputRecord(StoredRecord):
    """Counts of the last input that was embedded completely: papers read, repeated and skipped."""

    read: int
    duplicates: int
    bad: int


class Manifest(StoredRecord):
    """What a collection holds; `input` is None while a run is unfinished.

    deleted: the newest rows of deleted papers. repeated: rows of parts that were merged whose paper another row has;
    they are as if they were not there.
    """

    layout: Literal[1] = 1
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
    """Read and check a collection's manifest; InputError where it is missing, damaged or of another version.

    Says of a path that is not a collection what it is, and a command that makes one and can be copied.
    """
    remedy = "restore it from a copy, or embed into a new folder"
    if folder.is_dir() and (manifest := Manifest.load(folder / MANIFEST_NAME, remedy)):
        return manifest
    if folder.is_file() or (folder.is_dir() and any(folder.iterdir())):
        target = folder.with_name(f"{folder.stem}-vectors")
        kind = "a file" if folder.is_file() else f"a folder without {MANIFEST_NAME}"
        command = shlex.join(["sciprism", "embed", str(folder), "-o", str(target)])
        raise InputError(f"{folder} is {kind}, not a collection; make one of it with: {command}, and name {target}")
    collections = sorted(file.parent.name for file in folder.parent.glob(f"*/{MANIFEST_NAME}"))
    others = f"; collections next to it: {', '.join(collections[:MAX_SHOWN])}" if collections else ""
    what = "is empty, not a collection" if folder.is_dir() else "does not exist"
    make = f"make a collection with: sciprism embed FILES -o {shlex.quote(str(folder))}"
    raise InputError(f"{folder} {what}{others}; {make}")
