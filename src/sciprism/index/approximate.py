"""Approximate search with FAISS, for collections that are too large for exact search."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError, MissingExtraError
from sciprism.files import explain_write_errors
from sciprism.index import build_record, exact
from sciprism.index.exact import EXTRA_CANDIDATES, normalize_for, rescore
from sciprism.index.registry import vector_searches
from sciprism.store import StoredCollection

IndexKind = Literal["hnsw", "ivf"]

IVF_MIN_ROWS = 1_000_000
"""Rows from which inverted lists are built: a graph would need too much time and memory."""
EXACT_BELOW_SHARE = 0.1
"""Share of rows that pass a filter below which exact search is faster, and complete."""
HNSW_LINKS = 32
"""Neighbours of a node of the graph."""
IVF_SAMPLES_PER_LIST = 64
HNSW_EF_SEARCH = 128
"""Candidate nodes of a search in the graph."""
IVF_PROBES = 32
"""Inverted lists that a search reads."""


def build(
    collection: StoredCollection, kind: IndexKind | None = None, *, on_rows: Callable[[int], None] | None = None
) -> list[str]:
    """Build an index of every space and return the spaces.

    kind None: chosen by the number of rows. on_rows: is told after each shard how many vectors are in it.
    """
    faiss = _import_faiss()
    if not collection.rows:
        raise InputError(f"{collection.folder} holds no papers; there is nothing to index")
    kind = kind or ("ivf" if collection.rows >= IVF_MIN_ROWS else "hnsw")
    added = 0
    for space in collection.manifest.spaces:
        folder = _index_folder(collection, space)
        build_record.delete_record(folder)
        index = _create_index(collection, space, kind)
        for shard in collection.vectors(space):
            index.add(normalize_for(shard.block(0, len(shard)), collection.manifest.encoder.distance))
            added += len(shard)
            if on_rows is not None:
                on_rows(added)
        with explain_write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            try:
                faiss.write_index(index, str(folder / "index.faiss"))
            except RuntimeError as error:  # faiss has no other error
                raise OSError(str(error)) from error
        build_record.write_record(folder, collection, {"kind": kind})
    return list(collection.manifest.spaces)


@vector_searches.register("approximate")
def search(
    collection: StoredCollection, space: str, queries: Floats, k: int, mask: NDArray[np.bool_] | None
) -> tuple[Floats, Rows]:
    """Return approximately the k best rows of each query, as `exact.topk` and with the same scores."""
    index = _load_index(collection, space)
    if mask is not None and mask.sum() < EXACT_BELOW_SHARE * collection.rows:
        return exact.search(collection, space, queries, k, mask)
    wanted = min(k + EXTRA_CANDIDATES, collection.rows)
    faiss = _import_faiss()
    selector = None if mask is None else faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
    if isinstance(index, faiss.IndexHNSW):
        params = faiss.SearchParametersHNSW(efSearch=max(HNSW_EF_SEARCH, 2 * wanted), sel=selector)
    else:
        params = faiss.SearchParametersIVF(nprobe=min(IVF_PROBES, index.nlist), sel=selector)
    distance = collection.manifest.encoder.distance
    _, rows = index.search(normalize_for(queries, distance), wanted, params=params)
    return rescore(queries, collection.vectors(space), rows, k, distance)


def _create_index(collection: StoredCollection, space: str, kind: IndexKind) -> Any:
    faiss = _import_faiss()
    manifest = collection.manifest
    dim = manifest.spaces[space].dim
    metric = faiss.METRIC_L2 if manifest.encoder.distance == "euclidean" else faiss.METRIC_INNER_PRODUCT
    if kind == "hnsw":
        return faiss.IndexHNSWFlat(dim, HNSW_LINKS, metric)
    lists = max(1, min(int(4 * collection.rows**0.5), collection.rows // IVF_SAMPLES_PER_LIST))
    flat = faiss.IndexFlatL2(dim) if metric == faiss.METRIC_L2 else faiss.IndexFlatIP(dim)
    index = faiss.IndexIVFFlat(flat, dim, lists, metric)
    flat.this.disown()  # the index frees it
    index.own_fields = True
    step = max(1, collection.rows // (lists * IVF_SAMPLES_PER_LIST))  # even through the whole collection
    sample = [shard.take(np.arange(0, len(shard), min(step, len(shard)))) for shard in collection.vectors(space)]
    index.train(normalize_for(np.concatenate(sample), manifest.encoder.distance))
    return index


@lru_cache(maxsize=4)
def _load_index(collection: StoredCollection, space: str) -> Any:
    faiss = _import_faiss()
    folder = _index_folder(collection, space)
    checks = build_record.IndexChecks(folder, collection, "approximate")
    checks.check_whole()
    try:
        return faiss.read_index(str(folder / "index.faiss"))
    except RuntimeError:
        raise InputError(f"{folder / 'index.faiss'} is missing or damaged; {checks.remedy}") from None


def _index_folder(collection: StoredCollection, space: str) -> Path:
    return collection.folder / "index" / "approximate" / collection.manifest.spaces[space].folder


def _import_faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtraError("scale", "approximate search") from None
    return faiss
