"""Write to a collection: which papers are new or changed, shards, deleted rows; the manifest commits each.

What is known of a stored paper takes about 25 bytes. Vectors of a shard that is not full yet are saved too.
"""

from __future__ import annotations

import io
import json
import shutil
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

import sciprism.store.shard_files as shard_files
from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.files import hash_bytes, lock_folder, write_atomically
from sciprism.papers.identity import describe_differences
from sciprism.papers.records import Paper
from sciprism.store.collection import DELETED_FOLDER, FileChecksum, Manifest, RowsRecord, ShardRecord, StoredCollection
from sciprism.store.shard_files import hash64

if TYPE_CHECKING:
    from torch import Tensor

    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.layers import PackedBatch
    from sciprism.formats import Format

MAX_QUOTED = 200  # characters of a title in a message
RECENT = 1 << 16  # new papers looked up in a dictionary before they are merged into the sorted arrays
StatusKind = Literal["new", "changed", "updated", "unchanged", "duplicate", "conflict"]
"""What a record is next to the known one of its id: with a changed text, with updated details, or unchanged.

Next to one of the same input, it is a duplicate of equal text, or in conflict with it."""
_ENTRY = np.dtype([("text", "u4"), ("record", "u4"), ("row", "u4"), ("seen", "?")])
_LOW_BITS = np.uint64(0xFFFFFFFF)
_JSON = json.JSONEncoder(sort_keys=True, ensure_ascii=False)


class PaperStatus(NamedTuple):
    """How a paper of the input compares with the known one of its id.

    row: that of the known paper. same_record: whether the
    two agree in everything.
    """

    kind: StatusKind
    row: int = -1
    same_record: bool = False


class PaperHashes(NamedTuple):
    """64-bit hashes of a paper's id, its encoded text, and its whole record with that text."""

    id: int
    text: int
    record: int


def hash_paper(paper: Paper, text: str) -> PaperHashes:
    """Return the hashes of a paper and its encoded text; UnicodeEncodeError for a lone surrogate."""
    record = _JSON.encode(paper.to_json())
    return PaperHashes(hash64(paper.id), hash64(text), hash64(record + "\n" + text))


def explain_clash(paper: Paper, other: Paper, *, same: bool, of_this_input: bool) -> str:
    """Say what a record is whose id a known record has: of the same paper with another text, or of another paper."""
    known = f"{quote_title(other)} ({other.place or 'its file was not recorded'}): {describe_differences(paper, other)}"
    if same:
        return f"it came before with another text, {known}; keep one, or the last with --corrections"
    advice = "give each its own id, with --ids-per-file for instance"
    if not of_this_input:
        advice += "; if it is the same paper, replace the stored one with --replace"
    elif paper.place and other.place and paper.place.file == other.place.file:
        advice = "change the id of one in the file"
    return f"another paper has this id, {known}; {advice}"


def quote_title(paper: Paper) -> str:
    """Quote the beginning of a paper's title, else of its abstract."""
    return repr((paper.title or paper.abstract)[:MAX_QUOTED])


