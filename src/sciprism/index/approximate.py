"""Approximate search with FAISS, for collections that are too large for exact search: inverted lists on disk."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.errors import DamagedFileError, InputError, import_extra
from sciprism.files import BLOCK, BlockChecks, Bytes, explain_write_errors, sync_folder, write_atomically, write_json
from sciprism.index.build_record import RECORD_NAME, BuildRecord, IndexChecks, Settings, hash_contents, write_record
from sciprism.index.exact import EXTRA_CANDIDATES, normalize_for, rescore, sample_rows, topk, vector_searches
from sciprism.index.exact import search as search_exactly
from sciprism.parallel import Progress, show_nothing
from sciprism.store import StoredCollection

K = 10  # papers of an answer whose recall is measured
QUERIES = 512  # queries of each group: a recall of 0.95 is then known to about 0.005
TIES = 16  # rows beyond K that are compared, since some may have the score of the K-th
OWN = 32  # further rows that are found, since some are the query itself or have its title
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
MEMORY = 4_000_000_000  # bytes that a build may take
PROGRAM_BYTES = 600_000_000  # of the program itself and of all buffers but the training sample
RESCORE_CODES = 1000  # codes that are read in the time of scoring one candidate exactly


def double(first: int, last: int) -> tuple[int, ...]:
    """Return first, twice first and so on, and last."""
    return (*(first << step for step in range(64) if first << step < last), last)


def import_faiss() -> Any:
    """Return the package; MissingExtraError where it is not installed."""
    with import_extra("scale", "approximate search"):
        import faiss
    return faiss


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


def make_plan(collection: StoredCollection, space: str, contents: str) -> ListsPlan:
    """Choose lists, code and sample for a collection."""
    dim, rows = collection.manifest.spaces[space].dim, collection.rows
    fits = int((MEMORY - PROGRAM_BYTES) / (4 * dim))
    lists = max(1, min(int(2 * rows**0.5), rows // SAMPLES_PER_LIST, fits // MIN_SAMPLES_PER_LIST))
    samples = max(2, min(rows, fits, max(SAMPLES_PER_LIST * lists, 1 << 16)))
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
    """Lists that are mapped, each compared with its checksums when it is first read. Effort: lists read (probes).

    entry_bytes: of a vector in a list.
    """

    depths = (K + EXTRA_CANDIDATES, 50, 100, 200, 400, 800)

    def __init__(self, path: Path, checks: IndexChecks | None = None) -> None:
        lists = path.with_suffix(LISTS_SUFFIX)
        if checks is not None:
            checks.check_whole(lists.name)
        self._index = read_index(path)
        self._index.use_precomputed_table = -1  # it would take a hundred times the memory of the centroids
        self.efforts = double(1, self._index.nlist)
        self.entry_bytes = self._index.code_size + ID_BYTES
        self._checks = checks.open(lists.name) if checks is not None else BlockChecks(lists, (), "")
        self._sizes = np.load(path.with_suffix(SIZES_SUFFIX), allow_pickle=False)
        self._starts = np.cumsum([0, *self._sizes[:-1]]) * self.entry_bytes
        self._content: Bytes = np.memmap(lists, np.uint8, "r")
        self.rows = int(self._sizes.sum())
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
        self._index.ntotal = self.rows

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

    def cost(self, queries: Floats, depth: int, effort: int) -> float:
        """Return how many codes a search reads, and as many as it could in the time of its exact scores."""
        lists = self._index.quantizer.search(queries, effort)[1]
        return float(self._sizes[lists].sum(axis=1).mean()) + RESCORE_CODES * depth

    def _check(self, lists: Rows) -> None:
        if self._checks.complete:
            return
        first = self._starts[lists] // BLOCK
        last = np.maximum(self._starts[lists] + self._sizes[lists] * self.entry_bytes - 1, 0) // BLOCK
        blocks = {
            block for a, b in np.unique(np.stack([first, last], -1).reshape(-1, 2), axis=0) for block in range(a, b + 1)
        }
        self._checks.check_blocks(self._content, sorted(blocks))


def _train(collection: StoredCollection, plan: ListsPlan, progress: Progress) -> Any:
    """Return an empty index with centroids and code from a sample that is even through the collection."""
    faiss = import_faiss()
    dim, euclidean = collection.manifest.spaces[plan.space].dim, collection.manifest.encoder.distance == "euclidean"
    sample = _draw_sample(collection, plan, progress)
    work = f"training {plan.lists:,} lists ({plan.space})"
    centroids = sample[np.random.default_rng(0).choice(len(sample), plan.lists, replace=False)]
    options = {"niter": 1, "min_points_per_centroid": 1, "max_points_per_centroid": len(sample)}
    for number in range(1, TRAINING_ROUNDS + 1):
        clustering = faiss.Kmeans(dim, plan.lists, spherical=not euclidean, seed=number, **options)
        clustering.train(sample, init_centroids=centroids)
        centroids = clustering.centroids
        progress(work, "rounds", number, TRAINING_ROUNDS)
    flat = faiss.IndexFlatL2(dim) if euclidean else faiss.IndexFlatIP(dim)  # vectors of cosines are normalized
    flat.add(centroids)
    index = faiss.IndexIVFPQ(flat, dim, plan.lists, plan.code_parts, plan.code_bits, flat.metric_type)
    flat.this.disown()  # the index frees it
    index.own_fields = True
    index.use_precomputed_table = -1
    index.pq.cp.niter, index.pq.cp.max_points_per_centroid = CODE_ROUNDS, CODE_SAMPLES
    index.pq.cp.min_points_per_centroid = 1
    progress(f"training codes ({plan.space})")
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
            for matrix in (collection.vectors(plan.space)[shard] for shard in shards):
                for start in range(0, len(matrix), ADD_ROWS):
                    first = added + index.ntotal
                    vectors = normalize_for(matrix.block(start, start + ADD_ROWS), collection.manifest.encoder.distance)
                    index.add_with_ids(vectors, np.arange(first, first + len(vectors)))
                    progress(work, "vectors", added + index.ntotal, collection.rows)
            write_index(index, path)
        added += count
        progress(work, "vectors", added, collection.rows)
        yield path


def _merge_lists(trained: Path, parts: Sequence[Path], path: Path, on_merged: Callable[[int], object]) -> None:
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


@dataclass(frozen=True, slots=True)
class QueryGroup:
    """Queries (m, d) of one kind, and the rows (m, K + TIES) that answer them, -1 for none.

    needed: how many of its answers a query can have at most, K or the rows there are.
    """

    name: str
    vectors: Floats
    answers: Rows
    needed: int

    def measure(self, found: Rows) -> Floats:
        """Return the recall of each query; found: candidates (m, c)."""
        hits = [np.isin(wanted[wanted >= 0], rows).sum() for wanted, rows in zip(self.answers, found, strict=True)]
        recall: Floats = (np.minimum(hits, self.needed) / self.needed).astype(np.float32)
        return recall


TitleQueries = tuple[Sequence[str], Floats]
"""Titles of stored papers, and their vectors (m, d), encoded as queries."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings, what they cost, and the mean recall of each group of queries; reached: all have the wanted one."""

    effort: int
    depth: int
    cost: float
    recall: dict[str, float]
    reached: bool

    @property
    def lowest(self) -> float:
        """Return the recall of the group that has the lowest."""
        return min(self.recall.values())


