"""Decide how a collection is laid out, and begin or continue its folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from sciprism.errors import InputError
from sciprism.files import LOCK_NAME, UNFINISHED
from sciprism.store.collection import Collection
from sciprism.store.manifest import NAME, EncoderRecord, Manifest, SpaceRecord
from sciprism.store.matrix import DTYPES, Dtype

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

DEFAULT_FORMATS = ("proximity",)
DEFAULT_DTYPE: Dtype = "float32"
DEFAULT_SHARD_SIZE = 2048
"""Papers in a shard: about a minute of encoding on a laptop, the most that a stop can cost."""

_OURS = re.compile(r"\d{6}\.(parquet|npy|scales\.npy)(\.part)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How vectors are stored; None means as the collection has it, or the default for a new one."""

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
    """Refuse a folder that holds something else than a collection, before anything is written there."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the collection")
    if folder.is_dir() and not (folder / NAME).exists():
        foreign = {path.name for path in folder.iterdir()} - {LOCK_NAME, NAME + UNFINISHED}
        if foreign:
            raise InputError(
                f"{folder} holds {min(foreign)} but no {NAME}, so it is no collection; name a new folder"
            )


def begin(folder: Path, encoder: Encoder, layout: Layout) -> Collection:
    """Start a collection, or open the one that is there and clear away what an interrupted run left."""
    if (folder / NAME).exists():
        collection = Collection.open(folder)
        collection.check_encoder(encoder)
        _check_same(collection, layout)
        _remove_unfinished(collection)
        return collection
    stored = EncoderRecord(
        name=encoder.name,
        fingerprint=encoder.fingerprint,
        distance=cast("Any", encoder.distance),
        options=encoder.options,
    )
    manifest = Manifest(
        encoder=stored,
        dtype=layout.dtype or DEFAULT_DTYPE,
        shard_size=layout.shard_size or DEFAULT_SHARD_SIZE,
        spaces=spaces_of(encoder, layout.formats or DEFAULT_FORMATS),
    )
    manifest.write(folder)
    return Collection(folder, manifest)


def spaces_of(encoder: Encoder, formats: tuple[str, ...]) -> dict[str, SpaceRecord]:
    """Group formats by the space of their paper vectors; each space gets a folder of its own."""
    spaces: dict[str, SpaceRecord] = {}
    for format in formats:
        if format not in encoder.formats:
            raise InputError(f"{encoder.name} has no format {format!r}; it has {', '.join(encoder.formats)}")
        space, path = encoder.space(format, "paper"), encoder.path(format, "paper")
        if space not in spaces:
            plain = re.sub(r"[^A-Za-z0-9_-]+", "-", space)
            folder = f"{len(spaces)}-{plain}"  # numbered: two names may become the same plain one
            spaces[space] = SpaceRecord(folder=folder, path=path, formats=[format], dim=encoder.dim)
        elif spaces[space].path == path:
            spaces[space].formats.append(format)
        else:
            raise InputError(
                f"{encoder.name} encodes {format} and {spaces[space].formats[0]} differently, both into the "
                f"space {space!r}; embed them into two collections"
            )
    return spaces


def _check_same(collection: Collection, layout: Layout) -> None:
    manifest = collection.manifest
    for name, asked, stored in (
        ("formats", sorted(layout.formats) if layout.formats else None, manifest.formats),
        ("dtype", layout.dtype, manifest.dtype),
        ("shard_size", layout.shard_size, manifest.shard_size),
    ):
        if asked is not None and asked != stored:
            raise InputError(
                f"{collection.folder} was made with {name} {_words(stored)}, not {_words(asked)}; leave the "
                "option out to continue it, or name a new folder"
            )


def _words(value: object) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def _remove_unfinished(collection: Collection) -> None:
    """Delete files of shards that were never committed; touches only names that the writer gives."""
    folder, manifest = collection.folder, collection.manifest
    committed = {folder / name for shard in manifest.shards for name in shard.files}
    homes = [folder / "papers", *(folder / "vectors" / space.folder for space in manifest.spaces.values())]
    for home in homes:
        for path in home.glob("*"):
            if path not in committed and _OURS.fullmatch(path.name):
                path.unlink()
    (folder / (NAME + UNFINISHED)).unlink(missing_ok=True)
