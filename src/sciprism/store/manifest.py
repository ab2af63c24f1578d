"""The one file that says what a collection holds; a shard counts once it is named here."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, computed_field

from sciprism.errors import InputError
from sciprism.files import commit
from sciprism.store.matrix import Dtype

NAME = "manifest.json"
LAYOUT = 1


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class EncoderRecord(_Record):
    """Which encoder made the vectors, the options it was loaded with, and how its vectors are compared."""

    name: str
    options: dict[str, str | int] = {}
    fingerprint: str
    distance: Literal["cosine", "dot", "euclidean"]


class SpaceRecord(_Record):
    """One matrix per shard: the formats that it serves and how the encoder made it."""

    folder: str
    path: str
    formats: list[str]
    dim: int


class FileRecord(_Record):
    """Size and checksum of a file as it was committed."""

    size: int
    sha256: str


class ShardRecord(_Record):
    """One shard: its rows, what it says about older rows, and its files by their place in the folder."""

    rows: int
    missing_abstracts: int
    superseded: int = 0
    superseded_missing_abstracts: int = 0
    files: dict[str, FileRecord]


class InputRecord(_Record):
    """Counts of the last input that was embedded to its end: papers read, and those left out of it."""

    read: int
    duplicates: int
    bad: int


class _Layout(_Record):
    layout: int


class Manifest(_Layout):
    """What a collection holds, known without opening a shard; `input` is None while a run is unfinished."""

    layout: int = LAYOUT
    encoder: EncoderRecord
    dtype: Dtype
    shard_size: int
    spaces: dict[str, SpaceRecord]
    input: InputRecord | None = None
    shards: list[ShardRecord] = []

    @property
    def rows(self) -> int:
        """Count the stored rows, superseded ones included."""
        return sum(shard.rows for shard in self.shards)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def superseded(self) -> int:
        """Count the rows that a newer row of the same paper replaces."""
        return sum(shard.superseded for shard in self.shards)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def papers(self) -> int:
        """Count the papers."""
        return self.rows - self.superseded

    @computed_field  # type: ignore[prop-decorator]
    @property
    def missing_abstracts(self) -> int:
        """Count the papers of which only the title was encoded."""
        return sum(shard.missing_abstracts - shard.superseded_missing_abstracts for shard in self.shards)

    @property
    def formats(self) -> list[str]:
        """List the formats whose vectors are stored."""
        return sorted(format for space in self.spaces.values() for format in space.formats)

    def write(self, folder: Path) -> None:
        """Replace the folder's manifest in one step."""
        text = self.model_dump_json(indent=1) + "\n"
        commit(folder / NAME, lambda file: file.write(text.encode()))


def read_manifest(folder: Path) -> Manifest:
    """Read and check a collection's manifest."""
    path = folder / NAME
    if not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder; make a collection with: sciprism embed FILES -o {folder}"
        )
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(
            f"{folder} is not a collection (no {NAME}); make one with: sciprism embed FILES -o {folder}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    try:
        layout = _Layout.model_validate_json(text).layout
        if layout != LAYOUT:
            raise InputError(f"{path} has layout {layout}; this version of sciprism reads layout {LAYOUT}")
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise InputError(
            f"{path} is not a manifest of sciprism, or it is damaged ({place}: {first['msg']}); "
            "restore it from a copy, or embed into a new folder"
        ) from None
