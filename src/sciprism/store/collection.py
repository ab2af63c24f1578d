"""A collection's folder: its manifest, papers by row or id, and vectors as memory-mapped matrices.

A shard belongs to the collection once the manifest names it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError, computed_field

import sciprism.store.shard_files as shard_files
from sciprism.arrays import Floats, Rows
from sciprism.errors import DamagedFileError, InputError
from sciprism.files import (
    LOCK_NAME,
    PARTIAL_SUFFIX,
    BlockChecks,
    FileState,
    find_state,
    hash_blocks,
    read_sealed,
    seal_json,
    write_atomically,
)
from sciprism.papers.records import Paper
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


CHANGED = "damaged or changed: its checksum differs"
OPEN_MATRICES = 16_384
MASKS = 4  # of filters, in memory
"""Mapped files kept open: 30 million rows of 2,048 a shard; Linux allows a process 65,530 mappings."""
DEFAULT_FORMATS = ("proximity",)
DEFAULT_DTYPE: shard_files.Dtype = "float32"
DEFAULT_SHARD_SIZE = 2048
"""Papers in a shard: about a minute of encoding on a laptop, the most that an interruption can lose."""
DELETED_FOLDER = "deleted"
_SHARD_FILE = re.compile(r"(papers|deleted|vectors/[^/]+)/\d{6}\.(parquet|npy|scales\.npy)(\.part)?")


class StoredCollection:
    """Papers and vectors on disk, read on demand; rows are numbered through all shards.

    Superseded rows (a newer row of the same paper follows), deleted and repeated ones stay in the files; every mask
    excludes them.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        self._remedy = f"restore it from a copy, or delete {folder} and embed the papers again"
        self._offsets: Rows = np.cumsum([0, *(shard.rows for shard in manifest.shards)], dtype=np.int64)
        self.files = {name: record for shard in manifest.shards for name, record in shard.files.items()}
        self.files |= {record.file: record.checksum for record in manifest.row_files}
        self._checks_of = cache(self._read_checks)
        self.open_matrix = lru_cache(maxsize=OPEN_MATRICES)(self._open_shard)
        self._pass = lru_cache(MASKS)(self._find_passing)  # a page asks for one several times
        self._read_group = lru_cache(shard_files.ROW_GROUPS)(
            lambda path, group: shard_files.read_group(path, self._checks_of(path), group)
        )

    @classmethod
    def open(cls, folder: Path | str) -> StoredCollection:
        """Read the manifest and check the size of every file that it names; bytes are checked when first read."""
        collection = cls(Path(folder), read_manifest(Path(folder)))
        for name, record in collection.files.items():
            path = collection.folder / name
            size = path.stat().st_size if path.exists() else None
            if size != record.size:
                state = "missing" if size is None else f"{size} bytes long instead of {record.size}"
                raise collection.damaged(path, state)
        return collection

    def __len__(self) -> int:
        return self.manifest.papers

    @property
    def rows(self) -> int:
        """Count the stored rows, superseded ones included."""
        return int(self._offsets[-1])

    def verify(self) -> None:
        """Compare the checksums of every file; DamagedFileError where one differs."""
        for file in self.file_states():
            if file.state != "ok":
                raise self.damaged(self.folder / file.name, CHANGED)

    def file_states(self) -> Iterator[FileState]:
        """Yield the state of every file that the manifest names, all bytes compared."""
        for name, record in self.files.items():
            yield FileState(name, find_state(self.folder / name, record.size, record.blocks))

    def check_encoder(self, encoder: Encoder) -> None:
        """Raise InputError for an encoder whose vectors do not compare with the stored ones."""
        self.manifest.encoder.check(encoder, self.folder)

    def paper(self, id: str) -> Paper:
        """Return the paper with an id."""
        return self.papers(np.array([self.find(id)]))[0]

    def papers(self, rows: NDArray[np.integer] | Sequence[int]) -> list[Paper]:
        """Return the papers of some rows, in the order given."""
        rows = np.asarray(rows, np.int64)
        papers_at: list[Paper | None] = [None] * len(rows)
        few = min(len(rows), self.rows // shard_files.ROW_GROUP + len(self.manifest.shards)) <= shard_files.ROW_GROUPS
        read = self._read_group if few else self._read_group.__wrapped__  # many would drive each other out of memory
        for shard, positions, here in self.split_by_shard(rows):
            groups = here // shard_files.ROW_GROUP
            for group in np.unique(groups).tolist():
                mine = groups == group
                papers = shard_files.papers_of(read(self.folder / shard_files.papers_file(shard), group), here[mine])
                for position, paper in zip(positions[mine].tolist(), papers, strict=True):
                    papers_at[position] = paper
        return [paper for paper in papers_at if paper is not None]

    def find(self, id: str) -> int:
        """Return the newest row of a paper."""
        if (row := self.find_row(id)) is None:
            raise InputError(f"{self.folder} has no paper with the id {id!r}; search shows the ids")
        return row

    def find_row(self, id: str) -> int | None:
        """Return the newest row of a paper, None where the collection has none of that id."""
        ids, order = self._sorted_ids
        wanted = np.uint64(shard_files.hash64(id, "surrogatepass"))
        first, last = np.searchsorted(ids, wanted, "left"), np.searchsorted(ids, wanted, "right")
        row = int(order[last - 1]) if first < last else -1
        place = np.searchsorted(self.deleted_rows, row)
        return None if row < 0 or row in self.deleted_rows[place : place + 1] else row

    @cached_property
    def deleted_rows(self) -> Rows:
        """Return the newest rows of deleted papers, ascending."""
        return self._read_rows(self.manifest.deleted)

    @cached_property
    def repeated_rows(self) -> Rows:
        """Return the rows of merged parts whose paper another row has, ascending."""
        return self._read_rows(self.manifest.repeated)

    def _read_rows(self, record: RowsRecord | None) -> Rows:
        if record is None:
            return np.empty(0, np.int64)
        path = self.folder / record.file
        self._checks_of(path).check(np.fromfile(path, np.uint8))
        rows: Rows = np.load(path, allow_pickle=False)
        return rows

    def _read_checks(self, path: Path) -> BlockChecks:
        return BlockChecks(path, self.files[path.relative_to(self.folder).as_posix()].blocks, self._remedy)

    def _open_shard(self, folder: str, shard: int) -> shard_files.Matrix:
        scales = self.folder / shard_files.scales_file(folder, shard) if self.manifest.dtype == "int8" else None
        return shard_files.open_matrix(self.folder / shard_files.values_file(folder, shard), scales, self._checks_of)

    @cached_property
    def live(self) -> Rows:
        """Return the rows of all papers, ascending: neither superseded nor deleted."""
        mask = self.mask()
        return np.arange(self.rows) if mask is None else np.flatnonzero(mask)

    def count_missing_abstracts(self) -> int:
        """Count the papers that were encoded by their title alone."""
        return int(self.column("missing_abstract")[self.live].sum())

    def vectors(self, space: str) -> ShardMatrices:
        """Return one mapped matrix per shard, opened on first use."""
        record = self.manifest.spaces.get(space)
        if record is None:
            raise InputError(
                f"{self.folder} holds vectors of the space {', '.join(self.manifest.spaces)} (formats "
                f"{', '.join(self.manifest.formats)}), none of {space!r}; embed the papers for that format "
                "into a new folder"
            )
        return ShardMatrices(self, record.folder)

    def vector(self, row: int, space: str) -> Floats:
        """Return the stored vector (d,) of one row."""
        return np.asarray(self.read_rows(space, np.array([row])).block(0, 1)[0])

    def read_rows(self, space: str, rows: NDArray[np.integer]) -> shard_files.Matrix:
        """Return a copy of some rows in their stored precision, in the order given."""
        matrices = self.vectors(space)
        values = np.empty((len(rows), self.manifest.spaces[space].dim), self.manifest.dtype)
        scales = np.empty(len(rows), np.float32) if self.manifest.dtype == "int8" else None
        for shard, positions, here in self.split_by_shard(rows):
            matrix = matrices[shard]
            values[positions] = matrix.stored(here)
            if scales is not None and matrix.scales is not None:
                scales[positions] = matrix.scales[here]
        return shard_files.Matrix(values, scales)

    def mask(self, filter: shard_files.Filter | None = None) -> shard_files.Mask | None:
        """Mark the rows that a search may return; None: all of them."""
        return self._pass(filter) if filter and self.manifest.shards else self._live

    def _find_passing(self, filter: shard_files.Filter) -> shard_files.Mask:
        shards = enumerate(self.manifest.shards)
        passes = np.concatenate([filter.passes(shard.rows, partial(self.shard_column, i)) for i, shard in shards])
        passes &= True if self._live is None else self._live
        passes.flags.writeable = False
        return passes

    def column(self, name: str) -> NDArray[Any]:
        """Return one column of numbers or flags over all rows."""
        parts = [self.shard_column(shard, name).to_numpy() for shard in range(len(self.manifest.shards))]
        return np.concatenate(parts) if parts else np.empty(0, bool if name == "missing_abstract" else np.uint64)

    def columns(self, *names: str) -> Iterator[tuple[list[Any], ...]]:
        """Yield columns of the papers shard by shard."""
        for shard in range(len(self.manifest.shards)):
            yield tuple(self.shard_column(shard, name).to_pylist() for name in names)

    def shard_column(self, shard: int, name: str):  # type: ignore[no-untyped-def]  # pyarrow has no types
        """Return one column of a shard's papers, a chunked array of pyarrow."""
        path = self.folder / shard_files.papers_file(shard)
        return shard_files.read_column(path, self._checks_of(path), name)

    @cached_property
    def _sorted_ids(self) -> tuple[NDArray[np.uint64], Rows]:
        ids = self.column("id_hash")
        order = np.argsort(ids, kind="stable")
        if len(self.repeated_rows):
            order = order[np.isin(order, self.repeated_rows, invert=True, kind="table")]
        return ids[order].astype(np.uint64, copy=False), order

    @cached_property
    def _live(self) -> shard_files.Mask | None:
        if not self.manifest.superseded and not self.manifest.row_files:
            return None
        ids, order = self._sorted_ids
        newest = np.append(ids[1:] != ids[:-1], True)
        live = np.zeros(self.rows, bool)
        live[order[newest]] = True
        live[self.deleted_rows] = False
        return live

    def split_by_shard(self, rows: NDArray[np.integer]) -> Iterator[tuple[int, Rows, NDArray[np.integer]]]:
        """Yield each shard that has some of the rows, their positions among them, and their rows in the shard."""
        if len(rows) and (rows.min() < 0 or rows.max() >= self.rows):
            raise IndexError(f"rows {rows.min()}..{rows.max()} of a collection of {self.rows}")
        shards = np.searchsorted(self._offsets, rows, "right") - 1
        order = np.argsort(shards, kind="stable")
        found, firsts = np.unique(shards[order], return_index=True)
        for shard, positions in zip(found.tolist(), np.split(order, firsts)[1:], strict=True):
            yield shard, positions, rows[positions] - self._offsets[shard]

    def damaged(self, path: Path, state: str) -> DamagedFileError:
        """Return the error for a file in a state such as "missing"."""
        return DamagedFileError(f"{path} is {state}; {self._remedy}")


class ShardMatrices(Sequence[shard_files.Matrix]):
    """The matrices of one space, shard by shard; ends: the rows up to the end of each, known without its file."""

    def __init__(self, collection: StoredCollection, folder: str) -> None:
        self.ends = collection._offsets[1:]
        self._collection, self._folder = collection, folder

    def __len__(self) -> int:
        return len(self._collection.manifest.shards)

    def __getitem__(self, shard: Any) -> Any:
        if not 0 <= shard < len(self):
            raise IndexError(shard)
        return self._collection.open_matrix(self._folder, int(shard))


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionLayout:
    """How vectors are stored; None: as the collection has them, or the default for a new one."""

    formats: tuple[str, ...] | None = None
    dtype: shard_files.Dtype | None = None
    shard_size: int | None = None

    def __post_init__(self) -> None:
        if self.formats is not None and (not self.formats or len(set(self.formats)) < len(self.formats)):
            raise InputError(f"formats {self.formats!r}: name at least one, and each once")
        if self.dtype is not None and self.dtype not in shard_files.DTYPES:
            raise InputError(f"dtype {self.dtype!r} is not one of {', '.join(shard_files.DTYPES)}")
        if self.shard_size is not None and self.shard_size < 1:
            raise InputError(f"shard_size {self.shard_size} is not a positive number")


def check_folder(folder: Path) -> None:
    """Raise InputError for a folder that holds other files than a collection's."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the collection")
    if folder.is_dir() and not (folder / MANIFEST_NAME).exists():
        foreign = {path.name for path in folder.iterdir()} - {LOCK_NAME, PART_NAME, MANIFEST_NAME + PARTIAL_SUFFIX}
        if foreign:
            raise InputError(f"{folder} holds {min(foreign)} but no {MANIFEST_NAME}: no collection; name a new folder")


def open_or_create(folder: Path, encoder: Encoder, layout: CollectionLayout) -> StoredCollection:
    """Create a collection, or open the existing one and delete the files of an interrupted shard.

    Raises DamagedFileError for a collection with a damaged file: nothing is added to it.
    """
    if (folder / MANIFEST_NAME).exists():
        collection = StoredCollection.open(folder)
        collection.verify()
        collection.check_encoder(encoder)
        manifest = collection.manifest
        formats = tuple(sorted(layout.formats)) if layout.formats else None
        stored: dict[str, Any] = {"formats": (formats, tuple(manifest.formats))}
        stored |= {name: (getattr(layout, name), getattr(manifest, name)) for name in ("dtype", "shard_size")}
        for name, (requested, present) in stored.items():
            if requested not in (None, present):
                old, new = (", ".join(v) if isinstance(v, tuple) else v for v in (present, requested))
                raise InputError(
                    f"{folder} was made with {name} {old}, not {new}; omit the option to continue it, or name a new "
                    "folder"
                )
        for path in folder.rglob("*"):  # files of shards that were never committed; other files stay
            name = path.relative_to(folder).as_posix()
            if name not in collection.files and _SHARD_FILE.fullmatch(name):
                path.unlink()
        (folder / (MANIFEST_NAME + PARTIAL_SUFFIX)).unlink(missing_ok=True)
        return collection
    distance, options = cast("Any", encoder.distance), encoder.options
    manifest = Manifest(
        encoder=EncoderRecord(name=encoder.name, fingerprint=encoder.fingerprint, distance=distance, options=options),
        dtype=layout.dtype or DEFAULT_DTYPE,
        shard_size=layout.shard_size or DEFAULT_SHARD_SIZE,
        spaces=group_by_space(encoder, layout.formats or DEFAULT_FORMATS),
    )
    manifest.write(folder)
    return StoredCollection(folder, manifest)


def group_by_space(encoder: Encoder, formats: tuple[str, ...]) -> dict[str, SpaceRecord]:
    """Group formats by the space of their paper vectors; each space has its own folder."""
    spaces: dict[str, SpaceRecord] = {}
    for format in formats:
        if format not in encoder.formats:
            raise InputError(f"{encoder.name} has no format {format!r}; it has {', '.join(encoder.formats)}")
        space, path = encoder.space(format, "paper"), encoder.path(format, "paper")
        if space not in spaces:
            # numbered: two spaces may have the same simplified name
            folder = f"{len(spaces)}-" + re.sub(r"[^A-Za-z0-9_-]+", "-", space)
            spaces[space] = SpaceRecord(folder=folder, path=path, formats=[format], dim=encoder.dim)
        elif spaces[space].path == path:
            spaces[space].formats.append(format)
        else:
            raise InputError(
                f"{encoder.name} encodes {format} and {spaces[space].formats[0]} differently, both into the "
                f"space {space!r}; embed them into two collections"
            )
    return spaces
