"""Queries, documents and relevance judgements as BEIR has them: sets of the hub, folders of files, and any others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.datasets.data_root import DataRoot, as_id, convert_ids, find_file, require_data_file
from sciprism.datasets.inputs import RerankInput, RetrievalInput
from sciprism.datasets.layouts.item_tables import ItemTable, clean_text, get_record_id, parse_number
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.formats import Role
from sciprism.papers.records import Paper

Judgement = tuple[str, str, float]  # query id, document id, grade

Qrels = dict[str, dict[str, float]]  # query id -> document id -> grade, in the order of the file

NO_QUERY, NO_DOCUMENT = "graded query without a record", "graded document without a record"
_NUMBER = re.compile(r"[-+.]?\d")


def merge_judgements(judgements: Iterable[Judgement], dropped: DropReport) -> Qrels:
    """Group judgements by query; the first of duplicate pairs is used (SciRepEval's rule)."""
    qrels: Qrels = {}
    for query, document, grade in judgements:
        grades_of = qrels.setdefault(query, {})
        if document not in grades_of:
            grades_of[document] = grade
        elif grades_of[document] != grade:
            dropped.add("duplicate judgement with another grade, the first is used", f"{query} {document}")
        else:
            dropped.add("duplicate judgement", f"{query} {document}")
    return qrels


def parse_judgements(
    records: Iterable[Mapping[str, Any]], query: str, document: str, score: str
) -> Iterator[Judgement]:
    """Yield the judgements of records, given the names of their three fields."""
    for record in records:
        try:
            q, d, grade = as_id(record[query]), as_id(record[document]), record[score]
        except KeyError as missing:
            raise InputError(f"judgement without {missing}: {dict(record)!r:.120}") from None
        yield q, d, parse_number(grade, f"query {q}")


def read_judgements(data_root: DataRoot, path: Path) -> Iterator[Judgement]:
    """Yield the judgements of a text file: `query-id, corpus-id, score` or TREC's four columns.

    Columns are separated by tabs or spaces. A first line whose last column is not a number is a header.
    """
    for number, line in data_root.lines(path):
        columns = [column.strip() for column in (line.split("\t") if "\t" in line else line.split())]
        if not any(columns):
            continue
        if len(columns) not in (3, 4):
            raise InputError(f"{path}, line {number}: expected 3 or 4 columns, got {line[:60]!r}")
        if number == 1 and not _NUMBER.match(columns[-1]):
            continue
        yield columns[0], columns[-2], parse_number(columns[-1], f"{path}, line {number}, grade")


def build_rerank_input(
    qrels: Qrels, queries: ItemTable, candidates: ItemTable, role: Role, dropped: DropReport
) -> RerankInput:
    """Return each query with its graded candidates; those without a record count as not found."""
    query_ids = [query for query in qrels if has_record(query, queries, NO_QUERY, dropped)]
    graded = [qrels[query] for query in query_ids]
    absent = [{name: grades_of[name] for name in grades_of if name not in candidates} for grades_of in graded]
    pools = [
        {candidates.row(name): grades_of[name] for name in grades_of if name in candidates} for grades_of in graded
    ]
    for name in (name for grades_of in absent for name in grades_of):
        dropped.add(f"{NO_DOCUMENT}, counts as not found", name)
    return RerankInput(
        query_ids=query_ids,
        queries=[queries.items[queries.row(query)] for query in query_ids],
        candidate_ids=candidates.ids,
        candidates=candidates.items,
        pools=[np.array(list(pool), np.int64) for pool in pools],
        grades=[np.array(list(pool.values()), np.float64) for pool in pools],
        absent=absent,
        query_role=role,
        dropped=dropped,
    )


def build_retrieval_input(
    qrels: Qrels,
    queries: ItemTable,
    documents: ItemTable,
    *,
    role: Role,
    without_itself: bool = False,
    dropped: DropReport,
) -> RetrievalInput:
    """Return the graded queries over all documents.

    without_itself: removes the document whose id is the query's from its ranking. A graded document that is
    not in the corpus cannot be found, but the ideal ranking has it: it is added as an empty text that is
    excluded from every ranking.
    """
    query_ids = [query for query in qrels if has_record(query, queries, NO_QUERY, dropped)]
    absent: list[int] = []
    for name in dict.fromkeys(name for query in query_ids for name in qrels[query] if name not in documents):
        dropped.add(f"{NO_DOCUMENT}, counts as not found", name)
        absent.append(documents.add(name, Paper(id=name)))
    hidden = [
        np.array([*absent, *(documents.row(q) for q in (query,) if without_itself and q in documents)], np.int64)
        for query in query_ids
    ]
    return RetrievalInput(
        query_ids=query_ids,
        queries=[queries.items[queries.row(query)] for query in query_ids],
        document_ids=documents.ids,
        documents=documents.items,
        judged=[np.array([documents.row(name) for name in qrels[query]], np.int64) for query in query_ids],
        grades=[np.array(list(qrels[query].values()), np.float64) for query in query_ids],
        excluded=hidden if without_itself or absent else None,
        query_role=role,
        dropped=dropped,
    )


def list_ids(qrels: Qrels) -> set[str]:
    """Return the ids of all queries and documents."""
    return set(qrels) | {document for grades in qrels.values() for document in grades}


def has_record(name: str, table: ItemTable, reason: str, dropped: DropReport) -> bool:
    """Tell whether an id is in a table; count it for this reason if not."""
    if name not in table:
        dropped.add(reason, name)
    return name in table


@dataclass(frozen=True, slots=True, kw_only=True)
class BeirSet:
    """A data set of BEIR: an unpacked zip (`beir/<name>` or `<name>`) or `<owner>/<name>` on the hub.

    A document whose id equals the query's is removed from that query's ranking, as BEIR does. On the hub, corpus
    and queries are configs of one data set; the judgements are the data set `<name>-qrels`.
    """

    name: str
    owner: str = "BeIR"

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the graded queries over all documents. Raises InputError that names a missing file."""
        dropped, parts = DropReport(), ("queries", "corpus")
        for folder in (data_root.folder / "beir" / self.name, data_root.folder / self.name) if data_root.folder else ():
            if find_file(folder, "corpus.jsonl"):
                judgements = read_judgements(data_root, require_data_file(folder / "qrels", "test.tsv"))
                texts = [read_texts(data_root, require_data_file(folder, f"{part}.jsonl")) for part in parts]
                break
        else:
            repo = f"{self.owner}/{self.name}"
            rows = data_root.rows(f"{repo}-qrels", "default", split="test")
            judgements = parse_judgements(rows, "query-id", "corpus-id", "score")
            texts = [data_root.rows(repo, part, split=part) for part in parts]
        return build_input(judgements, *texts, without_itself=True, dropped=dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeirFiles:
    """A hub data set with BEIR's files by path, or a local copy of it.

    Each path may be followed by other, older names of the same file. query: "paper" where the queries are
    texts like the documents (similar patients).
    """

    repo: str
    qrels: tuple[str, ...] = ("qrels/test.tsv",)
    corpus: tuple[str, ...] = ("corpus.jsonl",)
    queries: tuple[str, ...] = ("queries.jsonl",)
    query: Role = "query"
    without_itself: bool = False

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the graded queries over all documents."""
        dropped = DropReport()
        judgements, queries, documents = (
            data_root.file(self.repo, names[0], names=names[1:]) for names in (self.qrels, self.queries, self.corpus)
        )
        return build_input(
            read_judgements(data_root, judgements),
            read_texts(data_root, queries),
            read_texts(data_root, documents),
            role=self.query,
            without_itself=self.without_itself,
            dropped=dropped,
        )


def build_input(
    judgements: Iterable[Judgement],
    queries: Iterable[Mapping[str, Any]],
    documents: Iterable[Mapping[str, Any]],
    *,
    role: Role = "query",
    without_itself: bool,
    dropped: DropReport,
) -> RetrievalInput:
    """Return the graded queries over all documents; queries without judgements are not part of it."""
    qrels = merge_judgements(judgements, dropped)
    query_table, document_table = ItemTable(dropped), ItemTable(dropped)
    for record in queries:
        name = get_record_id(record, "_id")
        if name in qrels:
            query_table.add(name, clean_text(record.get("text")))
    for record in documents:
        name = get_record_id(record, "_id")
        title, text = clean_text(record.get("title")), clean_text(record.get("text"))
        document_table.add(name, Paper(id=name, title=title, abstract=text))
    return build_retrieval_input(
        qrels, query_table, document_table, role=role, without_itself=without_itself, dropped=dropped
    )


def read_texts(data_root: DataRoot, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a corpus or of queries, ids as text."""
    return map(convert_ids, data_root.records(path))