class KnownPapers:
    """Hashes of the stored papers and of those that this run has seen.

    The arrays are sorted by id hash; the newest papers are in a dictionary. 32 bits of the text and record
    hashes are enough: they are compared only between papers of one id.
    """

    def __init__(self, stored: StoredCollection) -> None:
        self._recent: dict[int, int] = {}  # id hash -> position in the entries of new papers
        self._recent_entries: NDArray[np.void] = np.zeros(RECENT, _ENTRY)
        rows = stored.live
        self._ids: NDArray[np.uint64] = stored.column("id_hash")[rows]
        self._entries: NDArray[np.void] = np.zeros(len(rows), _ENTRY)
        for name in ("text", "record"):
            self._entries[name] = stored.column(f"{name}_hash")[rows] & _LOW_BITS
        self._entries["row"] = rows
        self._sort()

    def find_unseen(self, ids: NDArray[np.uint64], *, others: bool = False) -> NDArray[np.int64]:
        """Return the rows of stored papers that the input lacks, ascending; with these hashes of ids, or others."""
        chosen = np.isin(self._ids, ids, invert=others) & ~self._entries["seen"]
        rows: NDArray[np.int64] = np.sort(self._entries["row"][chosen]).astype(np.int64)
        return rows

    def is_seen(self, id: int) -> bool:
        """Return whether the input had a paper of this hash of an id."""
        entry = self._find(id)
        return entry is not None and bool(entry["seen"])

    def compare(self, hashes: PaperHashes) -> PaperStatus:
        """Compare a paper of the input with the known one of its id."""
        entry = self._find(hashes.id)
        if entry is None:
            return PaperStatus("new")
        same_text = entry["text"] == hashes.text & 0xFFFFFFFF
        same_record = bool(entry["record"] == hashes.record & 0xFFFFFFFF)
        kind: StatusKind
        if entry["seen"]:
            kind = "duplicate" if same_text else "conflict"
        else:
            kind = "unchanged" if same_record else "updated" if same_text else "changed"
        return PaperStatus(kind, int(entry["row"]), same_record)

    def mark(self, hashes: PaperHashes, row: int) -> None:
        """Remember a record of the input that is used: later ones of its id are compared with it."""
        entry = self._find(hashes.id)
        if entry is None:
            if len(self._recent) == RECENT:
                self._merge()
            position = self._recent[hashes.id] = len(self._recent)
            entry = self._recent_entries[position]
        entry["text"], entry["record"] = hashes.text & 0xFFFFFFFF, hashes.record & 0xFFFFFFFF
        entry["row"], entry["seen"] = row, True

    def _find(self, id: int) -> Any:
        """Return the entry of an id, which may be written to; None for an unknown one."""
        if (recent := self._recent.get(id)) is not None:
            return self._recent_entries[recent]
        position = int(np.searchsorted(self._ids, np.uint64(id)))
        return self._entries[position] if position < len(self._ids) and self._ids[position] == id else None

    def _merge(self) -> None:
        self._ids = np.concatenate([self._ids, np.fromiter(self._recent, np.uint64, len(self._recent))])
        self._entries = np.concatenate([self._entries, self._recent_entries[: len(self._recent)]])
        self._recent = {}
        self._recent_entries[:] = np.zeros((), _ENTRY)
        self._sort()

    def _sort(self) -> None:
        order = np.argsort(self._ids)
        self._ids, self._entries = self._ids[order], self._entries[order]


BATCH = 256  # papers per call of the encoder. Batches start with the shard, so its bytes depend on its papers alone.
CUDA_BATCH = 16_384  # on a GPU, which encodes some papers while the next are tokenized
UNFINISHED_FOLDER = "unfinished"
SAVE_SECONDS = 20.0  # seconds of encoding after which new vectors are saved; with the batch being encoded, less than 30
MAX_NAMED = 10


@dataclass(frozen=True, slots=True)
class PendingRow:
    """A paper to be stored; if only its details changed, the vectors of its old row are reused."""

    paper: Paper
    hashes: PaperHashes
    status: PaperStatus