def build_queries(collection: StoredCollection, space: str, titles: TitleQueries | None) -> list[QueryGroup]:
    """Return two groups of queries with their exact answers: stored papers, as in `similar`, and texts, as in `search`.

    Texts are titles. Without titles, each paper is moved in a random direction, as far as its K-th neighbour is: like a
    query in words, the result is between papers. No paper answers a query that is the paper itself or its own title:
    people search for papers that they do not have, and a paper is easier to find by its title than others are.
    """
    distance = collection.manifest.encoder.distance
    rows = sample_rows(collection, QUERIES, 0)
    papers = normalize_for(collection.read_rows(space, rows).block(0, len(rows)), distance)
    first = _answer(collection, space, "papers", papers, lambda answers: answers == rows[:, None])
    if titles is not None:
        own = np.array([_fold(title) for title in titles[0]], object)[:, None]
        vectors = normalize_for(titles[1], distance)
        return [first, _answer(collection, space, "titles", vectors, lambda rows: _titles_at(collection, rows) == own)]
    last = np.maximum(first.answers[:, first.needed - 1], 0)
    neighbours = normalize_for(collection.read_rows(space, last).block(0, len(last)), distance)
    lengths = np.linalg.norm(neighbours - first.vectors, axis=1, keepdims=True)
    noise = np.random.default_rng(0).standard_normal(first.vectors.shape, np.float32)
    noise *= lengths / np.linalg.norm(noise, axis=1, keepdims=True)
    moved = normalize_for(first.vectors + noise, distance)
    return [first, _answer(collection, space, "perturbed papers", moved, lambda answers: answers < 0)]


