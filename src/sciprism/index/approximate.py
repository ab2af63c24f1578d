"""Approximate search with FAISS, for collections that are too large for exact search.

Two kinds of index: a graph in memory (HNSW) for small collections, inverted lists on disk (IVF) for large ones.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.errors import DamagedFileError, InputError
from sciprism.files import explain_write_errors, sync_folder
from sciprism.index.build_record import RECORD_NAME, IndexChecks, Settings, hash_contents, read_record, write_record
from sciprism.index.exact import EXTRA_CANDIDATES, normalize_for, rescore
from sciprism.index.exact import search as search_exactly
from sciprism.index.faiss_indexes import (
    Graph,
    InvertedLists,
    Progress,
    build_graph,
    build_lists,
    count_graph_bytes,
    import_faiss,
    make_plan,
)
from sciprism.index.recall import K, TitleQueries, build_queries, choose_settings
from sciprism.index.search_modes import vector_searches
from sciprism.store import StoredCollection

IndexKind = Literal["hnsw", "ivf"]

IVF_MIN_ROWS = 200_000  # rows from which inverted lists are built: reading a graph would take longer than exact search
EXACT_BELOW_SHARE = 0.1  # share of rows that pass a filter below which exact search is faster, and complete
DEFAULT_RECALL = 0.95
DEFAULT_MEMORY_GB = 4.0
MIN_MEMORY_GB = 1.0
DRAFT_NAME = "unfinished"
KINDS: dict[IndexKind, type[Graph] | type[InvertedLists]] = {"hnsw": Graph, "ivf": InvertedLists}


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How to build: recall@10 to reach, and the memory (GB) that the build may take. kind None: chosen by size."""

    kind: IndexKind | None = None
    recall: float = DEFAULT_RECALL
    memory: float = DEFAULT_MEMORY_GB

    def __post_init__(self) -> None:
        if not 0 < self.recall <= 1:
            raise InputError(f"recall {self.recall:g} is not a share above 0 and at most 1, such as 0.95")
        if not self.memory >= MIN_MEMORY_GB:
            raise InputError(f"memory {self.memory:g} GB is too little; give at least {MIN_MEMORY_GB:g}")


@dataclass(frozen=True, slots=True)
class BuiltIndex:
    """An index of one space, with the settings that it records; recall: group of queries -> mean recall@10."""

    space: str
    kind: IndexKind
    settings: Settings
    recall: dict[str, float]
    queries: int
    reached: bool


def choose_kind(collection: StoredCollection, space: str, memory: float) -> IndexKind:
    """Return the kind for a collection: a graph below IVF_MIN_ROWS that fits half of the memory (GB), else lists."""
    needed = count_graph_bytes(collection.rows, collection.manifest.spaces[space].dim)
    return "hnsw" if collection.rows < IVF_MIN_ROWS and needed <= memory * 1e9 / 2 else "ivf"


def build(
    collection: StoredCollection,
    options: BuildOptions | None = None,
    *,
    titles: Mapping[str, TitleQueries] | None = None,
    progress: Progress = lambda *_: None,
) -> list[BuiltIndex]:
    """Build an index of every space, with settings that reach the recall, and return what was reached.

    titles: space -> titles encoded as queries, to measure with. A former index is in use until the new one replaces
    it, in one step. An interrupted build of inverted lists is continued.
    """
    check_possible(collection)
    options = options or BuildOptions()
    titles = titles or {}
    return [
        _build_space(collection, space, options, titles.get(space), progress) for space in collection.manifest.spaces
    ]


def check_possible(collection: StoredCollection) -> None:
    """Raise InputError for a collection without papers, MissingExtraError where FAISS is not installed."""
    import_faiss()
    if not len(collection):
        raise InputError(f"{collection.folder} holds no papers; there is nothing to index")


def _build_space(
    collection: StoredCollection, space: str, options: BuildOptions, titles: TitleQueries | None, progress: Progress
) -> BuiltIndex:
    folder = _index_folder(collection, space)
    draft = folder / DRAFT_NAME
    with explain_write_errors(folder):
        draft.mkdir(parents=True, exist_ok=True)
    kind = options.kind or choose_kind(collection, space, options.memory)
    path = _name_new(folder)
    if kind == "hnsw":
        build_graph(collection, space, path, progress)
    else:
        contents = hash_contents(collection)
        plan = make_plan(collection, space, contents, options.memory * 1e9)
        build_lists(collection, plan, draft, path, progress)
    index = KINDS[kind](path)
    work = f"choosing settings ({space})"
    progress(work, "", 0, None)
    groups = build_queries(collection, space, titles)
    selector = _select(collection.mask())
    choice = choose_settings(
        index, groups, options.recall, selector, lambda tried: progress(work, "settings", tried, None)
    )
    recall = {name: round(mean, 4) for name, (mean, _) in choice.recall.items()}
    queries = sum(len(group.vectors) for group in groups)
    settings: Settings = {"kind": kind, **index.settings, "effort": choice.effort, "depth": choice.depth}
    settings |= {"recall_wanted": options.recall, "queries": queries}
    settings |= {f"recall@{K} of {name}": mean for name, mean in recall.items()}
    _commit(folder, collection, settings, path)
    return BuiltIndex(space, kind, settings, recall, queries, choice.reached)


def _commit(folder: Path, collection: StoredCollection, settings: Settings, path: Path) -> None:
    """Make the new files the index, in one step, and remove all others."""
    names = sorted(file.name for file in folder.glob(f"{path.stem}.*"))
    sync_folder(folder)
    write_record(folder, collection, settings, names)
    shutil.rmtree(folder / DRAFT_NAME)
    _remove_others(folder, names)


def _remove_others(folder: Path, names: Collection[str]) -> None:
    """Remove files that are no part of the index: those of a former one, or of a build that was killed."""
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
    effort = min(
        int(index.widen(effort, depth) / share), index.efforts[-1]
    )  # only a share of what is read may be found
    rows = index.find(normalize_for(queries, distance), depth, effort, _select(mask))
    return rescore(queries, collection.vectors(space), rows, k, distance)


def _select(mask: NDArray[np.bool_] | None) -> Any:
    """Return what tells FAISS which rows may be found."""
    return None if mask is None else import_faiss().IDSelectorBitmap(np.packbits(mask, bitorder="little"))


@lru_cache(maxsize=4)
def _load_index(collection: StoredCollection, space: str) -> tuple[Graph | InvertedLists, int, int]:
    """Return the index of a space, its effort and its depth."""
    import_faiss()
    folder = _index_folder(collection, space)
    checks = IndexChecks(folder, collection, "approximate")
    kind = KINDS["ivf" if checks.settings["kind"] == "ivf" else "hnsw"]
    path = folder / checks.find_name(".faiss")
    try:
        index = kind(path, checks)
    except DamagedFileError as error:
        raise DamagedFileError(f"{str(error).removesuffix(f'; {checks.remedy}')}; {checks.remedy}") from None
    return index, int(checks.settings["effort"]), int(checks.settings["depth"])


def _name_new(folder: Path) -> Path:
    """Return a path for a new index, other than that of the index in use, after removing what a killed build left."""
    try:
        used = list(read_record(folder, "").files)
    except (FileNotFoundError, DamagedFileError):
        used = []
    _remove_others(folder, used)
    numbers = (re.fullmatch(r"index-(\d+)\.faiss", name) for name in used)
    return folder / f"index-{1 + max((int(match[1]) for match in numbers if match), default=0)}.faiss"


def _index_folder(collection: StoredCollection, space: str) -> Path:
    return collection.folder / "index" / "approximate" / collection.manifest.spaces[space].folder
