"""SciMult's evaluation files, MAPLE's style: one object a line for labels, papers, queries and matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Corpus, LabelSpace, Pools
from sciprism.datasets.layouts.item_tables import ItemTable, grade_of, paper_of, record_id, text_of
from sciprism.datasets.layouts.judgements import Judgement, Qrels, corpus, of_file, pools, united
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Label

OBTAIN = "the evaluation data of SciMult are a zip behind the link at https://github.com/yuzhimanhua/SciMult"

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapleLabels:
    """Papers and a whole vocabulary: `<name>_label.json`, `<name>_papers_test.json`, `<name>_matched.json`.

    matched: read the labels whose names stand in each paper (line by line beside the papers). numbered: a
    paper's `label` is the line of its one class in the label file, counted from 0, not an id.
    """

    name: str
    folder: str
    matched: bool = False
    numbered: bool = False

    def read(self, home: DataRoot) -> LabelSpace:
        """Return papers, labels, and the rows of each paper's labels."""
        tally = DropReport()
        labels = [
            label_of(row, number)
            for number, row in enumerate(_records(home, self.folder, self.name, "label"))
        ]
        rows = {label.id: row for row, label in enumerate(labels)}
        if len(rows) < len(labels):
            raise InputError(f"{self.folder}/{self.name}_label.json: an id stands twice")
        shelf, gold, lines = ItemTable(tally), [], []
        for line, record in enumerate(_records(home, self.folder, self.name, "papers_test")):
            name = record_id(record, "paper")
            if name in shelf:
                tally.add("paper that stands twice, the first counts", name)
                continue
            shelf.put(name, paper_of(record, name))
            gold.append(self._gold(record, name, rows, tally))
            lines.append(line)
        found = self._matched(home, rows, tally) if self.matched else None
        if found is not None and (not lines or lines[-1] >= len(found)):
            raise InputError(f"{self.folder}/{self.name}_matched.json has fewer lines than there are papers")
        return LabelSpace(
            paper_ids=shelf.ids,
            papers=shelf.items,
            labels=labels,
            gold=gold,
            matched=None if found is None else [found[line] for line in lines],
            tally=tally,
        )

    def _gold(self, record: Record, name: str, rows: Mapping[str, int], tally: DropReport) -> Rows:
        value = record.get("label")
        if self.numbered:
            if not isinstance(value, int) or not 0 <= value < len(rows):
                raise InputError(f"paper {name}: the label {value!r} is no line of the label file")
            return np.array([value], np.int64)
        if not isinstance(value, list):
            raise InputError(f"paper {name}: the label is {value!r:.60}, not a list of ids")
        return _rows_of(value, rows, tally, f"label of paper {name} outside of the vocabulary, left out")

    def _matched(self, home: DataRoot, rows: Mapping[str, int], tally: DropReport) -> list[Rows]:
        return [
            _rows_of(record.get("candidate") or (), rows, tally, "matched label outside of the vocabulary")
            for record in _records(home, self.folder, self.name, "matched")
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedPapers:
    """Papers that name others: `SciDocs_papers_test.json`, with the ids of a relation in each record.

    Every paper is a document; those that name others are the queries. without_itself: take a query out of
    its own ranking (the published numbers leave it in).
    """

    relation: Literal["cite", "co-cite"]
    folder: str = "scimult/link_prediction_retrieval"
    without_itself: bool = False

    def read(self, home: DataRoot) -> Corpus:
        """Return the papers with links over all papers."""
        tally = DropReport()
        shelf = ItemTable(tally)
        qrels = united(self._links(home, shelf), tally)
        return corpus(qrels, shelf, shelf, role="paper", without_itself=self.without_itself, tally=tally)

    def _links(self, home: DataRoot, shelf: ItemTable) -> Iterator[Judgement]:
        for record in _records(home, self.folder, "SciDocs", "papers_test"):
            name = record_id(record, "paper")
            shelf.put(name, paper_of(record, name))
            yield from ((name, as_id(other), 1) for other in record.get(self.relation) or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class PatientLinks:
    """Patients and their like, zero-shot: `PMCPatientsPPR_patients_test.json`, `..._queries_test.json`.

    A query has no id of its own; it is named by its line. Nothing is taken out of its ranking, as published,
    though training patients find themselves.
    """

    folder: str = "scimult/link_prediction_retrieval"

    def read(self, home: DataRoot) -> Corpus:
        """Return the queries over all patients."""
        tally = DropReport()
        patients, queries, links = ItemTable(tally), ItemTable(tally), []
        for record in _records(home, self.folder, "PMCPatientsPPR", "patients_test"):
            name = record_id(record, "patient")
            patients.put(name, paper_of(record, name))
        for number, record in enumerate(_records(home, self.folder, "PMCPatientsPPR", "queries_test"), 1):
            name = f"line {number}"
            queries.put(name, paper_of(record, name))
            links += [(name, as_id(patient), 1) for patient in record.get("patient") or ()]
        return corpus(
            united(links, tally), queries, patients, role="paper", without_itself=False, tally=tally
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedPapers:
    """Papers with graded recommendations: `Recommendation_papers_test.json`, `score` a map of ids to 1-5.

    Papers with a `score` that is not empty are the queries.
    """

    folder: str = "scimult/link_prediction_reranking"
    name: str = "Recommendation"

    def read(self, home: DataRoot) -> Pools:
        """Return the papers with recommendations, each with its own."""
        tally = DropReport()
        shelf, qrels = ItemTable(tally), {}
        for record in _records(home, self.folder, self.name, "papers_test"):
            name = record_id(record, "paper")
            shelf.put(name, paper_of(record, name))
            if record.get("score"):
                qrels[name] = scores_of(record, name)
        return pools(qrels, shelf, shelf, "paper", tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFiles:
    """Queries with scored papers: `<name>_papers_test.json`, `<name>_queries_test.json`."""

    name: str
    folder: str = "scimult/search"

    def shelves(self, home: DataRoot, tally: DropReport) -> tuple[Qrels, ItemTable, ItemTable]:
        """Return judgements, queries and papers."""
        queries, papers, qrels = ItemTable(tally), ItemTable(tally), {}
        for record in _records(home, self.folder, self.name, "papers_test"):
            name = record_id(record, "paper")
            papers.put(name, paper_of(record, name))
        for record in _records(home, self.folder, self.name, "queries_test"):
            name = record_id(record, "query_id")
            if name not in queries:
                qrels[name] = scores_of(record, name)
            queries.put(name, text_of(record.get("query")))
        return qrels, queries, papers


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPools:
    """A search among the papers that a query has scores for."""

    files: SearchFiles

    def read(self, home: DataRoot) -> Pools:
        """Return the queries with the papers they score."""
        tally = DropReport()
        return pools(*self.files.shelves(home, tally), "query", tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCorpus:
    """A search among all papers."""

    files: SearchFiles

    def read(self, home: DataRoot) -> Corpus:
        """Return the queries over all papers."""
        tally = DropReport()
        qrels, queries, papers = self.files.shelves(home, tally)
        return corpus(qrels, queries, papers, role="query", without_itself=False, tally=tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatientSearch:
    """PMC-Patients in SciMult's files: articles (PAR) or patients (PPR) for a patient, judged by qrels.

    The judgements lie under their old name (`PPR_test_qrels.tsv`) or their new one (`qrels_test.tsv`), below
    the folder or below `PAR/` or `PPR/`. A candidate that is the query itself is taken out, as the official
    evaluation does.
    """

    task: Literal["PAR", "PPR"]
    folder: str = "scimult/pmc_patients"
    split: str = "test"

    def read(self, home: DataRoot) -> Corpus:
        """Return the judged patients over all candidates."""
        tally = DropReport()
        kind = "article" if self.task == "PAR" else "patient"
        name = f"PMCPatients{self.task}"
        found, queries = ItemTable(tally), ItemTable(tally)
        for record in _records(home, self.folder, name, f"{kind}s_test"):
            identifier = record_id(record, kind)
            found.put(identifier, paper_of(record, identifier))
        for record in _records(home, self.folder, name, "queries_test"):
            identifier = record_id(record, "query")
            queries.put(identifier, paper_of(record, identifier))
        qrels = united(of_file(home, home.local(self._judgements(home), OBTAIN)), tally)
        return corpus(qrels, queries, found, role="paper", without_itself=True, tally=tally)

    def _judgements(self, home: DataRoot) -> str:
        folder = home.local(self.folder, OBTAIN)
        old, new = f"{self.task}_{self.split}_qrels.tsv", f"qrels_{self.split}.tsv"
        names = (old, f"{self.task}/{old}", f"{self.task}/{new}", new)
        return f"{self.folder}/{next((name for name in names if (folder / name).is_file()), old)}"


def label_of(record: Record, number: int) -> Label:
    """Return a label of a list of names, the first its name, and a definition that may be empty."""
    names = record.get("name")
    names = [names] if isinstance(names, str) else [text_of(name) for name in names or ()]
    identifier = as_id(record.get("label")) or str(number)
    if not names or not names[0]:
        raise InputError(f"label {identifier}: no name")
    definition = text_of(record.get("definition"))
    return Label(id=identifier, name=names[0], synonyms=tuple(names[1:]), definition=definition)


def scores_of(record: Record, name: str) -> dict[str, int]:
    """Return the grades of a record's `score`, a map of ids to whole numbers."""
    scores = record.get("score")
    if not isinstance(scores, Mapping):
        raise InputError(f"{name}: the score is {scores!r:.60}, not a map of ids to grades")
    return {as_id(other): grade_of(grade, name) for other, grade in scores.items()}


def _records(home: DataRoot, folder: str, name: str, kind: str) -> Iterator[Record]:
    """Yield the objects of `<folder>/<name>_<kind>.json`, one a line; also gzipped, also `.jsonl`."""
    place = home.local(folder, OBTAIN)
    stem = f"{name}_{kind}"
    for ending in ("json", "json.gz", "jsonl", "jsonl.gz"):
        if (place / f"{stem}.{ending}").is_file():
            return home.records(place / f"{stem}.{ending}")
    raise InputError(f"{place} holds no {stem}.json; {OBTAIN}")


def _rows_of(names: Iterable[Any], rows: Mapping[str, int], tally: DropReport, unknown: str) -> Rows:
    """Return the rows of labels, each once, in the order given; those outside of the vocabulary count."""
    found = dict.fromkeys(map(as_id, names))
    for name in found:
        if name not in rows:
            tally.add(unknown, name)
    return np.array([rows[name] for name in found if name in rows], np.int64)
