"""Judgements of relevance in the files of several benchmarks, and the inputs of protocols made of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Corpus, Pools
from sciprism.datasets.layouts.item_tables import ItemTable, grade_of
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.formats import Role
from sciprism.papers.records import Paper

Judgement = tuple[str, str, int]
"""Query id, document id, grade."""

Qrel = dict[str, int]
Qrels = dict[str, Qrel]
"""Query id -> document id -> grade, in the order of the file."""

NO_QUERY, NO_DOCUMENT = "judged query without a record", "judged document without a record"
_WHOLE, _NUMBER = re.compile(r"-?\d+(?:\.0+)?"), re.compile(r"[-+.]?\d")


def united(judgements: Iterable[Judgement], tally: DropReport) -> Qrels:
    """Gather judgements by query; the first of a repeated pair counts (SciRepEval's rule)."""
    qrels: Qrels = {}
    for query, document, grade in judgements:
        mine = qrels.setdefault(query, {})
        if document not in mine:
            mine[document] = grade
        elif mine[document] != grade:
            tally.add("pair judged again with another grade, the first counts", f"{query} {document}")
        else:
            tally.add("pair judged again", f"{query} {document}")
    return qrels


def of_records(
    records: Iterable[Mapping[str, Any]], query: str, document: str, score: str
) -> Iterator[Judgement]:
    """Yield the judgements of records by the names of their three fields."""
    for record in records:
        try:
            q, d, grade = as_id(record[query]), as_id(record[document]), record[score]
        except KeyError as missing:
            raise InputError(f"a judgement without {missing}: {dict(record)!r:.120}") from None
        yield q, d, grade_of(grade, q)


def of_file(home: DataRoot, path: Path) -> Iterator[Judgement]:
    """Yield the judgements of a text file: `query-id, corpus-id, score` or TREC's four columns.

    Columns are parted by tabs or spaces. A first line whose last column is no number is a header; where
    there is none, the first line is a judgement like the others.
    """
    for number, line in home.lines(path):
        columns = line.split("\t") if "\t" in line else line.split()
        columns = [column.strip() for column in columns]
        if not any(columns):
            continue
        if len(columns) not in (3, 4):
            raise InputError(f"{path}, line {number}: expected 3 or 4 columns, got {line[:60]!r}")
        if number == 1 and not _NUMBER.match(columns[-1]):
            continue
        if not _WHOLE.fullmatch(columns[-1]):
            raise InputError(f"{path}, line {number}: the grade {columns[-1]!r} is no whole number")
        yield columns[0], columns[-2], int(float(columns[-1]))


def pools(qrels: Qrels, queries: ItemTable, candidates: ItemTable, role: Role, tally: DropReport) -> Pools:
    """Return each query with its judged candidates; those without a record count as not found."""
    asked = [query for query in qrels if _known(query, queries, NO_QUERY, tally)]
    rows: list[Rows] = []
    grades: list[Rows] = []
    absent: list[Qrel] = []
    for query in asked:
        absent.append({name: grade for name, grade in qrels[query].items() if name not in candidates})
        for name in absent[-1]:
            tally.add(f"{NO_DOCUMENT}, counts as not found", name)
        pool = {candidates.row(name): grade for name, grade in qrels[query].items() if name not in absent[-1]}
        rows.append(np.array(list(pool), np.int64))
        grades.append(np.array(list(pool.values()), np.int64))
    return Pools(
        query_ids=asked,
        queries=[queries.items[queries.row(query)] for query in asked],
        candidate_ids=candidates.ids,
        candidates=candidates.items,
        pools=rows,
        grades=grades,
        absent=absent,
        query_role=role,
        tally=tally,
    )


def corpus(
    qrels: Qrels,
    queries: ItemTable,
    documents: ItemTable,
    *,
    role: Role,
    without_itself: bool,
    tally: DropReport,
) -> Corpus:
    """Return the judged queries over all documents.

    without_itself: the document whose id is the query's is taken out of its ranking. A judged document that
    is not in the corpus cannot be found, but the ideal ranking has it: it stands in the corpus as an empty
    text that no query may return.
    """
    asked = [query for query in qrels if _known(query, queries, NO_QUERY, tally)]
    absent: list[int] = []
    for name in dict.fromkeys(name for query in asked for name in qrels[query] if name not in documents):
        tally.add(f"{NO_DOCUMENT}, counts as not found", name)
        absent.append(documents.put(name, Paper(id=name)))
    hidden = [
        np.array(
            [*absent, *(documents.row(q) for q in (query,) if without_itself and q in documents)], np.int64
        )
        for query in asked
    ]
    return Corpus(
        query_ids=asked,
        queries=[queries.items[queries.row(query)] for query in asked],
        document_ids=documents.ids,
        documents=documents.items,
        judged=[np.array([documents.row(name) for name in qrels[query]], np.int64) for query in asked],
        grades=[np.array(list(qrels[query].values()), np.int64) for query in asked],
        excluded=hidden if without_itself or absent else None,
        query_role=role,
        tally=tally,
    )


def _known(name: str, shelf: ItemTable, reason: str, tally: DropReport) -> bool:
    if name not in shelf:
        tally.add(reason, name)
    return name in shelf
