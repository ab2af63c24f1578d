"""Inverted lists on disk (IVF with product quantization), for collections of any size.

A vector is in the list of its nearest centroid, as a code of what is left after the centroid. A search maps the lists
and reads those of the centroids next to the query.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.checksums import BLOCK, BlockChecks, Bytes
from sciprism.files import explain_write_errors, write_json
from sciprism.index.build_record import IndexChecks, Settings
from sciprism.index.exact import EXTRA_CANDIDATES, normalize_for
from sciprism.index.faiss_files import flush_to_disk, import_faiss, metric_of, read_index, write_index
from sciprism.index.recall import K, double
from sciprism.store import StoredCollection

Progress = Callable[[str, str, int, int | None], None]

SAMPLES_PER_LIST = 64
"""Vectors for each centroid in training."""
MIN_SAMPLES_PER_LIST = 32
"""Where memory holds less, there are fewer lists."""
TRAINING_ROUNDS = 10
PART_ROWS = 1 << 19
"""Vectors that are added at once; an interruption loses no more."""
ADD_ROWS = 1 << 14
"""Vectors in one product with the centroids."""
DIMENSIONS_PER_BYTE = 4
"""Dimensions of a vector that share a byte of its code."""
TRAINED_NAME = "trained.faiss"
LISTS_SUFFIX = ".ivfdata"
PROGRAM_BYTES = 600_000_000
"""Memory of the program itself and of all buffers but the training sample."""
RESCORE_CODES = 1000
"""Codes that are read in the time of scoring one candidate exactly."""
FORMER_EFFORT = 32
"""Lists that were read before they were chosen by measured recall."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What an unfinished build was begun with; it is continued only with the same."""

    contents: str
    space: str
    lists: int
    code_parts: int
    code_bits: int
    samples: int
    part_rows: int
    faiss: str