def _answer(
    collection: StoredCollection, space: str, name: str, vectors: Floats, is_own: Callable[[Rows], Any]
) -> QueryGroup:
    """Return queries with their exact answers; is_own: marks the rows (m, c) that each query leaves out.

    Queries that have fewer answers than most are left out.
    """
    distance, shards = collection.manifest.encoder.distance, collection.vectors(space)
    scores, answers = topk(vectors, shards, K + TIES + OWN, mask=collection.mask(), distance=distance)
    scores[is_own(answers)] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, : K + TIES]
    scores, answers = np.take_along_axis(scores, order, 1), np.take_along_axis(answers, order, 1)
    counts = (~np.isneginf(scores)).sum(axis=1)
    needed = max(1, min(K, int(np.median(counts))))
    answers[(scores < scores[:, needed - 1 : needed]) | np.isneginf(scores)] = -1
    enough = counts >= needed
    return QueryGroup(name, vectors[enough], answers[enough], needed)


def _titles_at(collection: StoredCollection, rows: Rows) -> NDArray[np.object_]:
    wanted, places = np.unique(rows, return_inverse=True)
    papers = collection.papers(wanted[wanted >= 0])
    titles = np.array([""] * int((wanted < 0).sum()) + [_fold(paper.title) for paper in papers], object)
    titles_of_rows: NDArray[np.object_] = titles[places].reshape(rows.shape)
    return titles_of_rows


def _fold(title: str) -> str:
    return " ".join(title.casefold().split())


def choose_settings(
    index: InvertedLists,
    groups: Sequence[QueryGroup],
    wanted: float,
    selector: Any,
    on_tried: Callable[[int], object],
) -> Choice:
    """Return the cheapest settings whose recall is at least `wanted` in each group, by one standard error.

    Where none reaches it, return the settings of the highest recall. selector: the rows that may be found. on_tried:
    called with the number of efforts tried.
    """
    tried, former = list[Choice](), -1.0

    def rank(choice: Choice) -> tuple[bool, float, float]:
        return not choice.reached, 0.0 if choice.reached else -choice.lowest, choice.cost

    for number, effort in enumerate(index.efforts, 1):
        choices = list(_try_effort(index, groups, effort, wanted, selector))
        on_tried(number)
        best = min([*tried, *choices], key=rank)
        tried += choices
        if (best.reached and min(choice.cost for choice in choices) >= best.cost) or choices[-1].lowest <= former:
            break  # what is missing does not depend on the effort
        former = choices[-1].lowest
    return min(tried, key=rank)


def _try_effort(
    index: InvertedLists, groups: Sequence[QueryGroup], effort: int, wanted: float, selector: Any
) -> Iterator[Choice]:
    """Yield the recall of one effort with each depth: candidates are scored exactly, so the nearest are found."""
    candidates = [index.find(group.vectors, index.depths[-1], effort, selector) for group in groups]
    for depth in index.depths:
        measured = [group.measure(rows[:, :depth]) for group, rows in zip(groups, candidates, strict=True)]
        reached = all(recall.mean() - recall.std() / len(recall) ** 0.5 >= wanted for recall in measured)
        recall = {group.name: float(recall.mean()) for group, recall in zip(groups, measured, strict=True)}
        cost = max(index.cost(group.vectors, depth, effort) for group in groups)
        yield Choice(effort, depth, cost, recall, reached)


EXACT_BELOW_SHARE = 0.1  # share of rows that pass a filter below which exact search is faster, and complete
DRAFT_NAME = "unfinished"
KIND = "ivf"  # of an index, in its record; former versions had others


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """An index of one space, with the settings that it records; recall: group of queries -> mean recall@10."""

    space: str
    settings: Settings
    recall: dict[str, float]
    queries: int
    reached: bool


def build(
    collection: StoredCollection,
    recall: float = 0.95,
    *,
    titles: Mapping[str, TitleQueries] | None = None,
    progress: Progress = show_nothing,
) -> list[BuiltIndex]:
    """Build an index of every space, with settings that reach the recall, and return what was reached.

    recall: the share of the ten nearest papers that is to be found. titles: space -> titles encoded as queries, to
    measure with. A former index is in use until the new one replaces it, in one step. An interrupted build goes on.
    """
    check_possible(collection, recall)
    titles = titles or {}
    return [
        _build_space(collection, space, recall, titles.get(space), progress) for space in collection.manifest.spaces
    ]


