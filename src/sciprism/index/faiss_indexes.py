"""The two kinds of FAISS index: a graph of neighbours in memory (HNSW), and inverted lists on disk (IVF).

A graph is fast for collections whose vectors fit in memory. Lists serve any size: a vector is in the list of its
nearest centroid, as a code of what is left after the centroid (product quantization); a search maps the lists, and
reads those of the centroids next to the query.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.checksums import BLOCK, BlockChecks, Bytes
from sciprism.errors import DamagedFileError, InputError, import_extra
from sciprism.files import write_atomically, write_json
from sciprism.index.build_record import IndexChecks, Settings
from sciprism.index.exact import EXTRA_CANDIDATES, normalize_for
from sciprism.index.recall import K, double
from sciprism.store import StoredCollection

LINKS = 32  # neighbours of a node of the graph
MAX_EFFORT = 4096  # the most nodes that a search keeps: beyond that exact search is as fast
SAMPLES_PER_LIST = 64  # vectors for each centroid in training
MIN_SAMPLES_PER_LIST = 32  # where memory holds less, there are fewer lists
TRAINING_ROUNDS = 10
PART_ROWS = 1 << 19  # vectors that are added at once; an interruption loses no more
ADD_ROWS = 1 << 14  # vectors in one product with the centroids
DIMENSIONS_PER_BYTE = 4  # dimensions of a vector that share a byte of its code
TRAINED_NAME = "trained.faiss"
LISTS_SUFFIX = ".lists"
SIZES_SUFFIX = ".sizes.npy"
ID_BYTES = 8  # bytes of a row's number in a list
CODE_ROUNDS = 10
CODE_SAMPLES = 128  # vectors for each of the 256 values of a byte of the code
PROGRAM_BYTES = 600_000_000  # memory of the program itself and of all buffers but the training sample
RESCORE_CODES = 1000  # codes that are read in the time of scoring one candidate exactly


Progress = Callable[[str, str, int, int | None], None]  # work, unit, how many, of how many


def import_faiss() -> Any:
    """Return the package; MissingExtraError where it is not installed."""
    with import_extra("scale", "approximate search"):
        import faiss
    return faiss


def metric_of(distance: str) -> int:
    """Return the metric of a distance; vectors of cosines are normalized."""
    faiss = import_faiss()
    metric: int = faiss.METRIC_L2 if distance == "euclidean" else faiss.METRIC_INNER_PRODUCT
    return metric


def write_index(index: Any, path: Path) -> None:
    """Write an index atomically, through Python, as FAISS itself does not say why it cannot write."""
    faiss = import_faiss()
    write_atomically(path, lambda file: faiss.write_index(index, faiss.PyCallbackIOWriter(file.write)))


def read_index(path: Path, flags: int = 0) -> Any:
    """Read an index. Raises DamagedFileError where FAISS cannot."""
    try:
        return import_faiss().read_index(str(path), flags)
    except RuntimeError:
        raise DamagedFileError(f"{path} is missing or damaged") from None


def count_graph_bytes(rows: int, dim: int) -> int:
    """Return the memory of a graph in bytes: its vectors in float32, and links in both directions."""
    return rows * (4 * dim + 8 * LINKS + 32)


def build_graph(collection: StoredCollection, space: str, path: Path, progress: Progress) -> None:
    """Build the graph of a space in memory, and write it to a file."""
    faiss = import_faiss()
    distance = collection.manifest.encoder.distance
    index = faiss.IndexHNSWFlat(collection.manifest.spaces[space].dim, LINKS, metric_of(distance))
    for shard in collection.vectors(space):
        index.add(normalize_for(shard.block(0, len(shard)), distance))
        progress(f"graph ({space})", "vectors", index.ntotal, collection.rows)
    write_index(index, path)


class Graph:
    """A graph that was read into memory. Effort: the nodes that a search keeps (ef)."""

    depths: tuple[int, ...] = (K + EXTRA_CANDIDATES,)
    """Its scores are those of float32 vectors: few candidates need be scored again."""

    def __init__(self, path: Path, checks: IndexChecks | None = None) -> None:
        if checks is not None:
            checks.check_whole()
        self._index = read_index(path)
        if not isinstance(self._index, import_faiss().IndexHNSW):
            raise InputError(f"{path} holds no graph")
        self.efforts = double(LINKS, min(MAX_EFFORT, max(LINKS, self._index.ntotal)))

    @property
    def settings(self) -> Settings:
        """Return the links of a node."""
        return {"links": LINKS}

    def find(self, queries: Floats, depth: int, effort: int, selector: Any = None) -> Rows:
        """Return the candidates of each query (m, d): rows (m, depth), nearest first, -1 for none."""
        params = import_faiss().SearchParametersHNSW(efSearch=self.widen(effort, depth), sel=selector)
        rows: Rows = self._index.search(queries, depth, params=params)[1]
        return rows

    def widen(self, effort: int, depth: int) -> int:
        """Return the effort that so many candidates need, at least the given one."""
        return max(effort, depth)

    def cost(self, queries: Floats, depth: int, effort: int) -> float:
        """Return what a search costs, to compare efforts; it is nearly the same for all queries."""
        del queries
        return float(self.widen(effort, depth))


@dataclass(frozen=True, slots=True)
class ListsPlan:
    """What an unfinished build was begun with; it is continued only with the same."""

    contents: str
    space: str
    lists: int
    code_parts: int
    code_bits: int
    samples: int
    part_rows: int
    faiss: str


def make_plan(collection: StoredCollection, space: str, contents: str, memory: float) -> ListsPlan:
    """Choose lists, code and sample for a collection. memory: bytes that the build may take."""
    dim, rows = collection.manifest.spaces[space].dim, collection.rows
    fits = int((memory - PROGRAM_BYTES) / (4 * dim))
    lists = max(1, min(int(2 * rows**0.5), rows // SAMPLES_PER_LIST, fits // MIN_SAMPLES_PER_LIST))
    samples = min(rows, fits, max(SAMPLES_PER_LIST * lists, 1 << 16))
    code_parts = next(size for size in range(max(1, dim // DIMENSIONS_PER_BYTE), 0, -1) if dim % size == 0)
    bits = min(8, samples.bit_length() - 1)
    return ListsPlan(contents, space, lists, code_parts, bits, samples, PART_ROWS, import_faiss().__version__)


def build_lists(collection: StoredCollection, plan: ListsPlan, draft: Path, path: Path, progress: Progress) -> None:
    """Build the lists of a space: centroids and code in `path`, the lists and their sizes next to it.

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
    work = f"merging lists ({plan.space})"
    _merge_lists(trained, parts, path, lambda done: progress(work, "lists", done, plan.lists))


