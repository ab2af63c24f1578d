"""SciMult's evaluation files, in MAPLE's style: labels, papers, queries and matches, one object a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot, find_file
from sciprism.datasets.inputs import LabelInput, RerankInput, RetrievalInput
from sciprism.datasets.layouts.beir import (
    Qrels,
    build_rerank_input,
    build_retrieval_input,
    merge_judgements,
    read_judgements,
)
from sciprism.datasets.layouts.item_tables import ItemTable, clean_text, get_record_id, parse_grade, parse_paper
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label

OBTAIN = "the evaluation data of SciMult are a zip behind the link at https://github.com/yuzhimanhua/SciMult"

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapleLabels:
    """Papers and a whole vocabulary: `<name>_label.json`, `<name>_papers_test.json`, `<name>_matched.json`.

    matched: read the labels whose names occur in each paper (line i belongs to paper i). numbered: a paper's
    `label` is the line of its one class in the label file, from 0, not an id.
    """

    name: str
    folder: str
    matched: bool = False
    numbered: bool = False

    def read(self, data_root: DataRoot) -> LabelInput:
        """Return papers, labels, and the rows of each paper's labels."""
        dropped = DropReport()
        records = _read_records(data_root, self.folder, self.name, "label")
        labels = [parse_label(row, number) for number, row in enumerate(records)]
        rows = {label.id: row for row, label in enumerate(labels)}
        if len(rows) < len(labels):
            raise InputError(f"{self.folder}/{self.name}_label.json: duplicate label id")
        table, gold, lines = ItemTable(dropped), [], []
        for line, record in enumerate(_read_records(data_root, self.folder, self.name, "papers_test")):
            name = get_record_id(record, "paper")
            if name in table:
                dropped.add("duplicate paper, the first is used", name)
                continue
            table.add(name, parse_paper(record, name))
            gold.append(self._gold(record, name, rows, dropped))
            lines.append(line)
        matched = self._matched(data_root, rows, lines, dropped) if self.matched else None
        return LabelInput(
            paper_ids=table.ids, papers=table.items, labels=labels, gold=gold, matched=matched, dropped=dropped
        )

    def _gold(self, record: Record, name: str, rows: Mapping[str, int], dropped: DropReport) -> Rows:
        value = record.get("label")
        if self.numbered:
            if not isinstance(value, int) or not 0 <= value < len(rows):
                raise InputError(f"paper {name}: the label {value!r} is not a line of the label file")
            return np.array([value], np.int64)
        if not isinstance(value, list):
            raise InputError(f"paper {name}: the label is {value!r:.60}, not a list of ids")
        return _find_rows(value, rows, dropped, f"label of paper {name} outside the vocabulary, dropped")

    def _matched(
        self, data_root: DataRoot, rows: Mapping[str, int], lines: list[int], dropped: DropReport
    ) -> list[Rows]:
        unknown = "matched label outside the vocabulary"
        records = _read_records(data_root, self.folder, self.name, "matched")
        matched = [_find_rows(record.get("candidate") or (), rows, dropped, unknown) for record in records]
        if not lines or lines[-1] >= len(matched):
            raise InputError(f"{self.folder}/{self.name}_matched.json has fewer lines than there are papers")
        return [matched[line] for line in lines]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedPapers:
    """Papers that name others: `SciDocs_papers_test.json`, with the ids of a relation in each record.

    Every paper is a document; those that name others are the queries. without_itself: remove a query from its
    own ranking (the published numbers keep it).
    """

    relation: Literal["cite", "co-cite"]
    folder: str = "scimult/link_prediction_retrieval"
    without_itself: bool = False

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the papers with links over all papers."""
        dropped = DropReport()
        table, links = ItemTable(dropped), []
        for record in _read_records(data_root, self.folder, "SciDocs", "papers_test"):
            name = table.ids[table.add_paper(record, "paper")]
            links += [(name, as_id(other), 1) for other in record.get(self.relation) or ()]
        qrels = merge_judgements(links, dropped)
        return build_retrieval_input(
            qrels, table, table, role="paper", without_itself=self.without_itself, dropped=dropped
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PatientLinks:
    """Patients and similar patients, zero-shot: `PMCPatientsPPR_patients_test.json`, `..._queries_test.json`.

    A query has no id; it is named by its line. Its ranking is complete, as published, though training
    patients find themselves.
    """

    folder: str = "scimult/link_prediction_retrieval"

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the queries over all patients."""
        dropped = DropReport()
        patients, queries, links = ItemTable(dropped), ItemTable(dropped), []
        for record in _read_records(data_root, self.folder, "PMCPatientsPPR", "patients_test"):
            patients.add_paper(record, "patient")
        records = _read_records(data_root, self.folder, "PMCPatientsPPR", "queries_test")
        for number, record in enumerate(records, 1):
            name = f"line {number}"
            queries.add(name, parse_paper(record, name))
            links += [(name, as_id(patient), 1) for patient in record.get("patient") or ()]
        qrels = merge_judgements(links, dropped)
        return build_retrieval_input(qrels, queries, patients, role="paper", dropped=dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedPapers:
    """Papers with graded recommendations: `Recommendation_papers_test.json`, `score` a map of ids to 1-5.

    The queries are the papers with a non-empty `score`; `rank`, if there: the ids in the recommender's own order.
    """

    folder: str = "scimult/link_prediction_reranking"
    name: str = "Recommendation"

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return the papers with recommendations, each with its own."""
        dropped = DropReport()
        table, qrels, ranks = ItemTable(dropped), {}, {}
        for record in _read_records(data_root, self.folder, self.name, "papers_test"):
            name = table.ids[table.add_paper(record, "paper")]
            if record.get("score"):
                qrels[name] = parse_grades(record, name)
                ranks[name] = {as_id(other): rank for rank, other in enumerate(record.get("rank") or (), 1)}
        data = build_rerank_input(qrels, table, table, "paper", dropped)
        return replace(data, stated=[ranks[name] for name in data.query_ids] if any(ranks.values()) else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFiles:
    """Queries with scored papers: `<name>_papers_test.json`, `<name>_queries_test.json`."""

    name: str
    folder: str = "scimult/search"

    def read_item_tables(self, data_root: DataRoot, dropped: DropReport) -> tuple[Qrels, ItemTable, ItemTable]:
        """Return judgements, queries and papers."""
        queries, papers, qrels = ItemTable(dropped), ItemTable(dropped), {}
        for record in _read_records(data_root, self.folder, self.name, "papers_test"):
            papers.add_paper(record, "paper")
        for record in _read_records(data_root, self.folder, self.name, "queries_test"):
            name = get_record_id(record, "query_id")
            if name not in queries:
                qrels[name] = parse_grades(record, name)
            queries.add(name, clean_text(record.get("query")))
        return qrels, queries, papers


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPools:
    """Search among the papers that each query has scores for."""

    files: SearchFiles

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return the queries with the papers they score."""
        dropped = DropReport()
        return build_rerank_input(*self.files.read_item_tables(data_root, dropped), "query", dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCorpus:
    """Search among all papers."""

    files: SearchFiles

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the queries over all papers."""
        dropped = DropReport()
        return build_retrieval_input(*self.files.read_item_tables(data_root, dropped), role="query", dropped=dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatientSearch:
    """PMC-Patients in SciMult's files: retrieve articles (PAR) or patients (PPR) for a patient.

    The qrels have their old name (`PPR_test_qrels.tsv`) or their new one (`qrels_test.tsv`), in the folder or
    in its `PAR/` or `PPR/`. The query itself is removed from its ranking, as in the official evaluation.
    """

    task: Literal["PAR", "PPR"]
    folder: str = "scimult/pmc_patients"
    split: str = "test"

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the graded patients over all candidates."""
        dropped = DropReport()
        kind = "article" if self.task == "PAR" else "patient"
        name = f"PMCPatients{self.task}"
        candidates, queries = ItemTable(dropped), ItemTable(dropped)
        for record in _read_records(data_root, self.folder, name, f"{kind}s_test"):
            candidates.add_paper(record, kind)
        for record in _read_records(data_root, self.folder, name, "queries_test"):
            queries.add_paper(record, "query")
        folder = data_root.local(self.folder, OBTAIN)
        old, new = f"{self.task}_{self.split}_qrels.tsv", f"qrels_{self.split}.tsv"
        names = (old, f"{self.task}/{old}", f"{self.task}/{new}", new)
        file = next((name for name in names if (folder / name).is_file()), old)
        qrels = merge_judgements(read_judgements(data_root, data_root.local(f"{self.folder}/{file}", OBTAIN)), dropped)
        return build_retrieval_input(qrels, queries, candidates, role="paper", without_itself=True, dropped=dropped)


def parse_label(record: Record, number: int) -> Label:
    """Return a label from a list of names, the first of which is the preferred one, and a definition."""
    names = record.get("name")
    names = [names] if isinstance(names, str) else [clean_text(name) for name in names or ()]
    identifier = as_id(record.get("label")) or str(number)
    if not names or not names[0]:
        raise InputError(f"label {identifier}: no name")
    definition = clean_text(record.get("definition"))
    return Label(id=identifier, name=names[0], synonyms=tuple(names[1:]), definition=definition)


def parse_grades(record: Record, name: str) -> dict[str, int]:
    """Return the grades of a record's `score`, a map of ids to whole numbers."""
    scores = record.get("score")
    if not isinstance(scores, Mapping):
        raise InputError(f"{name}: the score is {scores!r:.60}, not a map of ids to grades")
    return {as_id(other): parse_grade(grade, name) for other, grade in scores.items()}


def _read_records(data_root: DataRoot, folder: str, name: str, kind: str) -> Iterator[Record]:
    """Yield the objects of `<folder>/<name>_<kind>.json`, one a line; may be gzipped or named `.jsonl`."""
    path = data_root.local(folder, OBTAIN)
    file = find_file(path, f"{name}_{kind}.json", f"{name}_{kind}.jsonl")
    if file is None:
        raise InputError(f"{path} has no {name}_{kind}.json; {OBTAIN}")
    return data_root.records(file)


def _find_rows(names: Iterable[Any], rows: Mapping[str, int], dropped: DropReport, unknown: str) -> Rows:
    """Return the distinct rows of labels, in the given order; count labels outside the vocabulary."""
    ids = dict.fromkeys(map(as_id, names))
    for name in ids:
        if name not in rows:
            dropped.add(unknown, name)
    return np.array([rows[name] for name in ids if name in rows], np.int64)