class ShardWriter:
    """Appends shards to a collection; on_encoded gets the number of papers after each batch."""

    def __init__(self, collection: StoredCollection, encoder: Encoder, on_encoded: Callable[[int], None]) -> None:
        self.manifest = collection.manifest
        self._stored, self._folder = collection, collection.folder
        self._encoder, self._on_encoded = encoder, on_encoded
        self.unfinished = UnfinishedBatches(collection.folder)

    def write(self, rows: Sequence[PendingRow]) -> None:
        """Encode and commit one shard."""
        number = len(self.manifest.shards)
        hashes = np.array([row.hashes for row in rows], np.uint64)
        papers = [row.paper for row in rows]
        write_atomically(
            self._folder / shard_files.papers_file(number), lambda file: shard_files.write_papers(file, papers, hashes)
        )
        files = [shard_files.papers_file(number)]
        with self.unfinished.use(self._encoder):
            by_path = self._encode([row.paper for row in rows if row.status.kind != "updated"])
        for name, space in self.manifest.spaces.items():
            matrix = self._build_matrix(rows, name, by_path[space.path])
            parts = {
                shard_files.values_file(space.folder, number): matrix.values,
                shard_files.scales_file(space.folder, number): matrix.scales,
            }
            for file_name, array in parts.items():
                if array is not None:
                    write_atomically(self._folder / file_name, partial(np.save, arr=array, allow_pickle=False))
                    files.append(file_name)
        record = ShardRecord(
            rows=len(rows),
            superseded=sum(row.status.row >= 0 for row in rows),
            files={name: FileChecksum.of(self._folder / name) for name in files},
        )
        shards = [*self.manifest.shards, record]
        self.manifest = self.manifest.model_copy(update={"shards": shards, "input": None})
        self.manifest.write(self._folder)
        self.unfinished.clear()

    def _build_matrix(self, rows: Sequence[PendingRow], name: str, vectors: Floats) -> shard_files.Matrix:
        """Quantize the vectors of new texts, and copy those of updated rows from their old rows."""
        space = self.manifest.spaces[name]
        reused = np.array([row.status.kind == "updated" for row in rows])
        new = shard_files.quantize(vectors, self.manifest.dtype)
        if not reused.any():
            return new
        old = self._stored.read_rows(name, np.array([row.status.row for row in rows])[reused])
        values = np.empty((len(rows), space.dim), new.values.dtype)
        values[~reused], values[reused] = new.values, old.values
        if new.scales is None or old.scales is None:
            return shard_files.Matrix(values)
        scales = np.empty(len(rows), np.float32)
        scales[~reused], scales[reused] = new.scales, old.scales
        return shard_files.Matrix(values, scales)

    def _encode(self, papers: list[Paper]) -> dict[str, Floats]:
        """Return the vectors of papers by the encoder's paths that the spaces need."""
        formats = {space.path: cast("Format", space.formats[0]) for space in self.manifest.spaces.values()}
        vectors_of = {path: np.empty((len(papers), self._encoder.dim), np.float32) for path in formats}
        size = BATCH if self._encoder.device.type == "cpu" else CUDA_BATCH
        for start in range(0, len(papers), size):
            batch = papers[start : start + size]
            vectors = self._encoder.encode_all(batch, formats=tuple(formats.values()))
            for path, format in formats.items():
                vectors_of[path][start : start + len(batch)] = vectors[format]
            self._on_encoded(len(batch))
        return vectors_of


