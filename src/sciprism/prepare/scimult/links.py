"""Citations and co-citations of SciDocs' papers."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.datasets.layouts.item_tables import count_missing_text, parse_paper
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.scimult.context import (
    PreparedDataSet,
    SciMultPrepareContext,
    build_paper_row,
    parse_ids,
)

MIN_CO_CITING = 10
"""Papers that must cite two papers for these to be co-cited."""

METADATA = "scidocs/paper_metadata_view_cite_read.json"
FILE = "scimult/link_prediction_retrieval/SciDocs_papers_test.json"

IntArray = NDArray[np.int64]


def write_scidocs_links(context: SciMultPrepareContext) -> list[PreparedDataSet]:
    """Write SciDocs' papers, each with those that it cites and those that it is co-cited with.

    A citation is known from either paper (`references`, `cited_by`); the citing paper need not be in the
    file, the cited one must. The file is streamed twice.
    """
    path, dropped = context.need(METADATA), DropReport()
    names, citing, cited = _read_citations(context, path, dropped)
    bounds = np.searchsorted(citing, np.arange(len(names) + 1))  # pairs are in ascending order
    cites = {row: cited[bounds[row] : bounds[row + 1]].tolist() for row in np.flatnonzero(np.diff(bounds)).tolist()}
    relations = {"cite": cites, "co-cite": find_co_cited(len(names), citing, cited)}
    size = context.write(FILE, _build_rows(context, path, names, relations, dropped))
    queries = {"cite": 92_214, "co-cite": 54_543}
    return [
        PreparedDataSet(
            name=f"SciDocs {kind}",
            files=(FILE,),
            queries=len(links),
            targets=size,
            published=(queries[kind], 142_009),
            counts={"links": sum(map(len, links.values()))},
            dropped=dropped if kind == "cite" else DropReport(),  # both are one file, reported once
        )
        for kind, links in relations.items()
    ]


def find_co_cited(
    size: int, citing: IntArray, cited: IntArray, min_citing: int = MIN_CO_CITING
) -> dict[int, list[int]]:
    """Return row -> rows, ascending, that at least `min_citing` papers cite together with it.

    citing: any number for a citing paper; cited: rows below `size`. Pairs are distinct.
    """
    order = np.argsort(citing, kind="stable")
    listed = cited[order]  # what each citing paper cites, one paper after the other
    _, starts, owner = np.unique(citing[order], return_index=True, return_inverse=True)
    ends = np.append(starts[1:], len(listed))
    positions = np.argsort(listed, kind="stable")
    bounds = np.searchsorted(listed[positions], np.arange(size + 1))
    found: dict[int, list[int]] = {}
    for row in np.flatnonzero(np.diff(bounds) >= min_citing).tolist():
        citers = owner[positions[bounds[row] : bounds[row + 1]]]
        co_listed = np.concatenate([listed[starts[citer] : ends[citer]] for citer in citers])
        others, counts = np.unique(co_listed, return_counts=True)
        co_cited = others[(counts >= min_citing) & (others != row)].tolist()
        if co_cited:
            found[row] = co_cited
    return found


def _build_rows(
    context: SciMultPrepareContext,
    path: Path,
    names: list[str],
    relations: Mapping[str, Mapping[int, list[int]]],
    dropped: DropReport,
) -> Iterator[dict[str, Any]]:
    remaining = {name: row for row, name in enumerate(names)}
    for key, record in context.data_root.members(path):
        row = remaining.pop(as_id(key), None)
        if row is None:  # a duplicate
            continue
        paper = parse_paper(record, names[row])
        count_missing_text(paper, paper.id, dropped)
        linked = {kind: [names[other] for other in links.get(row, ())] for kind, links in relations.items()}
        yield build_paper_row(paper) | linked


def _read_citations(
    context: SciMultPrepareContext, path: Path, dropped: DropReport
) -> tuple[list[str], IntArray, IntArray]:
    """Return the papers' ids, and the number of the citing and the row of the cited paper of each citation.

    The number of a citing paper is its row, or a greater number if it is not in the file. Ids are held as
    hashes of 8 bytes: there are millions of citing papers.
    """
    names: dict[str, None] = {}
    pool, citing, cited = array("q"), array("q"), array("q")
    for key, record in context.data_root.members(path):
        name = as_id(key)
        if not isinstance(record, Mapping):
            raise InputError(f"{path}, {name}: expected an object, got {record!r:.60}")
        if name in names:
            dropped.add("duplicate paper, the first is used", name)
            continue
        names[name] = None
        pool.append(_hash(name))
        references, citers = (
            list(map(_hash, parse_ids(record, key, f"{path}, {name}"))) for key in ("references", "cited_by")
        )
        citing.extend([pool[-1]] * len(references) + citers)
        cited.extend(references + [pool[-1]] * len(citers))
    return list(names), *_number_pairs(*(np.array(ids, np.int64) for ids in (pool, citing, cited)))


def _number_pairs(pool: IntArray, citing: IntArray, cited: IntArray) -> tuple[IntArray, IntArray]:
    """Turn hashes into numbers of distinct pairs, without self-citations and cited papers not in the pool."""
    sources, targets = _find_rows(pool, citing), _find_rows(pool, cited)
    outside = sources < 0
    sources[outside] = len(pool) + np.unique(citing[outside], return_inverse=True)[1]
    stays = (targets >= 0) & (sources != targets)
    codes = np.unique(sources[stays] * len(pool) + targets[stays])
    return np.divmod(codes, max(len(pool), 1))


def _find_rows(pool: IntArray, hashes: IntArray) -> IntArray:
    """Return the row of each hash in the pool, -1 where it is not in it."""
    order = np.argsort(pool)
    rows = order[np.searchsorted(pool, hashes, sorter=order).clip(max=len(pool) - 1)]
    return np.where(pool[rows] == hashes, rows, -1)


def _hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little", signed=True)
