"""Write shards: papers, then vectors in every space, then the manifest that commits them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np

from sciprism.arrays import Floats
from sciprism.checksums import hash_blocks
from sciprism.files import sha256, write_atomically
from sciprism.papers.records import Paper
from sciprism.store.collection import StoredCollection, papers_file, scales_file, values_file
from sciprism.store.known_papers import KnownPapers, PaperHashes, PaperStatus
from sciprism.store.manifest import FileChecksum, ShardRecord
from sciprism.store.matrix import Matrix, quantize
from sciprism.store.paper_table import has_no_abstract, write_papers
from sciprism.store.unfinished import UnfinishedBatches

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format

BATCH = 256
"""Papers per call of the encoder. Batches start with the shard, so its bytes depend on its papers alone."""


@dataclass(frozen=True, slots=True)
class PendingRow:
    """A paper to be stored; if only its details changed, the vectors of its old row are reused."""

    paper: Paper
    hashes: PaperHashes
    status: PaperStatus


def load_known_papers(collection: StoredCollection) -> KnownPapers:
    """Read the hashes of all stored papers."""
    hashes = np.stack([collection.column("text_hash"), collection.column("record_hash")], axis=1)
    known = KnownPapers()
    missing = collection.column("missing_abstract")
    known.load(collection.column("id_hash"), hashes, missing, collection.deleted_rows, collection.repeated_rows)
    return known


class ShardWriter:
    """Appends shards to a collection; on_encoded gets the number of papers after each batch."""

    def __init__(self, collection: StoredCollection, encoder: Encoder, on_encoded: Callable[[int], None]) -> None:
        self.manifest = collection.manifest
        self._stored = collection
        self._folder = collection.folder
        self._encoder = encoder
        self._on_encoded = on_encoded
        self._unfinished = UnfinishedBatches(collection.folder)

    def write(self, rows: Sequence[PendingRow]) -> None:
        """Encode and commit one shard."""
        number = len(self.manifest.shards)
        hashes = np.array([(r.hashes.id, r.hashes.text, r.hashes.record) for r in rows], np.uint64)
        papers = [row.paper for row in rows]
        write_atomically(self._folder / papers_file(number), lambda file: write_papers(file, papers, hashes))
        files = [papers_file(number)]
        with self._unfinished.use(self._encoder):
            by_path = self._encode([row.paper for row in rows if row.status.kind != "updated"])
        for name, space in self.manifest.spaces.items():
            matrix = self._build_matrix(rows, name, by_path[space.path])
            parts = [(values_file(space.folder, number), matrix.values)]
            if matrix.scales is not None:
                parts.append((scales_file(space.folder, number), matrix.scales))
            for file_name, array in parts:
                save = partial(np.save, arr=array, allow_pickle=False)
                write_atomically(self._folder / file_name, save)
                files.append(file_name)
        self._commit(rows, files)
        self._unfinished.clear()

    def clear_unfinished(self) -> None:
        """Delete saved vectors that no shard needs any more."""
        self._unfinished.clear()

    def _commit(self, rows: Sequence[PendingRow], names: list[str]) -> None:
        replaced = [row.status for row in rows if row.status.row >= 0]
        record = ShardRecord(
            rows=len(rows),
            missing_abstracts=sum(has_no_abstract(row.paper) for row in rows),
            superseded=len(replaced),
            superseded_missing_abstracts=sum(old.missing_abstract for old in replaced),
            files={
                name: FileChecksum(size=path.stat().st_size, sha256=sha256(path), blocks=hash_blocks(path))
                for name, path in ((name, self._folder / name) for name in names)
            },
        )
        shards = [*self.manifest.shards, record]
        self.manifest = self.manifest.model_copy(update={"shards": shards, "input": None})
        self.manifest.write(self._folder)

    def _build_matrix(self, rows: Sequence[PendingRow], name: str, vectors: Floats) -> Matrix:
        """Quantize the vectors of new texts, and copy those of updated rows from their old rows."""
        space = self.manifest.spaces[name]
        reused = np.array([row.status.kind == "updated" for row in rows])
        new = quantize(vectors, self.manifest.dtype)
        if not reused.any():
            return new
        old = self._stored.read_rows(name, np.array([row.status.row for row in rows])[reused])
        values = np.empty((len(rows), space.dim), new.values.dtype)
        values[~reused], values[reused] = new.values, old.values
        if new.scales is None or old.scales is None:
            return Matrix(values)
        scales = np.empty(len(rows), np.float32)
        scales[~reused], scales[reused] = new.scales, old.scales
        return Matrix(values, scales)

    def _encode(self, papers: list[Paper]) -> dict[str, Floats]:
        """Return the vectors of papers by the encoder's paths that the spaces need."""
        formats = {space.path: cast("Format", space.formats[0]) for space in self.manifest.spaces.values()}
        found = {path: np.empty((len(papers), self._encoder.dim), np.float32) for path in formats}
        for start in range(0, len(papers), BATCH):
            batch = papers[start : start + BATCH]
            vectors = self._encoder.encode_all(batch, formats=tuple(formats.values()))
            for path, format in formats.items():
                found[path][start : start + len(batch)] = vectors[format]
            self._on_encoded(len(batch))
        return found