def check_possible(collection: StoredCollection, recall: float) -> None:
    """Raise InputError for less than two papers or a recall that is not a share, MissingExtraError without FAISS."""
    if not 0 < recall <= 1:
        raise InputError(f"recall {recall:g} is not a share above 0 and at most 1, such as 0.95")
    import_faiss()
    if len(collection) < 2:
        raise InputError(
            f"{collection.folder} holds {'one paper' if len(collection) else 'no papers'}; nothing to index"
        )


def _build_space(
    collection: StoredCollection, space: str, wanted: float, titles: TitleQueries | None, progress: Progress
) -> BuiltIndex:
    folder = _index_folder(collection, space)
    draft = folder / DRAFT_NAME
    with explain_write_errors(folder):
        draft.mkdir(parents=True, exist_ok=True)
    path = _name_new(folder)
    plan = make_plan(collection, space, hash_contents(collection))
    build_lists(collection, plan, draft, path, progress)
    index = InvertedLists(path)
    work = f"choosing settings ({space})"
    progress(work)
    groups = build_queries(collection, space, titles)
    selector = _select(collection.mask())
    choice = choose_settings(index, groups, wanted, selector, lambda tried: progress(work, "settings", tried, None))
    recall = {name: round(mean, 4) for name, mean in choice.recall.items()}
    queries = sum(len(group.vectors) for group in groups)
    settings: Settings = {"kind": KIND, "lists": index.efforts[-1], "entry_bytes": index.entry_bytes}
    settings |= {"effort": choice.effort, "depth": choice.depth, "recall_wanted": wanted, "queries": queries}
    settings |= {f"recall@{K} of {name}": mean for name, mean in recall.items()}
    names = sorted(file.name for file in folder.glob(f"{path.stem}.*"))
    sync_folder(folder)
    write_record(folder, collection, settings, names)  # makes the new files the index, in one step
    shutil.rmtree(draft)
    _remove_others(folder, names)
    return BuiltIndex(space, settings, recall, queries, choice.reached)


def _remove_others(folder: Path, names: Collection[str]) -> None:
    """Remove files that are not part of the index: those of a former one, or of a build that was killed."""
    for path in folder.iterdir():
        if path.is_file() and path.name not in (RECORD_NAME, *names):
            path.unlink()


@vector_searches.register("approximate")
def search(
    collection: StoredCollection, space: str, queries: Floats, k: int, mask: NDArray[np.bool_] | None
) -> tuple[Floats, Rows]:
    """Return approximately the k best rows of each query, as `exact.topk` and with the same scores."""
    index, effort, depth = _load_index(collection, space)
    share = 1.0 if mask is None else np.count_nonzero(mask) / collection.rows
    if share < EXACT_BELOW_SHARE:
        return search_exactly(collection, space, queries, k, mask)
    distance = collection.manifest.encoder.distance
    depth = min(max(k + EXTRA_CANDIDATES, -(-depth * k // K)), collection.rows)
    effort = max(effort, -(-2 * depth * index.efforts[-1] // index.rows))  # its lists hold twice so many candidates
    effort = min(int(effort / share), index.efforts[-1])  # only a share of what is read may be found
    rows = index.find(normalize_for(queries, distance), depth, effort, _select(mask))
    return rescore(queries, collection.vectors(space), rows, k, distance)


def _select(mask: NDArray[np.bool_] | None) -> Any:
    """Return what tells FAISS which rows may be found."""
    return None if mask is None else import_faiss().IDSelectorBitmap(np.packbits(mask, bitorder="little"))


@lru_cache(maxsize=4)
def _load_index(collection: StoredCollection, space: str) -> tuple[InvertedLists, int, int]:
    """Return the index of a space, its effort and its depth."""
    import_faiss()
    folder = _index_folder(collection, space)
    checks = IndexChecks(folder, collection, "approximate")
    if checks.settings["kind"] != KIND:
        raise InputError(f"{folder} is an index of an earlier version of sciprism; {checks.remedy}")
    index = InvertedLists(folder / checks.find_name(".faiss"), checks)
    return index, int(checks.settings["effort"]), int(checks.settings["depth"])


def _name_new(folder: Path) -> Path:
    """Return a path for a new index, other than that of the index in use, after removing what a killed build left."""
    try:
        record = BuildRecord.load(folder / RECORD_NAME, "")
    except DamagedFileError:
        record = None
    used = list(record.files) if record else []
    _remove_others(folder, used)
    numbers = (re.fullmatch(r"index-(\d+)\.faiss", name) for name in used)
    return folder / f"index-{1 + max((int(match[1]) for match in numbers if match), default=0)}.faiss"


def _index_folder(collection: StoredCollection, space: str) -> Path:
    return collection.folder / "index" / "approximate" / collection.manifest.spaces[space].folder