def make_plan(collection: StoredCollection, space: str, contents: str, memory: float) -> Plan:
    """Choose lists, code and sample for a collection. memory: bytes that the build may take."""
    dim, rows = collection.manifest.spaces[space].dim, collection.rows
    fits = int((memory - PROGRAM_BYTES) / (4 * dim))
    lists = max(1, min(int(2 * rows**0.5), rows // SAMPLES_PER_LIST, fits // MIN_SAMPLES_PER_LIST))
    samples = min(rows, fits, max(SAMPLES_PER_LIST * lists, 1 << 16))
    code_parts = next(size for size in range(max(1, dim // DIMENSIONS_PER_BYTE), 0, -1) if dim % size == 0)
    bits = min(8, samples.bit_length() - 1)
    return Plan(contents, space, lists, code_parts, bits, samples, PART_ROWS, import_faiss().__version__)


def build(collection: StoredCollection, plan: Plan, draft: Path, path: Path, progress: Progress) -> None:
    """Build the lists of a space: `path`, and next to it the lists, its name with the suffix .ivfdata.

    Centroids and parts that an interrupted build left in the folder `draft` are used again.
    """
    plan_file = draft / "plan.json"
    if not plan_file.is_file() or json.loads(plan_file.read_text(encoding="utf-8")) != asdict(plan):
        shutil.rmtree(draft, ignore_errors=True)
        write_json(plan_file, asdict(plan))
    trained = draft / TRAINED_NAME
    if not trained.is_file():
        write_index(_train(collection, plan, progress), trained)
    parts = list(_write_parts(collection, plan, draft, progress))
    progress(f"merging lists ({plan.space})", "", 0, None)
    _merge(trained, parts, path)


class InvertedLists:
    """Lists that are mapped, each compared with its checksums when it is first read. Effort: lists read (probes)."""

    depths: tuple[int, ...] = (K + EXTRA_CANDIDATES, 50, 100, 200, 400, 800)

    def __init__(self, path: Path, checks: IndexChecks | None = None) -> None:
        faiss = import_faiss()
        lists = path.with_suffix(LISTS_SUFFIX)
        if checks is not None:
            checks.check_whole(lists.name)
        self._index = read_index(path, faiss.IO_FLAG_READ_ONLY | faiss.IO_FLAG_ONDISK_SAME_DIR)
        self._index.use_precomputed_table = -1  # it would take a hundred times the memory of the centroids
        self.efforts = double(1, self._index.nlist)
        self._checks: BlockChecks | None = None
        if not lists.is_file():  # of version 0.1: the lists are in the index
            return
        mapped = faiss.downcast_InvertedLists(self._index.invlists)
        mapped.prefetch_nthread = 0  # starting its threads takes longer than a search
        each = [mapped.lists.at(number) for number in range(self._index.nlist)]
        self._starts = np.array([one.offset for one in each], np.int64)
        self._sizes = np.array([one.size for one in each], np.int64)
        self._entry_bytes = self._index.code_size + 8
        self._content: Bytes = np.memmap(lists, np.uint8, "r")
        self._checks = checks.open(lists.name) if checks is not None else BlockChecks(lists, (), "")

    @property
    def settings(self) -> Settings:
        """Return the number of lists and the bytes of a vector in them."""
        return {"lists": self._index.nlist, "entry_bytes": self._entry_bytes}

    def find(self, queries: Floats, depth: int, effort: int, selector: Any = None) -> Rows:
        """Return the candidates of each query (m, d): rows (m, depth), nearest first, -1 for none."""
        faiss = import_faiss()
        near, lists = self._index.quantizer.search(queries, effort)
        self._check(lists)
        scores, rows = np.empty((len(queries), depth), np.float32), np.empty((len(queries), depth), np.int64)
        params = faiss.SearchParametersIVF(nprobe=effort, sel=selector)
        pointers = [faiss.swig_ptr(each) for each in (lists, near, scores, rows)]
        self._index.search_preassigned_c(len(queries), faiss.swig_ptr(queries), depth, *pointers, False, params)
        return rows

    def cost(self, queries: Floats, depth: int, effort: int) -> float:
        """Return how many codes a search reads, and as many as it could in the time of its exact scores."""
        lists = self._index.quantizer.search(queries, effort)[1]
        return float(self._sizes[lists].sum(axis=1).mean()) + RESCORE_CODES * depth

    def _check(self, lists: Rows) -> None:
        """Compare the blocks of some lists. Raises DamagedFileError."""
        if self._checks is None or self._checks.complete:
            return
        first = self._starts[lists] // BLOCK
        last = np.maximum(self._starts[lists] + self._sizes[lists] * self._entry_bytes - 1, 0) // BLOCK
        blocks = {
            block for a, b in np.unique(np.stack([first, last], -1).reshape(-1, 2), axis=0) for block in range(a, b + 1)
        }
        self._checks.check_blocks(self._content, sorted(blocks))


def _train(collection: StoredCollection, plan: Plan, progress: Progress) -> Any:
    """Return an empty index with centroids and code from a sample that is even through the collection."""
    faiss = import_faiss()
    distance = collection.manifest.encoder.distance
    dim, metric = collection.manifest.spaces[plan.space].dim, metric_of(distance)
    sample = _sample(collection, plan, progress)
    work = f"training {plan.lists:,} lists ({plan.space})"
    centroids = sample[np.random.default_rng(0).choice(len(sample), plan.lists, replace=False)]
    options = {"niter": 1, "min_points_per_centroid": 1, "max_points_per_centroid": len(sample)}
    for number in range(1, TRAINING_ROUNDS + 1):
        clustering = faiss.Kmeans(dim, plan.lists, spherical=metric != faiss.METRIC_L2, seed=number, **options)
        clustering.train(sample, init_centroids=centroids)
        centroids = clustering.centroids
        progress(work, "rounds", number, TRAINING_ROUNDS)
    flat = faiss.IndexFlatL2(dim) if metric == faiss.METRIC_L2 else faiss.IndexFlatIP(dim)
    flat.add(centroids)
    index = faiss.IndexIVFPQ(flat, dim, plan.lists, plan.code_parts, plan.code_bits, metric)
    flat.this.disown()  # the index frees it
    index.own_fields = True
    index.use_precomputed_table = -1
    progress(f"training codes ({plan.space})", "", 0, None)
    index.train(sample)
    return index


def _sample(collection: StoredCollection, plan: Plan, progress: Progress) -> Floats:
    """Return vectors (samples, d) that are evenly spaced through the collection."""
    wanted = np.linspace(0, collection.rows - 1, plan.samples).astype(np.int64)
    sample = np.empty((len(wanted), collection.manifest.spaces[plan.space].dim), np.float32)
    ends = np.cumsum([shard.rows for shard in collection.manifest.shards])
    bounds = [0, *np.searchsorted(wanted, ends)]
    for number, (shard, (start, stop)) in enumerate(zip(collection.vectors(plan.space), pairwise(bounds), strict=True)):
        rows = wanted[start:stop] - (ends[number] - len(shard))
        sample[start:stop] = normalize_for(shard.take(rows), collection.manifest.encoder.distance)
        progress(f"reading a sample ({plan.space})", "vectors", int(stop), len(wanted))
    return sample


def _write_parts(collection: StoredCollection, plan: Plan, draft: Path, progress: Progress) -> Iterator[Path]:
    """Yield the files of all parts of the lists; those that are not there yet are written."""
    rows = [shard.rows for shard in collection.manifest.shards]
    part_of = (np.cumsum([0, *rows]) // plan.part_rows)[:-1]
    work, added = f"inverted lists ({plan.space})", 0
    for part in np.unique(part_of):
        path = draft / f"part-{part:06d}.faiss"
        shards = np.flatnonzero(part_of == part).tolist()
        count = sum(rows[shard] for shard in shards)
        if not path.is_file():
            index = read_index(draft / TRAINED_NAME)
            for vectors in _read_blocks(collection, plan.space, shards):
                first = added + index.ntotal
                index.add_with_ids(vectors, np.arange(first, first + len(vectors)))
                progress(work, "vectors", added + index.ntotal, collection.rows)
            write_index(index, path)
        added += count
        progress(work, "vectors", added, collection.rows)
        yield path


def _read_blocks(collection: StoredCollection, space: str, shards: Sequence[int]) -> Iterator[Floats]:
    """Yield the vectors of shards, about ADD_ROWS at once."""
    matrices, distance = collection.vectors(space), collection.manifest.encoder.distance
    block: list[Floats] = []
    for shard in shards:
        matrix = matrices[shard]
        for start in range(0, len(matrix), ADD_ROWS):
            block.append(normalize_for(matrix.block(start, start + ADD_ROWS), distance))
            if sum(map(len, block)) >= ADD_ROWS:
                yield np.concatenate(block)
                block = []
    if block:
        yield np.concatenate(block)


def _merge(trained: Path, parts: list[Path], path: Path) -> None:
    """Merge the lists of all parts into one mapped file; in memory are only pages that the system may take back."""
    from faiss.contrib.ondisk import merge_ondisk

    index, lists = read_index(trained), path.with_suffix(LISTS_SUFFIX)
    lists.unlink(missing_ok=True)
    with explain_write_errors(lists):
        try:
            merge_ondisk(index, [str(part) for part in parts], str(lists))
        except RuntimeError as error:  # faiss has no other error
            raise OSError(str(error)) from error
        flush_to_disk(lists)
    write_index(index, path)