class InvertedLists:
    """Lists that are mapped, each compared with its checksums when it is first read. Effort: lists read (probes)."""

    depths: tuple[int, ...] = (K + EXTRA_CANDIDATES, 50, 100, 200, 400, 800)

    def __init__(self, path: Path, checks: IndexChecks | None = None) -> None:
        lists = path.with_suffix(LISTS_SUFFIX)
        if checks is not None:
            checks.check_whole(lists.name)
        self._index = read_index(path)
        self._index.use_precomputed_table = -1  # it would take a hundred times the memory of the centroids
        self.efforts = double(1, self._index.nlist)
        self._entry_bytes = self._index.code_size + ID_BYTES
        self._checks = checks.open(lists.name) if checks is not None else BlockChecks(lists, (), "")
        self._sizes = np.load(path.with_suffix(SIZES_SUFFIX), allow_pickle=False)
        self._starts = np.cumsum([0, *self._sizes[:-1]]) * self._entry_bytes
        self._content: Bytes = np.memmap(lists, np.uint8, "r")
        self._map(lists)

    def _map(self, lists: Path) -> None:
        """Give the index its lists, mapped and not read."""
        faiss = import_faiss()
        mapped = faiss.OnDiskInvertedLists(self._index.nlist, self._index.code_size, str(lists))
        sizes = self._sizes.astype(np.uint64)  # has a name: a pointer does not keep it alive
        mapped.set_all_lists_sizes(faiss.swig_ptr(sizes))
        mapped.totsize, mapped.read_only = len(self._content), True
        mapped.prefetch_nthread = 0  # to start its threads takes longer than a search
        mapped.do_mmap()
        self._index.replace_invlists(mapped, True)
        mapped.this.disown()  # the index frees it
        self._index.ntotal = int(self._sizes.sum())

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
        pointers = [faiss.swig_ptr(array) for array in (lists, near, scores, rows)]
        self._index.search_preassigned_c(len(queries), faiss.swig_ptr(queries), depth, *pointers, False, params)
        return rows

    def widen(self, effort: int, depth: int) -> int:
        """Return the effort whose lists hold twice so many candidates on average, at least the given one."""
        return max(effort, -(-2 * depth * self.efforts[-1] // int(self._index.ntotal)))

    def cost(self, queries: Floats, depth: int, effort: int) -> float:
        """Return how many codes a search reads, and as many as it could in the time of its exact scores."""
        lists = self._index.quantizer.search(queries, effort)[1]
        return float(self._sizes[lists].sum(axis=1).mean()) + RESCORE_CODES * depth

    def _check(self, lists: Rows) -> None:
        if self._checks.complete:
            return
        first = self._starts[lists] // BLOCK
        last = np.maximum(self._starts[lists] + self._sizes[lists] * self._entry_bytes - 1, 0) // BLOCK
        blocks = {
            block for a, b in np.unique(np.stack([first, last], -1).reshape(-1, 2), axis=0) for block in range(a, b + 1)
        }
        self._checks.check_blocks(self._content, sorted(blocks))


def _train(collection: StoredCollection, plan: ListsPlan, progress: Progress) -> Any:
    """Return an empty index with centroids and code from a sample that is even through the collection."""
    faiss = import_faiss()
    distance = collection.manifest.encoder.distance
    dim, metric = collection.manifest.spaces[plan.space].dim, metric_of(distance)
    sample = _draw_sample(collection, plan, progress)
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
    index.pq.cp.niter, index.pq.cp.max_points_per_centroid = CODE_ROUNDS, CODE_SAMPLES
    index.pq.cp.min_points_per_centroid = 1
    progress(f"training codes ({plan.space})", "", 0, None)
    index.train(sample)
    return index


def _draw_sample(collection: StoredCollection, plan: ListsPlan, progress: Progress) -> Floats:
    """Return vectors (samples, d) that are evenly spaced through the collection."""
    wanted = np.linspace(0, collection.rows - 1, plan.samples).astype(np.int64)
    sample = np.empty((len(wanted), collection.manifest.spaces[plan.space].dim), np.float32)
    ends = collection.vectors(plan.space).ends
    bounds = [0, *np.searchsorted(wanted, ends)]
    for number, (shard, (start, stop)) in enumerate(zip(collection.vectors(plan.space), pairwise(bounds), strict=True)):
        rows = wanted[start:stop] - (ends[number] - len(shard))
        sample[start:stop] = normalize_for(shard.take(rows), collection.manifest.encoder.distance)
        progress(f"reading a sample ({plan.space})", "vectors", int(stop), len(wanted))
    return sample


def _write_parts(collection: StoredCollection, plan: ListsPlan, draft: Path, progress: Progress) -> Iterator[Path]:
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


def _merge_lists(trained: Path, parts: Sequence[Path], path: Path, on_merged: Callable[[int], None]) -> None:
    """Write the lists of all parts to one file: of each list the codes, then the rows. Parts are mapped, not read."""
    faiss = import_faiss()
    indexes = [read_index(file, faiss.IO_FLAG_MMAP) for file in parts]
    index = read_index(trained)
    sizes = np.array([[part.invlists.list_size(i) for part in indexes] for i in range(index.nlist)], np.int64)

    def write(file: BinaryIO) -> None:
        for number in range(index.nlist):
            for read, width in (("get_codes", index.code_size), ("get_ids", 1)):
                for part, size in zip(indexes, sizes[number].tolist(), strict=True):
                    if size:
                        file.write(faiss.rev_swig_ptr(getattr(part.invlists, read)(number), size * width).data)
            on_merged(number + 1)

    write_atomically(path.with_suffix(LISTS_SUFFIX), write)
    write_atomically(path.with_suffix(SIZES_SUFFIX), partial(np.save, arr=sizes.sum(axis=1), allow_pickle=False))
    write_index(index, path)
