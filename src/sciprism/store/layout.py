"""Layout of a collection (formats, precision, shard size); create or reopen its folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sciprism.errors import InputError
from sciprism.files import LOCK_NAME, PARTIAL_SUFFIX
from sciprism.store.collection import StoredCollection
from sciprism.store.manifest import MANIFEST_NAME, PLAN_NAME, EncoderRecord, Manifest, SpaceRecord
from sciprism.store.matrix import DTYPES, Dtype

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

DEFAULT_FORMATS = ("proximity",)
DEFAULT_DTYPE: Dtype = "float32"
DEFAULT_SHARD_SIZE = 2048
"""Papers in a shard: about a minute of encoding on a laptop, the most that an interruption can lose."""

DELETED_FOLDER = "deleted"

_SHARD_FILE = re.compile(r"\d{6}\.(parquet|npy|scales\.npy)(\.part)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionLayout:
    """How vectors are stored; None: as the collection has them, or the default for a new one."""

    formats: tuple[str, ...] | None = None
    dtype: Dtype | None = None
    shard_size: int | None = None

    def __post_init__(self) -> None:
        if self.formats is not None and (not self.formats or len(set(self.formats)) < len(self.formats)):
            raise InputError(f"formats {self.formats!r}: name at least one, and each once")
        if self.dtype is not None and self.dtype not in DTYPES:
            raise InputError(f"dtype {self.dtype!r} is not one of {', '.join(DTYPES)}")
        if self.shard_size is not None and self.shard_size < 1:
            raise InputError(f"shard_size {self.shard_size} is not a positive number")


def check_folder(folder: Path) -> None:
    """Raise InputError for a folder that holds other files than a collection's."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the collection")
    if (folder / PLAN_NAME).exists() and not (folder / MANIFEST_NAME).exists():
        raise InputError(
            f"{folder} holds parts that are not merged; continue one with --part, or `sciprism merge` them"
        )
    if folder.is_dir() and not (folder / MANIFEST_NAME).exists():
        foreign = {path.name for path in folder.iterdir()} - {LOCK_NAME, MANIFEST_NAME + PARTIAL_SUFFIX}
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
        _check_same_layout(collection, layout)
        _remove_unfinished(collection)
        return collection
    manifest = Manifest(
        encoder=record_encoder(encoder),
        dtype=layout.dtype or DEFAULT_DTYPE,
        shard_size=layout.shard_size or DEFAULT_SHARD_SIZE,
        spaces=group_by_space(encoder, layout.formats or DEFAULT_FORMATS),
    )
    manifest.write(folder)
    return StoredCollection(folder, manifest)


def record_encoder(encoder: Encoder) -> EncoderRecord:
    """Return what a manifest or a plan states of its encoder."""
    distance = cast("Any", encoder.distance)
    return EncoderRecord(name=encoder.name, fingerprint=encoder.fingerprint, distance=distance, options=encoder.options)


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


def _check_same_layout(collection: StoredCollection, layout: CollectionLayout) -> None:
    manifest = collection.manifest
    for name, requested, stored in (
        ("formats", sorted(layout.formats) if layout.formats else None, manifest.formats),
        ("dtype", layout.dtype, manifest.dtype),
        ("shard_size", layout.shard_size, manifest.shard_size),
    ):
        if requested is not None and requested != stored:
            old, new = (", ".join(v) if isinstance(v, list) else v for v in (stored, requested))
            raise InputError(
                f"{collection.folder} was made with {name} {old}, not {new}; omit the option to continue it, "
                "or name a new folder"
            )


def _remove_unfinished(collection: StoredCollection) -> None:
    """Delete the files of shards that were never committed; other files stay."""
    folder, manifest = collection.folder, collection.manifest
    committed = {folder / name for shard in manifest.shards for name in shard.files}
    committed |= {folder / each.file for each in manifest.row_files}
    folders = [
        folder / "papers",
        folder / DELETED_FOLDER,
        *(folder / "vectors" / space.folder for space in manifest.spaces.values()),
    ]
    for subfolder in folders:
        for path in subfolder.glob("*"):
            if path not in committed and _SHARD_FILE.fullmatch(path.name):
                path.unlink()
    (folder / (MANIFEST_NAME + PARTIAL_SUFFIX)).unlink(missing_ok=True)
