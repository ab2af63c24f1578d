"""Write one shard: its papers, its vectors in every space, then the manifest that makes it count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats
from sciprism.files import commit, sha256
from sciprism.papers.records import Paper
from sciprism.store.collection import Collection, papers_file, scales_file, values_file
from sciprism.store.known_papers import Hashes, Judgement, KnownPapers
from sciprism.store.manifest import FileRecord, ShardRecord
from sciprism.store.matrix import Matrix, pack
from sciprism.store.paper_table import lacks_abstract, write_papers

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format

SLICE = 256
"""Papers encoded by one call. Slices start with the shard, so a shard's bytes depend on its papers alone."""


@dataclass(frozen=True, slots=True)
class NewRow:
    """A paper to be stored; when only its details changed, the vectors of its old row are kept."""

    paper: Paper
    hashes: Hashes
    judgement: Judgement


def load_known(collection: Collection) -> KnownPapers:
    """Read the hashes of all stored papers."""
    hashes = np.stack([collection.column("text_hash"), collection.column("record_hash")], axis=1)
    known = KnownPapers()
    known.load(collection.column("id_hash"), hashes, collection.column("missing_abstract"))
    return known


class ShardWriter:
    """Append shards to a collection."""

    def __init__(self, collection: Collection, encoder: Encoder, encoded: Callable[[int], None]) -> None:
        self.manifest = collection.manifest
        self._stored = collection
        self._folder = collection.folder
        self._encoder = encoder
        self._encoded = encoded  # told the number of papers after each slice

    def write(self, rows: Sequence[NewRow]) -> None:
        """Encode and commit one shard."""
        number = len(self.manifest.shards)
        hashes = np.array([(r.hashes.id, r.hashes.text, r.hashes.record) for r in rows], np.uint64)
        papers = [row.paper for row in rows]
        commit(self._folder / papers_file(number), lambda file: write_papers(file, papers, hashes))
        files = [papers_file(number)]
        by_path = self._vectors([row.paper for row in rows if row.judgement.verdict != "updated"])
        for name, space in self.manifest.spaces.items():
            matrix = self._matrix(rows, name, by_path[space.path])
            parts = [(values_file(space.folder, number), matrix.values)]
            if matrix.scales is not None:
                parts.append((scales_file(space.folder, number), matrix.scales))
            for file_name, array in parts:
                commit(self._folder / file_name, partial(_save, array=array))
                files.append(file_name)
        self._commit(rows, files)

    def _commit(self, rows: Sequence[NewRow], names: list[str]) -> None:
        replaced = [row.judgement for row in rows if row.judgement.row >= 0]
        record = ShardRecord(
            rows=len(rows),
            missing_abstracts=sum(lacks_abstract(row.paper) for row in rows),
            superseded=len(replaced),
            superseded_missing_abstracts=sum(old.missing_abstract for old in replaced),
            files={name: self._file_record(name) for name in names},
        )
        shards = [*self.manifest.shards, record]
        self.manifest = self.manifest.model_copy(update={"shards": shards, "input": None})
        self.manifest.write(self._folder)

    def _file_record(self, name: str) -> FileRecord:
        path = self._folder / name
        return FileRecord(size=path.stat().st_size, sha256=sha256(path))

    def _matrix(self, rows: Sequence[NewRow], name: str, vectors: Floats) -> Matrix:
        """Reduce the vectors of new rows, and put kept ones at their places."""
        space = self.manifest.spaces[name]
        kept = np.array([row.judgement.verdict == "updated" for row in rows])
        packed = pack(vectors, self.manifest.dtype)
        if not kept.any():
            return packed
        old_rows = np.array([row.judgement.row for row in rows])[kept]
        old = self._stored.stored(name, old_rows)
        values = np.empty((len(rows), space.dim), packed.values.dtype)
        values[~kept], values[kept] = packed.values, old.values
        if packed.scales is None or old.scales is None:
            return Matrix(values)
        scales = np.empty(len(rows), np.float32)
        scales[~kept], scales[kept] = packed.scales, old.scales
        return Matrix(values, scales)

    def _vectors(self, papers: list[Paper]) -> dict[str, Floats]:
        """Encode papers; return the vectors of each path that a space needs."""
        formats = {space.path: cast("Format", space.formats[0]) for space in self.manifest.spaces.values()}
        found = {path: np.empty((len(papers), self._encoder.dim), np.float32) for path in formats}
        for start in range(0, len(papers), SLICE):
            part = papers[start : start + SLICE]
            every = self._encoder.encode_all(part, formats=tuple(formats.values()))
            for path, format in formats.items():
                found[path][start : start + len(part)] = every[format]
            self._encoded(len(part))
        return found


def _save(file: BinaryIO, array: NDArray[np.generic]) -> None:
    np.save(file, array, allow_pickle=False)