class UnfinishedBatches:
    """The vectors of the encoder's batches since the last shard, by a checksum of their tokens.

    A batch that a run had saved before it was interrupted is not computed again: the same bytes go into the shard
    as without an interruption. A damaged file is left out, and its batches are computed again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / UNFINISHED_FOLDER
        self._known: dict[str, Floats] | None = None
        self._new: dict[str, Floats] = {}
        self._saved = time.monotonic()
        self._lock = threading.Lock()

    @contextmanager
    def use(self, encoder: Any) -> Iterator[None]:
        """Let an encoder compute only batches that are not saved; what it computes is saved now and then.

        And when it is interrupted.
        """
        if self._known is None:
            self._known = dict(_read_saved(self._folder))
        encoder.around_batches = self._wrap
        try:
            yield
        except KeyboardInterrupt:
            with self._lock:
                self._save()
            raise
        finally:
            encoder.around_batches = None

    def clear(self) -> None:
        """Delete what was saved: its shard is committed."""
        self._known, self._new = {}, {}
        if self._folder.exists():
            shutil.rmtree(self._folder)

    def _wrap(self, compute: Callable[[PackedBatch], Tensor]) -> Callable[[PackedBatch], Tensor]:
        import torch

        from sciprism.encoders.streaming import LateVectors

        late = LateVectors()

        def remember(key: str, vectors: Floats) -> None:
            with self._lock:
                self._new[key] = vectors
                if time.monotonic() - self._saved > SAVE_SECONDS:
                    self._save()

        def run(batch: PackedBatch) -> Tensor:
            ids = batch.ids.cpu() if batch.on_host is None else batch.on_host
            key = hash_bytes(ids.numpy().tobytes() + repr((batch.lengths, batch.routes)).encode())
            if (saved := (self._known or {}).get(key)) is not None:
                return torch.from_numpy(saved)
            vectors = compute(batch)
            if vectors.is_cuda:  # with the next batch, so that the host does not wait; the last one is not saved
                late.add(vectors, lambda copied: remember(key, copied.copy()))
            else:
                remember(key, vectors.numpy())
            return vectors

        return run

    def _save(self) -> None:
        if self._new:
            content = io.BytesIO()
            np.savez(content, **cast("dict[str, Any]", self._new))  # its option allow_pickle is of numpy 2
            number = len(list(self._folder.glob("*.npz")))
            write_atomically(self._folder / f"{number:06d}.npz", lambda file: file.write(content.getvalue()))
            self._known = (self._known or {}) | self._new
            self._new = {}
        self._saved = time.monotonic()


def count_unfinished(folder: Path) -> int:
    """Return how many vectors of a collection are saved whose shard is not committed."""
    return sum(len(vectors) for _, vectors in _read_saved(folder / UNFINISHED_FOLDER))


def _read_saved(folder: Path) -> Iterator[tuple[str, Floats]]:
    for path in sorted(folder.glob("*.npz")):
        try:
            with np.load(path, allow_pickle=False) as saved:
                yield from [(key, saved[key]) for key in saved.files]
        except (OSError, ValueError, EOFError, KeyError, BadZipFile, zlib.error):
            continue


@dataclass(frozen=True, slots=True)
class DeleteReport:
    """Papers deleted, ids that are not in the collection, and papers that remain."""

    deleted: int
    unknown: tuple[str, ...]
    papers: int


def delete(folder: Path | str, ids: Iterable[str], *, missing_ok: bool = False) -> DeleteReport:
    """Delete the papers of some ids, all or none: an interruption leaves the collection as it was.

    Raises InputError, and deletes nothing, where an id is unknown; with missing_ok such ids are reported.
    Indexes stay valid. The rows keep their place on disk until the papers are embedded into a new folder.
    """
    folder = Path(folder)
    StoredCollection.open(folder)  # before a lock makes the folder
    with lock_folder(folder):
        collection = StoredCollection.open(folder)
        rows = {id: collection.find_row(id) for id in dict.fromkeys(ids)}
        unknown = tuple(id for id, row in rows.items() if row is None)
        if unknown and not missing_ok:
            shown = ", ".join(map(repr, unknown[:MAX_NAMED])) + (" ..." if len(unknown) > MAX_NAMED else "")
            raise InputError(
                f"{folder} has no paper with the id {shown} ({len(unknown)} of {len(rows)}); nothing was deleted"
            )
        existing = np.array([row for row in rows.values() if row is not None], np.int64)
        manifest = mark_deleted(collection, existing)
        if len(existing):
            manifest.write(folder)
            remove_former(collection, manifest)
    return DeleteReport(len(existing), unknown, manifest.papers)


def mark_deleted(collection: StoredCollection, rows: Rows) -> Manifest:
    """Write the file of all deleted rows, these too; return the manifest that commits it once it is written."""
    if not len(rows):
        return collection.manifest
    before = collection.manifest.deleted
    every = np.union1d(collection.deleted_rows, rows)
    number = int(Path(before.file).stem) + 1 if before else 0
    record = write_rows(collection.folder, f"{DELETED_FOLDER}/{number:06d}.npy", every)
    return collection.manifest.model_copy(update={"deleted": record})


def write_rows(folder: Path, name: str, rows: Rows) -> RowsRecord:
    """Write a file of numbers of rows, and return its record for the manifest."""
    path = folder / name
    write_atomically(path, partial(np.save, arr=rows, allow_pickle=False))
    return RowsRecord(rows=len(rows), file=name, checksum=FileChecksum.of(path))


def remove_former(collection: StoredCollection, manifest: Manifest) -> None:
    """Remove the file of deleted rows that a newer one replaced."""
    before = collection.manifest.deleted
    if before and manifest.deleted and before.file != manifest.deleted.file:
        (collection.folder / before.file).unlink(missing_ok=True)
