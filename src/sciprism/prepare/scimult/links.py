"""Who cites whom among SciDocs' papers, and which papers are cited together."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.datasets.layouts.item_tables import note_text, paper_of
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.prepare.scimult.desk import Desk, Made, paper_row

TOGETHER = 10
"""So many papers must cite two papers for them to count as co-cited."""

METADATA = "scidocs/paper_metadata_view_cite_read.json"
FILE = "scimult/link_prediction_retrieval/SciDocs_papers_test.json"

IntArray = NDArray[np.int64]
Links = Mapping[int, list[int]]


def scidocs_links(desk: Desk) -> list[Made]:
    """Write SciDocs' papers, each with those that it cites and those that it is co-cited with.

    A citation counts where either end tells of it (`references`, `cited_by`), and citing papers need not be
    among the papers themselves; cited ones must. The file is read twice, its texts pass by.
    """
    path, tally = desk.need(METADATA), DropReport()
    names, citing, cited = _citations(desk, path, tally)
    relations = {
        "cite": _cited_by_each(len(names), citing, cited),
        "co-cite": co_cited(len(names), citing, cited),
    }
    size = desk.write(FILE, _rows(desk, path, names, relations, tally))
    queries = {"cite": 92_214, "co-cite": 54_543}
    return [
        Made(
            name=f"SciDocs {kind}",
            files=(FILE,),
            first=len(links),
            second=size,
            published=(queries[kind], 142_009),
            counts={"links": sum(map(len, links.values()))},
            tally=tally if kind == "cite" else DropReport(),  # one file, told of once
        )
        for kind, links in relations.items()
    ]


def co_cited(size: int, citing: IntArray, cited: IntArray, least: int = TOGETHER) -> dict[int, list[int]]:
    """Return row -> rows, ascending, that at least `least` papers cite together with it.

    citing: any number for a citing paper; cited: rows below `size`. Each pair stands once.
    """
    order = np.argsort(citing, kind="stable")
    listed = cited[order]  # what each citing paper cites, one paper after the other
    _, starts, owner = np.unique(citing[order], return_index=True, return_inverse=True)
    ends = np.append(starts[1:], len(listed))
    places = np.argsort(listed, kind="stable")
    bounds = np.searchsorted(listed[places], np.arange(size + 1))
    found: dict[int, list[int]] = {}
    for row in np.flatnonzero(np.diff(bounds) >= least).tolist():
        citers = owner[places[bounds[row] : bounds[row + 1]]]
        beside = np.concatenate([listed[starts[citer] : ends[citer]] for citer in citers])
        others, counts = np.unique(beside, return_counts=True)
        mine = others[(counts >= least) & (others != row)].tolist()
        if mine:
            found[row] = mine
    return found


def _rows(
    desk: Desk, path: Path, names: list[str], relations: Mapping[str, Links], tally: DropReport
) -> Iterator[dict[str, Any]]:
    waiting = {name: row for row, name in enumerate(names)}
    for key, record in desk.home.members(path):
        row = waiting.pop(as_id(key), None)
        if row is None:  # it stood before
            continue
        paper = paper_of(record, names[row])
        note_text(paper, paper.id, tally)
        linked = {kind: [names[other] for other in links.get(row, ())] for kind, links in relations.items()}
        yield paper_row(paper) | linked


def _citations(desk: Desk, path: Path, tally: DropReport) -> tuple[list[str], IntArray, IntArray]:
    """Return the papers' ids, and the number of the citing and the row of the cited paper of each citation.

    A citing paper among the papers has its row for a number, any other one a greater number. Ids are held
    as hashes of 8 bytes: there are millions of citing papers.
    """
    names: dict[str, None] = {}
    pool, citing, cited = array("q"), array("q"), array("q")
    for key, record in desk.home.members(path):
        name = as_id(key)
        if not isinstance(record, Mapping):
            raise InputError(f"{path}, {name}: expected an object, got {record!r:.60}")
        if name in names:
            tally.add("paper that stands twice, the first counts", name)
            continue
        names[name] = None
        pool.append(_hash(name))
        references, citers = (_hashes(record, key, f"{path}, {name}") for key in ("references", "cited_by"))
        citing.extend([pool[-1]] * len(references) + citers)
        cited.extend(references + [pool[-1]] * len(citers))
    return list(names), *_numbered(*(np.array(ids, np.int64) for ids in (pool, citing, cited)))


def _numbered(pool: IntArray, citing: IntArray, cited: IntArray) -> tuple[IntArray, IntArray]:
    """Turn hashes into numbers, each pair once; what cites itself or is cited outside of the pool goes."""
    sources, targets = _rows_in(pool, citing), _rows_in(pool, cited)
    outside = sources < 0
    sources[outside] = len(pool) + np.unique(citing[outside], return_inverse=True)[1]
    stays = (targets >= 0) & (sources != targets)
    codes = np.unique(sources[stays] * len(pool) + targets[stays])
    return np.divmod(codes, max(len(pool), 1))


def _rows_in(pool: IntArray, hashes: IntArray) -> IntArray:
    """Return the row of each hash in the pool, -1 where it is not there."""
    order = np.argsort(pool)
    rows = order[np.searchsorted(pool, hashes, sorter=order).clip(max=len(pool) - 1)]
    return np.where(pool[rows] == hashes, rows, -1)


def _cited_by_each(size: int, citing: IntArray, cited: IntArray) -> dict[int, list[int]]:
    """Return row -> rows that it cites; pairs come ascending. Those that cite nothing have no entry."""
    bounds = np.searchsorted(citing, np.arange(size + 1))
    return {
        row: cited[bounds[row] : bounds[row + 1]].tolist() for row in np.flatnonzero(np.diff(bounds)).tolist()
    }


def _hashes(record: Mapping[str, Any], key: str, place: str) -> list[int]:
    value = record.get(key) or []
    if not isinstance(value, list):
        raise InputError(f"{place}: {key} is {value!r:.60}, not a list of ids")
    return [_hash(as_id(name)) for name in value]


def _hash(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little", signed=True)
