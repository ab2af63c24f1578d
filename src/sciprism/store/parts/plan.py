"""The plan of a collection's parts: which files, how they are divided, which encoder; every worker compares it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from pydantic import Field, ValidationError

from sciprism.checksums import hash_bytes, read_sealed, seal_json
from sciprism.errors import InputError
from sciprism.files import explain_write_errors, sync_folder
from sciprism.papers.division import InputShare, PartNumber, Weight, divide_files
from sciprism.papers.input_file import FilePath, InputFile
from sciprism.papers.input_paths import file_size, find_file, tag_content
from sciprism.papers.read import list_paper_files
from sciprism.store.collection import (
    DEFAULT_DTYPE,
    DEFAULT_FORMATS,
    DEFAULT_SHARD_SIZE,
    CollectionLayout,
    group_by_space,
    record_encoder,
)
from sciprism.store.embed_files import PartInput
from sciprism.store.manifest import PLAN_NAME, EncoderRecord, SpaceRecord, StoredRecord
from sciprism.store.shard_files import Dtype

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

PLAN_LAYOUT = 1
SAMPLES = 16  # places of a large file whose bytes a plan compares
SAMPLE = 1 << 16  # bytes of each
REMEDY = "restore it from a copy, or delete the folder and embed all parts again"


class PlannedFile(StoredRecord):
    """A file of the input: its size (bytes), a checksum of samples of its bytes, and the parts that read it."""

    name: str
    size: int
    checksum: str
    parts: list[Weight] = Field(default_factory=list)


class ReadingRecord(StoredRecord):
    """How all workers read the files, as `PartInput` has it."""

    reader: str
    columns: dict[str, str]
    encoding: str
    id_prefix: str
    ids_per_file: bool
    missing_abstract: str
    abstracts: list[PlannedFile]


class PartsPlan(StoredRecord):
    """What all parts of a collection have in common."""

    layout: int = PLAN_LAYOUT
    parts: int
    encoder: EncoderRecord
    dtype: Dtype
    shard_size: int
    spaces: dict[str, SpaceRecord]
    reading: ReadingRecord
    files: list[PlannedFile]

    @property
    def checksum(self) -> str:
        """Return a checksum of all that a worker must have the same; the encoder's name may differ."""
        encoder = self.encoder.model_copy(update={"name": ""})
        return hash_bytes(self.model_copy(update={"encoder": encoder}).model_dump_json().encode())

    @property
    def collection_layout(self) -> CollectionLayout:
        """Return the layout of each part's collection."""
        formats = tuple(format for space in self.spaces.values() for format in space.formats)
        return CollectionLayout(formats=formats, dtype=self.dtype, shard_size=self.shard_size)

    def share(self, part: PartNumber) -> InputShare:
        """Return the records that a part reads."""
        return InputShare(part, {file.name: file.parts for file in self.files})

    def numbers(self) -> Iterator[PartNumber]:
        """Yield all parts."""
        return (PartNumber(number, self.parts) for number in range(1, self.parts + 1))


def list_files(source: PartInput) -> list[InputFile]:
    """List the files of an input. Raises InputError for one that is missing or named twice, and for pipes."""
    files = list_paper_files(source.paths, reader=source.reader, options=source.options)
    for file in files:
        if not file.path.is_file():
            raise InputError(f"{file.path} can be read only once, so it cannot be divided into parts; name a file")
    names = [file.full_name for file in files]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{twice} is named twice; parts need each file once")
    return files


def build_plan(source: PartInput, encoder: Encoder, layout: CollectionLayout, count: int) -> PartsPlan:
    """Return the plan of an input in `count` parts. Raises InputError as `list_files` does."""
    files = list_files(source)
    division = divide_files([file_size(file.path) for file in files], count)
    options = source.options
    return PartsPlan(
        parts=count,
        encoder=record_encoder(encoder),
        dtype=layout.dtype or DEFAULT_DTYPE,
        shard_size=layout.shard_size or DEFAULT_SHARD_SIZE,
        spaces=group_by_space(encoder, layout.formats or DEFAULT_FORMATS),
        reading=ReadingRecord(
            reader=source.reader,
            columns=dict(options.columns),
            encoding=options.encoding,
            id_prefix=options.id_prefix,
            ids_per_file=options.ids_per_file,
            missing_abstract=source.missing_abstract,
            abstracts=[_describe_file(find_file(name)) for name in source.abstracts],
        ),
        files=[_describe_file(f.path, f.part, parts) for f, parts in zip(files, division, strict=True)],
    )


