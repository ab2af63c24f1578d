"""Approximate search with FAISS: for collections so large that looking at every vector takes too long."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError, MissingExtraError
from sciprism.files import said_plainly
from sciprism.index import state
from sciprism.index.exact import SPARE, prepared, rescore, topk
from sciprism.store import Collection

Kind = Literal["hnsw", "ivf"]

LARGE = 1_000_000
"""Rows from which inverted lists are built: a graph would take too long and too much memory."""
NARROW = 0.1
"""Share of rows below which a filter makes exact search both faster and complete."""
LINKS = 32
"""Neighbours of a node of the graph."""
SAMPLES_PER_LIST = 64
EFFORT = 128
"""Nodes of the graph that a search keeps in view."""
PROBES = 32
"""Inverted lists that a search opens."""


def build(collection: Collection, kind: Kind | None = None) -> list[str]:
    """Build an index of every space; returns the spaces. None chooses the kind by size."""
    faiss = _faiss()
    if not collection.rows:
        raise InputError(f"{collection.folder} holds no papers; there is nothing to index")
    kind = kind or ("ivf" if collection.rows >= LARGE else "hnsw")
    for space in collection.manifest.spaces:
        home = _home(collection, space)
        state.forget(home)
        index = _empty(collection, space, kind)
        for shard in collection.vectors(space):
            index.add(prepared(shard.block(0, len(shard)), collection.manifest.encoder.distance))
        with said_plainly(home):
            home.mkdir(parents=True, exist_ok=True)
            try:
                faiss.write_index(index, str(home / "index.faiss"))
            except RuntimeError as error:  # faiss has no other error
                raise OSError(str(error)) from error
        state.remember(home, collection, {"kind": kind})
    return list(collection.manifest.spaces)


def search(
    collection: Collection, space: str, queries: Floats, k: int, mask: NDArray[np.bool_] | None
) -> tuple[Floats, Rows]:
    """Find about the k best rows of each query: as `exact.topk`, and with the same scores."""
    distance = collection.manifest.encoder.distance
    shards = collection.vectors(space)
    index = _opened(collection, space)
    if mask is not None and mask.sum() < NARROW * collection.rows:
        return topk(queries, shards, k, mask=mask, distance=distance)
    wanted = min(k + SPARE, collection.rows)
    _, rows = index.search(prepared(queries, distance), wanted, params=_parameters(index, wanted, mask))
    return rescore(queries, shards, rows, k, distance)


def _empty(collection: Collection, space: str, kind: Kind) -> Any:
    faiss = _faiss()
    manifest = collection.manifest
    dim = manifest.spaces[space].dim
    metric = faiss.METRIC_L2 if manifest.encoder.distance == "euclidean" else faiss.METRIC_INNER_PRODUCT
    if kind == "hnsw":
        return faiss.IndexHNSWFlat(dim, LINKS, metric)
    lists = max(1, int(4 * collection.rows**0.5))
    lists = min(lists, max(1, collection.rows // SAMPLES_PER_LIST))
    flat = faiss.IndexFlatL2(dim) if metric == faiss.METRIC_L2 else faiss.IndexFlatIP(dim)
    index = faiss.IndexIVFFlat(flat, dim, lists, metric)
    flat.this.disown()  # the index frees it
    index.own_fields = True
    index.train(prepared(_sample(collection, space, lists * SAMPLES_PER_LIST), manifest.encoder.distance))
    return index


def _sample(collection: Collection, space: str, count: int) -> Floats:
    """Take rows at even steps through the whole collection."""
    step = max(1, collection.rows // count)
    return np.concatenate(
        [shard.take(np.arange(0, len(shard), min(step, len(shard)))) for shard in collection.vectors(space)]
    )


def _parameters(index: Any, wanted: int, mask: NDArray[np.bool_] | None) -> Any:
    faiss = _faiss()
    chosen: dict[str, Any] = {}
    if mask is not None:
        chosen["sel"] = faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
    if isinstance(index, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(efSearch=max(EFFORT, 2 * wanted), **chosen)
    return faiss.SearchParametersIVF(nprobe=min(PROBES, index.nlist), **chosen)


@lru_cache(maxsize=4)
def _opened(collection: Collection, space: str) -> Any:
    faiss = _faiss()
    home = _home(collection, space)
    state.check(home, collection, "approximate")
    try:
        return faiss.read_index(str(home / "index.faiss"))
    except RuntimeError:
        raise InputError(
            f"{home / 'index.faiss'} is missing or damaged; "
            f"run: sciprism index {collection.folder} --approximate"
        ) from None


def _home(collection: Collection, space: str) -> Path:
    return collection.folder / "index" / "approximate" / collection.manifest.spaces[space].folder


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("scale", "approximate search") from None
    return faiss
