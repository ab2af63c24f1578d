"""Parts of one input, each embedded into a collection of its own, and one collection of all of them.

A part says in a file of its folder which part of which input it is. `merge` joins the shards by hard links, so no
vector is copied, and then treats the papers that several parts have as `embed` treats those of one input.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sciprism.arrays import Rows
from sciprism.errors import InputError
from sciprism.files import commit_folder, explain_write_errors, open_draft
from sciprism.papers.identity import MergedRecords
from sciprism.papers.input_paths import file_size, find_file, find_stamp
from sciprism.papers.read import list_paper_files, open_abstracts
from sciprism.papers.records import Paper
from sciprism.parallel import Progress, show_nothing
from sciprism.store.collection import (
    PART_NAME,
    CollectionLayout,
    InputRecord,
    Manifest,
    ShardRecord,
    StoredCollection,
    StoredRecord,
    is_collection,
    read_manifest,
)
from sciprism.store.embed import EmbedInput, EmbedReport, FilesReport, check_input, embed, embed_files
from sciprism.store.writing import write_rows

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

REPEATED_FILE = "repeated/000000.npy"
_NUMBER = re.compile(r"\d+(?=\.(?:parquet|npy|scales\.npy)\Z)")
_REMEDY = "delete the folder, and embed the part again"


class PartRecord(StoredRecord):
    """Which part a folder holds, and of which input: how it is read; of each file its place, size and last change."""

    part: int
    parts: int
    input: dict[str, str]

    def find_difference(self, other: PartRecord) -> str:
        """Return the first thing that the input of another part has different, "" where nothing is."""
        mine, theirs = ({"parts": str(record.parts)} | record.input for record in (self, other))
        differences = (name for name in mine | theirs if mine.get(name) != theirs.get(name))
        return next((f"{name} {mine.get(name)!r}, not {theirs.get(name)!r}" for name in differences), "")


def begin_part(source: EmbedInput, folder: Path) -> None:
    """Write into the folder of a part which part of which input it is.

    Raises InputError for a folder of another part, or of another input, and for pipes.
    """
    part, options = source.part, source.options
    assert part is not None
    read = {"reader": source.reader, "missing_abstract": source.missing_abstract, "columns": dict(options.columns)}
    read |= {name: getattr(options, name) for name in ("encoding", "ids_per_file")}
    given = {name: str(value) for name, value in read.items()}
    listed = list_paper_files(source.paths, reader=source.reader, options=options)
    files = [(file.full_name, file.path) for file in listed]
    files += [(f"--abstracts {name}", find_file(name)) for name in source.abstracts]
    for number, (name, path) in enumerate(files, 1):
        if not path.is_file():
            raise InputError(f"{name} can be read only once, so it cannot be divided into parts; name a file")
        given[name] = f"file {number}, {file_size(path)} bytes, {find_stamp(path)}"
    record = PartRecord(part=part.number, parts=part.count, input=given)
    begun = PartRecord.load(folder / PART_NAME, _REMEDY)
    if begun is None:
        if is_collection(folder):
            raise InputError(f"{folder} is a collection and no part; name a new folder for part {part}")
        record.store(folder / PART_NAME)
    elif begun != record:
        difference = begun.find_difference(record) or f"part {begun.part}, not {part.number}"
        raise InputError(f"{folder} was begun with {difference}; repeat its first command, or name a new folder")


def embed_part(
    source: EmbedInput,
    encoder: Encoder,
    folder: Path | str,
    *,
    layout: CollectionLayout | None = None,
    progress: Progress = show_nothing,
) -> FilesReport:
    """Embed `source.part` into a folder of its own, as `embed_files` does; the same call continues an interrupted one.

    Raises InputError as `begin_part` does.
    """
    folder = Path(folder)
    check_input(source, folder, corrections=False)
    begin_part(source, folder)
    with open_abstracts(source.abstracts, source.missing_abstract) as completion:
        return embed_files(source, encoder, folder, completion, layout=layout, progress=progress)


@dataclass(frozen=True, slots=True)
class MergeReport:
    """Counts of a merged collection.

    read, bad: records of the whole input, and those that could not be used; `reasons` are the first of these that the
    merge found. duplicates: papers that came again, in one part or another. merged: records of several parts that
    became part of another one.
    """

    parts: int
    papers: int
    read: int
    duplicates: int
    bad: int
    merged: int
    missing_abstracts: int
    shards: int
    reasons: list[str]


def merge(
    folders: Iterable[Path | str],
    folder: Path | str,
    load: Callable[[StoredCollection], Encoder],
    *,
    skip_bad: bool = False,
) -> MergeReport:
    """Make a new collection of all parts, whole or not at all; the parts stay as they are.

    folders: the parts, or folders that hold them. load: returns the encoder of a collection; it is called where parts
    have records of one paper whose text differs. Records of one paper, and papers of one id, are treated as `embed`
    treats those of one input: with skip_bad a paper that has the id of another is counted, else it is an InputError.
    So is a part that is missing, unfinished, or of another input or encoder.
    """
    folder = Path(folder)
    if folder.exists():
        raise InputError(f"{folder} exists; name a new folder for the collection of all parts")
    parts = _open_parts(map(Path, folders))
    with open_draft(folder) as draft:
        _join(parts, draft).write(draft)
        ends = np.cumsum([stored.rows for stored in parts])
        manifest, merged, reasons = _settle(StoredCollection.open(draft), ends, load, skip_bad)
        manifest.write(draft)
        missing = StoredCollection(draft, manifest).count_missing_abstracts()
        commit_folder(draft, folder)
    assert manifest.input is not None
    counts = manifest.input.model_dump() | {"papers": manifest.papers, "missing_abstracts": missing}
    return MergeReport(len(parts), merged=merged, shards=len(manifest.shards), reasons=reasons, **counts)


def _open_parts(folders: Iterable[Path]) -> list[StoredCollection]:
    """Return the collections of all parts in their order. Raises InputError unless all are whole and fit together."""
    found = [(path, PartRecord.load(path / PART_NAME, _REMEDY)) for folder in folders for path in _find_parts(folder)]
    (first_path, first), *_ = records = [(path, record) for path, record in found if record is not None]
    parts: dict[int, StoredCollection] = {}
    for path, record in records:
        again = f"embed it again with --part {record.part}/{record.parts}"
        if difference := first.find_difference(record):
            raise InputError(f"{first_path} is of {difference} as {path} is; all parts need one input: {again}")
        if not is_collection(path) or read_manifest(path).input is None:
            raise InputError(f"{path} is not finished; {again}, and it continues")
        if record.part in parts:
            raise InputError(f"{parts[record.part].folder} and {path} are both part {record.part}; name one of them")
        stored = parts[record.part] = StoredCollection.open(path)
        one, here = (_describe_vectors(part.manifest) for part in (parts[first.part], stored))
        if name := next((name for name in one if one[name] != here[name]), ""):
            raise InputError(
                f"{first_path} has the {name} {one[name]}, {path} {here[name]}; delete one, and embed that part again "
                "as the others, with --model, --precision, --dtype and --formats"
            )
        if stored.manifest.superseded or stored.manifest.row_files:
            raise InputError(f"{path} was changed after its part was embedded; delete it, and embed it again")
    if missing := {*range(1, first.parts + 1)} - parts.keys():
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise InputError(f"part {min(missing)}/{first.parts}{more} is missing: embed it with --part, and merge again")
    return [parts[number] for number in sorted(parts)]


def _find_parts(folder: Path) -> list[Path]:
    if (folder / PART_NAME).exists():
        return [folder]
    if found := sorted(path.parent for path in folder.glob(f"*/{PART_NAME}")):
        return found
    raise InputError(
        f"{folder} neither is a part nor holds one; `sciprism embed FILES --part 1/8 -o {folder}/1` makes one, and "
        "`sciprism dedupe FILES -o ONE.ris` merges files of records"
    )


def _describe_vectors(manifest: Manifest) -> dict[str, str]:
    encoder, formats = manifest.encoder, ", ".join(manifest.formats)
    precision = str(encoder.options.get("precision", "float32"))
    return {"model": encoder.fingerprint, "precision": precision, "dtype": manifest.dtype, "formats": formats}


def _join(parts: Sequence[StoredCollection], folder: Path) -> Manifest:
    """Give all shards their places in one folder; return the manifest of all, where papers may be twice."""
    shards: list[ShardRecord] = []
    for stored in parts:
        for shard in stored.manifest.shards:
            names = {name: _NUMBER.sub(f"{len(shards):06d}", name) for name in shard.files}
            for name, new in names.items():
                _link(stored.folder / name, folder / new)
            files = {names[name]: checksum for name, checksum in shard.files.items()}
            shards.append(shard.model_copy(update={"files": files}))
    if not shards:
        raise InputError("no part has a paper; `sciprism inspect` says what files hold")
    inputs = [stored.manifest.input for stored in parts]
    counts = {name: sum(getattr(each, name) for each in inputs) for name in InputRecord.model_fields}
    return parts[0].manifest.model_copy(update={"shards": shards, "input": InputRecord(**counts)})


def _link(source: Path, target: Path) -> None:
    """Give a file a second name, or copy it where the file system has no hard links or is another one."""
    with explain_write_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            os.link(source, target)
            return
        shutil.copyfile(source, target)


def _settle(
    joined: StoredCollection, ends: Rows, load: Callable[[StoredCollection], Encoder], skip_bad: bool
) -> tuple[Manifest, int, list[str]]:
    """Treat what several parts have: each paper is there once, as one process stores it.

    Return the manifest, how many records were merged, and why some are bad. ends: (p,), rows to the end of each part.
    """
    merged = _merge_records(joined, ends)
    repeats, firsts = _find_repeats(joined)
    hashes, absorbed = joined.column("record_hash"), np.array([*merged.absorbed], np.int64)
    same = hashes[repeats] == hashes[firsts]
    excluded = np.union1d(repeats, absorbed)
    if len(excluded):
        repeated = write_rows(joined.folder, REPEATED_FILE, excluded)
        joined.manifest.model_copy(update={"repeated": repeated}).write(joined.folder)
    unequal = np.concatenate([repeats[~same], firsts[~same], np.array([*merged.completed], np.int64)])
    again: list[int] = np.setdiff1d(unequal, absorbed).tolist()
    stored = EmbedReport()
    if again:
        records = [merged.completed.get(row, paper) for row, paper in zip(again, joined.papers(again), strict=True)]
        stored = embed(records, load(joined), joined.folder, skip_bad=skip_bad, replace=True)
    before = joined.manifest.input
    assert before is not None
    record = InputRecord(
        read=before.read - len(absorbed),
        duplicates=before.duplicates + len(np.setdiff1d(repeats[same], absorbed)) + stored.duplicates,
        bad=before.bad + stored.bad,
    )
    manifest = read_manifest(joined.folder).model_copy(update={"input": record})
    return manifest, len(absorbed), stored.reasons


def _merge_records(joined: StoredCollection, ends: Rows) -> MergedRecords:
    """Merge the records of one paper that several parts have; positions are rows."""
    merged = MergedRecords()
    for columns in joined.columns("id", "ids", "record_hash"):
        for id, ids, content in zip(*columns, strict=True):
            merged.add(Paper(id=id, ids=dict(ids)), content)
    if merged.find_repeated():
        rows = sorted(merged.groups)
        parts: dict[int, set[int]] = {}
        for row, part in zip(rows, np.searchsorted(ends, rows, "right").tolist(), strict=True):
            parts.setdefault(merged.groups[row], set()).add(part)
        rows = [row for row in rows if len(parts[merged.groups[row]]) > 1]
        merged.compare(dict(zip(rows, joined.papers(rows), strict=True)))
    return merged


def _find_repeats(stored: StoredCollection) -> tuple[Rows, Rows]:
    """Return rows of papers whose id an earlier row has, and of each the first such row: both (n,), ascending."""
    _, first, of_row = np.unique(stored.column("id_hash"), return_index=True, return_inverse=True)
    firsts = first[of_row.ravel()]
    repeats: Rows = np.flatnonzero(firsts != np.arange(len(firsts)))
    return repeats, firsts[repeats]