def ensure_plan(folder: Path, plan: PartsPlan) -> PartsPlan:
    """Write the plan of a folder if it has none, and return the stored one. Raises InputError where it differs."""
    if not (folder / PLAN_NAME).exists():
        _create(folder / PLAN_NAME, seal_json(plan.model_dump_json(indent=1)))
    stored = read_plan(folder)
    if difference := "; ".join(list_differences(stored, plan)):
        raise InputError(
            f"{folder} was begun with another plan: {difference}; repeat the first command with another part, "
            "or name a new folder"
        )
    return stored


def read_plan(folder: Path) -> PartsPlan:
    """Read the plan of a folder's parts. Raises InputError where it has none or a damaged one."""
    path = folder / PLAN_NAME
    try:
        text, _ = read_sealed(path, REMEDY)
    except (FileNotFoundError, NotADirectoryError):
        command = shlex.join(["sciprism", "embed", "FILES", "-o", str(folder), "--part", "1/8"])
        raise InputError(f"{folder} holds no parts (no {PLAN_NAME}); a first part is made with: {command}") from None
    try:
        plan = PartsPlan.model_validate_json(text)
    except ValidationError as error:
        raise InputError(
            f"{path} is no plan of parts, or it is damaged ({error.errors()[0]['msg']}); {REMEDY}"
        ) from None
    if plan.layout != PLAN_LAYOUT:
        raise InputError(f"{path} has layout {plan.layout}; this version of sciprism reads {PLAN_LAYOUT}")
    return plan


def _create(path: Path, content: bytes) -> None:
    """Write a file whole unless it exists; of several workers at once, one wins."""
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    with explain_write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(draft, path)
            except FileExistsError:
                return
            except OSError:  # a file system without hard links
                if not path.exists():
                    draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(path.parent)


def _describe_file(path: FilePath, part: str = "", parts: Sequence[Weight] = ()) -> PlannedFile:
    size = file_size(path) if path.is_file() else 0
    checksum = (tag_content(path) or _hash_samples(path, size)) if size else ""
    return PlannedFile(name=f"{path}#{part}" if part else str(path), size=size, checksum=checksum, parts=list(parts))


def _hash_samples(path: FilePath, size: int) -> str:
    """Return a checksum of a small file, or of places of a large one."""
    with path.open("rb") as file:
        if size <= SAMPLES * SAMPLE:
            return hash_bytes(file.read())
        pieces = []
        for number in range(SAMPLES):
            file.seek(number * (size - SAMPLE) // (SAMPLES - 1))
            pieces.append(file.read(SAMPLE))
    return hash_bytes(b"".join(pieces))


def list_differences(stored: PartsPlan, wanted: PartsPlan) -> Iterator[str]:
    """Yield what another plan has different from a stored one: parts, model, options, files."""
    if stored.checksum == wanted.checksum:
        return
    if stored.parts != wanted.parts:
        yield f"{stored.parts} parts, not {wanted.parts}"
        return
    old, new = stored.encoder, wanted.encoder
    if (old.fingerprint, old.options) != (new.fingerprint, new.options):
        options = [" ".join(f"{k} {v}" for k, v in plan.options.items()) or "no options" for plan in (old, new)]
        yield (
            f"the model {old.name} (fingerprint {old.fingerprint}, {options[0]}), "
            f"not {new.name} (fingerprint {new.fingerprint}, {options[1]})"
        )
    for name in ("dtype", "shard_size"):
        if getattr(stored, name) != getattr(wanted, name):
            yield f"{name} {getattr(stored, name)}, not {getattr(wanted, name)}"
    formats = [", ".join(plan.collection_layout.formats or ()) for plan in (stored, wanted)]
    if formats[0] != formats[1]:
        yield f"formats {formats[0]}, not {formats[1]}"
    was, now = stored.reading.model_dump(), wanted.reading.model_dump()
    yield from (f"{key} {was[key]!r}, not {now[key]!r}" for key in was if was[key] != now[key] and key != "abstracts")
    yield from _compare_files(stored.reading.abstracts, wanted.reading.abstracts, "file of abstracts")
    yield from _compare_files(stored.files, wanted.files, "file")


def _compare_files(stored: Sequence[PlannedFile], wanted: Sequence[PlannedFile], kind: str) -> Iterator[str]:
    old, new = ({file.name: file for file in files} for files in (stored, wanted))
    gone, more = [name for name in old if name not in new], [name for name in new if name not in old]
    # a changed size may move other files to other parts
    bytes_of = [{name: (file.size, file.checksum) for name, file in files.items()} for files in (old, new)]
    changed = [name for name in old if name in new and bytes_of[0][name] != bytes_of[1][name]]
    for names, what in ((gone, "missing now"), (more, "new"), (changed, "changed since")):
        if names:
            yield f"{len(names):,} {kind}{'s' * (len(names) > 1)} {what} ({names[0]})"
    if not gone and not more and list(old) != list(new):
        yield f"the {kind}s in another order"
