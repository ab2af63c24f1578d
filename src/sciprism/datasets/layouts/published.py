"""The published files of the papers' benchmarks: SciDocs and Multi-SciDocs, SciRepEval, SciMult.

SciDocs: qrels, class tables, metadata keyed by id. SciRepEval: texts in one data set, labels and judgements in another,
on the hub or in a folder. SciMult, in MAPLE's style: labels, papers, queries and matches, one object a line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot, as_id, require_data_file
from sciprism.datasets.inputs import (
    Click,
    ClickLog,
    LabelInput,
    MatchInput,
    ProbeInput,
    RerankInput,
    RetrievalInput,
    Target,
    concatenate,
)
from sciprism.datasets.layouts.beir import (
    Qrels,
    build_rerank_input,
    build_retrieval_input,
    has_record,
    list_ids,
    merge_judgements,
    parse_judgements,
    read_judgements,
)
from sciprism.datasets.layouts.item_tables import (
    ItemTable,
    clean_text,
    get_record_id,
    number_duplicates,
    parse_number,
    parse_paper,
    parse_year,
)
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.formats import Role
from sciprism.papers.records import Label, Paper

OBTAIN = (
    "SciDocs is at s3://ai2-s2-research-public/specter/scidocs/ (aws s3 sync --no-sign-request "
    "s3://ai2-s2-research-public/specter/scidocs/ DATA/scidocs)"
)
NO_RECORD = "paper without a record, an empty text is used"


@dataclass(frozen=True, slots=True, kw_only=True)
class SciDocsClasses:
    """Papers with one class each: `mag/` or `mesh/`, `train.csv`, `val.csv`, `test.csv`.

    A paper without a record is scored, as published, where it has a zero vector; here it is an empty text.
    """

    FORMER: ClassVar = {"fold": "test"}
    classes: str
    folder: str = "scidocs"
    metadata: str = "paper_metadata_mag_mesh.json"
    obtain: str = OBTAIN

    def read(self, data_root: DataRoot) -> ProbeInput:
        """Return the papers of train, val and test, in this order."""
        dropped = DropReport()
        parts: LabelledParts = {part: list(self._table(data_root, part)) for part in ("train", "val", "test")}
        names = [name for rows in parts.values() for name, _ in rows]
        records = read_records(data_root, f"{self.folder}/{self.metadata}", set(names), self.obtain)
        table = ItemTable(dropped)
        for name in dict.fromkeys(names):
            if name not in records:
                dropped.add(NO_RECORD, name)
            table.add(name, parse_paper(records.get(name, {}), name))
        return _build_probe_input(parts, table, dropped)

    def _table(self, data_root: DataRoot, part: str) -> Iterator[tuple[str, str]]:
        path = data_root.local(f"{self.folder}/{self.classes}/{part}.csv", self.obtain)
        for where, row in data_root.located_records(path):
            name, label = as_id(row.get("pid")), clean_text(row.get("class_label"))
            if not name or not label:
                raise InputError(f"{where}: no pid or no class_label")
            yield name, label


@dataclass(frozen=True, slots=True, kw_only=True)
class SciDocsPools:
    """Papers with their graded candidates: `<relation>/test.qrel` of SciDocs or Multi-SciDocs.

    metadata: the records, one object keyed by id. Queries and candidates without a record are dropped.
    """

    FORMER: ClassVar = {"part": "test"}
    relation: str
    folder: str = "scidocs"
    metadata: str = "paper_metadata_view_cite_read.json"
    obtain: str = OBTAIN

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return the queries in the order of the judgements."""
        dropped = DropReport()
        path = data_root.local(f"{self.folder}/{self.relation}/test.qrel", self.obtain)
        qrels = merge_judgements(read_judgements(data_root, path), dropped)
        records = read_records(data_root, f"{self.folder}/{self.metadata}", list_ids(qrels), self.obtain)
        table = ItemTable(dropped)
        for name, record in records.items():
            table.add(name, parse_paper(record, name))
        return build_rerank_input(qrels, table, table, "paper", dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class SciDocsClicks:
    """Clicks on recommended papers: `recomm/{train,val,test}.csv` and `propensity_scores.json`.

    A click on a paper that was not shown is dropped; a paper without a record is empty.
    """

    folder: str = "scidocs"
    metadata: str = "paper_metadata_recomm.json"

    def read(self, data_root: DataRoot) -> ClickLog:
        """Return the papers of all clicks, and the clicks of the three parts."""
        dropped = DropReport()
        table = {part: list(self._table(data_root, part, dropped)) for part in ("train", "val", "test")}
        order = dict.fromkeys(name for rows in table.values() for paper, _, shown in rows for name in (paper, *shown))
        records = read_records(data_root, f"{self.folder}/{self.metadata}", set(order), OBTAIN)
        for name in order:
            if name not in records:
                dropped.add(NO_RECORD, name)
        row = {name: number for number, name in enumerate(order)}

        def clicks(part: str) -> list[Click]:
            shown_rows = ((p, c, np.array([row[s] for s in shown], np.int64)) for p, c, shown in table[part])
            return [Click(paper=row[p], shown=shown, clicked=row[c]) for p, c, shown in shown_rows]

        path = data_root.local(f"{self.folder}/recomm/propensity_scores.json", OBTAIN)
        scores = dict(data_root.members(path)).get("scores")
        if not isinstance(scores, list) or not all(isinstance(s, int | float) and s > 0 for s in scores):
            raise InputError(f'{path}: expected {{"scores": [numbers above 0]}}')
        papers = [
            Paper(
                id=name,
                title=clean_text(record.get("title")),
                abstract=clean_text(record.get("abstract")),
                authors=tuple(map(as_id, record.get("authors") or ())),
                year=parse_year(record.get("year")),
                references=tuple(map(as_id, record.get("references") or ())),
            )
            for name, record in ((name, records.get(name, {})) for name in order)
        ]
        return ClickLog(
            papers=papers,
            cited_by=[frozenset(map(as_id, records.get(name, {}).get("cited_by") or ())) for name in order],
            train=clicks("train"),
            dev=clicks("val"),
            test=clicks("test"),
            propensities=np.array(scores, np.float64),
            dropped=dropped,
        )

    def _table(self, data_root: DataRoot, part: str, dropped: DropReport) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        path = data_root.local(f"{self.folder}/recomm/{part}.csv", OBTAIN)
        for where, row in data_root.located_records(path):
            paper, clicked, listed, *_ = (*(clean_text(value) for value in row.values()), "", "")
            shown = tuple(dict.fromkeys(name.strip() for name in listed.split(",") if name.strip()))
            if not paper or not clicked:
                raise InputError(f"{where}: no pid or no clicked_pid")
            if clicked not in shown:
                dropped.add("click on a paper that was not shown, dropped", f"{part}, {where.rpartition(', ')[2]}")
            else:
                yield paper, clicked, shown


LabelledParts = dict[str, list[tuple[str, Target]]]  # part -> id and target of its papers


def _build_probe_input(
    parts: LabelledParts, table: ItemTable, dropped: DropReport, *, positive: str = ""
) -> ProbeInput:
    pairs, rows = concatenate(parts)
    return ProbeInput(
        ids=number_duplicates([name for name, _ in pairs], dropped),
        items=[table.items[table.row(name)] for name, _ in pairs],
        targets=[target for _, target in pairs],  # type: ignore[arg-type]  # all of one type
        train=rows["train"],
        dev=rows["val"],
        test=rows["test"],
        positive=positive,
        dropped=dropped,
    )


def read_records(data_root: DataRoot, name: str, wanted: set[str], obtain: str) -> dict[str, dict[str, Any]]:
    """Return the wanted records of a JSON object keyed by id, which is streamed."""
    path = data_root.local(name, obtain)
    records: dict[str, dict[str, Any]] = {}
    for key, record in data_root.members(path):
        if key in wanted:
            if not isinstance(record, dict):
                raise InputError(f"{path}, {key}: expected an object, got {record!r:.60}")
            records.setdefault(key, record)
    return records


TEXTS, LABELS = "allenai/scirepeval", "allenai/scirepeval_test"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTexts:
    """The hub data sets with the texts and the labels of a task. texts, labels: their configs."""

    texts: str
    labels: str
    repo: str = TEXTS
    labels_repo: str = LABELS

    def records(self, data_root: DataRoot) -> Iterator[dict[str, Any]]:
        """Yield the records of the texts."""
        return data_root.rows(self.repo, self.texts, split="evaluation")

    def labelled(self, data_root: DataRoot, split: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a split of the labels."""
        return data_root.rows(self.labels_repo, self.labels, split=split)

    def judgements(self, data_root: DataRoot, split: str, dropped: DropReport) -> Qrels:
        """Return the judgements of a split of the labels."""
        return merge_judgements(
            parse_judgements(self.labelled(data_root, split), "query_id", "cand_id", "score"), dropped
        )

    def papers(self, data_root: DataRoot, wanted: set[str], dropped: DropReport) -> ItemTable:
        """Return the papers whose ids are wanted."""
        table = ItemTable(dropped)
        for record in self.records(data_root):
            identifier = get_record_id(record)
            if identifier in wanted:
                table.add(identifier, parse_paper(record, identifier))
        return table


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperLabels:
    """Papers with a class, several classes or a number each: splits `train` and `test` of the labels.

    positive: the positive class of a binary task. A paper without a record is dropped, as published.
    """

    hub: HubTexts
    kind: Literal["class", "classes", "number"] = "class"
    positive: str = ""

    def read(self, data_root: DataRoot) -> ProbeInput:
        """Return all labelled papers, those of `train` first."""
        dropped = DropReport()
        train, test = (
            [self._read_label(row) for row in self.hub.labelled(data_root, split)] for split in ("train", "test")
        )
        table = self.hub.papers(data_root, {name for name, _ in train + test}, dropped)
        train, test = (
            [row for row in rows if has_record(row[0], table, "labelled paper without a record, dropped", dropped)]
            for rows in (train, test)
        )
        if not train or not test:
            raise InputError(f"{self.hub.labels_repo}, {self.hub.labels}: no labelled paper has a text")
        parts: LabelledParts = {"train": train, "val": [], "test": test}
        return _build_probe_input(parts, table, dropped, positive=self.positive)

    def _read_label(self, row: Mapping[str, Any]) -> tuple[str, Target]:
        name, label = as_id(row.get("paper_id")), row.get("label")
        if not name or label in (None, ""):
            raise InputError(f"{self.hub.labels_repo}, {self.hub.labels}: a row without paper_id or label: {row}")
        if self.kind == "number":
            return name, parse_number(label, f"paper {name}, label")
        if self.kind == "class":
            return name, as_id(label)
        if not isinstance(label, list) or not set(label) <= {0, 1}:
            raise InputError(f"paper {name}: the label is not a vector of 0 and 1: {label!r:.80}")
        return name, tuple(str(column) for column, flag in enumerate(label) if flag)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPapers:
    """Queries with graded candidates: a split of the labels over the records of the texts.

    query: "query" for words, "paper" for papers. simple: each record is one paper, a query or a candidate
    (SciDocs); otherwise it has a query, as a text or an object, and its candidates.
    """

    hub: HubTexts
    query: Role = "paper"
    simple: bool = False

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return the graded queries with their candidates, in the order of the judgements."""
        dropped = DropReport()
        qrels = self.hub.judgements(data_root, "test", dropped)
        if self.simple:
            table = self.hub.papers(data_root, list_ids(qrels), dropped)
            return build_rerank_input(qrels, table, table, self.query, dropped)
        return build_rerank_input(qrels, *self._read_item_tables(data_root, qrels, dropped), self.query, dropped)

    def _read_item_tables(self, data_root: DataRoot, qrels: Qrels, dropped: DropReport) -> tuple[ItemTable, ItemTable]:
        queries, candidates = ItemTable(dropped), ItemTable(dropped)
        wanted = list_ids(qrels)
        for record in self.hub.records(data_root):
            query = record.get("query")
            owner = record if isinstance(query, str) else query
            if not isinstance(owner, Mapping):
                raise InputError(f"{self.hub.repo}, {self.hub.texts}: a record without a query: {record!r:.120}")
            name = get_record_id(owner)
            if name in wanted:
                queries.add(name, clean_text(query) if isinstance(query, str) else parse_paper(owner, name))
            for candidate in record.get("candidates") or ():
                identifier = get_record_id(candidate)
                if identifier in wanted:
                    candidates.add(identifier, parse_paper(candidate, identifier))
        for query, grades in qrels.items():  # papers that are in one table only are copied to the other
            if query not in queries and query in candidates:
                queries.add(query, candidates.items[candidates.row(query)])
            for name in grades:
                if name not in candidates and name in queries:
                    item = queries.items[queries.row(name)]
                    if isinstance(item, Paper):
                        candidates.add(name, item)
        return queries, candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerPapers:
    """Submissions and reviewers: splits `test_hard` and `test_soft` of the labels, `metadata` of reviewers.

    A rating is 3 for a pair that is relevant in `test_hard`, 2 for one that is relevant in `test_soft` only,
    and 0 for others.
    """

    hub: HubTexts
    reviewers: str = "reviewers"

    def read(self, data_root: DataRoot) -> MatchInput:
        """Return submissions, reviewers' papers and rated pairs."""
        dropped = DropReport()
        hard, soft = (self.hub.judgements(data_root, split, dropped) for split in ("test_hard", "test_soft"))
        reviewers = data_root.rows(self.hub.labels_repo, self.reviewers, split="metadata")
        papers_of = {as_id(row.get("r_id")): list(map(as_id, row["papers"])) for row in reviewers}
        ratings: dict[tuple[str, str], float] = {}
        for qrels, rating in ((soft, 2), (hard, 3)):
            for query, grades in qrels.items():
                for reviewer, grade in grades.items():
                    ratings[query, reviewer] = max(ratings.get((query, reviewer), 0), rating * (grade > 0))
        wanted = {query for query, _ in ratings} | {name for names in papers_of.values() for name in names}
        table = self.hub.papers(data_root, wanted, dropped)
        for name in sorted(wanted - set(table.ids)):
            dropped.add("submission or reviewer's paper without a record, dropped", name)
        known = {reviewer: [name for name in names if name in table] for reviewer, names in papers_of.items()}
        written = {reviewer: names for reviewer, names in known.items() if names}
        rated = ((query, reviewer, rating) for (query, reviewer), rating in ratings.items())
        papers = dict(zip(table.ids, table.items, strict=True))
        unknown = "rated pair without submission or reviewer, dropped"
        return MatchInput.build(papers, written, rated, dropped, unknown)


OBTAIN_SCIMULT = "the evaluation data of SciMult are a zip behind the link at https://github.com/yuzhimanhua/SciMult"

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
        matched = None
        if self.matched:
            unknown = "matched label outside the vocabulary"
            found = _read_records(data_root, self.folder, self.name, "matched")
            of_lines = [_find_rows(record.get("candidate") or (), rows, dropped, unknown) for record in found]
            if not lines or lines[-1] >= len(of_lines):
                raise InputError(f"{self.folder}/{self.name}_matched.json has fewer lines than there are papers")
            matched = [of_lines[line] for line in lines]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedPapers:
    """Papers that name others: `SciDocs_papers_test.json`, with the ids of a relation in each record.

    Every paper is a document; those that name others are the queries. A query is in its own ranking, as published.
    """

    relation: Literal["cite", "co-cite"]
    folder: str = "scimult/link_prediction_retrieval"

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the papers with links over all papers."""
        dropped = DropReport()
        table, links = ItemTable(dropped), []
        for record in _read_records(data_root, self.folder, "SciDocs", "papers_test"):
            name = table.add_paper(record, "paper")
            links += [(name, as_id(other), 1) for other in record.get(self.relation) or ()]
        qrels = merge_judgements(links, dropped)
        return build_retrieval_input(qrels, table, table, role="paper", dropped=dropped)


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
        patients = _read_items(data_root, (self.folder, "PMCPatientsPPR", "patients_test"), "patient", dropped)
        queries, links = ItemTable(dropped), []
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

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return the papers with recommendations, each with its own."""
        dropped = DropReport()
        table, qrels, ranks = ItemTable(dropped), {}, {}
        for record in _read_records(data_root, self.folder, "Recommendation", "papers_test"):
            name = table.add_paper(record, "paper")
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
        queries, qrels = ItemTable(dropped), {}
        papers = _read_items(data_root, (self.folder, self.name, "papers_test"), "paper", dropped)
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

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the graded patients over all candidates."""
        dropped = DropReport()
        kind = "article" if self.task == "PAR" else "patient"
        name = f"PMCPatients{self.task}"
        candidates = _read_items(data_root, (self.folder, name, f"{kind}s_test"), kind, dropped)
        queries = _read_items(data_root, (self.folder, name, "queries_test"), "query", dropped)
        folder = data_root.local(self.folder, OBTAIN_SCIMULT)
        old, new = f"{self.task}_test_qrels.tsv", "qrels_test.tsv"
        names = (old, f"{self.task}/{old}", f"{self.task}/{new}", new)
        file = next((name for name in names if (folder / name).is_file()), old)
        path = data_root.local(f"{self.folder}/{file}", OBTAIN_SCIMULT)
        qrels = merge_judgements(read_judgements(data_root, path), dropped)
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


def parse_grades(record: Record, name: str) -> dict[str, float]:
    """Return the grades of a record's `score`, a map of ids to numbers."""
    scores = record.get("score")
    if not isinstance(scores, Mapping):
        raise InputError(f"{name}: the score is {scores!r:.60}, not a map of ids to grades")
    return {as_id(other): parse_number(grade, f"query {name}") for other, grade in scores.items()}


def _read_records(data_root: DataRoot, folder: str, name: str, kind: str) -> Iterator[Record]:
    """Yield the objects of `<folder>/<name>_<kind>.json`, one a line; may be gzipped or named `.jsonl`."""
    path = data_root.local(folder, OBTAIN_SCIMULT)
    names = f"{name}_{kind}.json", f"{name}_{kind}.jsonl"
    return data_root.records(require_data_file(path, *names, obtain=OBTAIN_SCIMULT))


def _read_items(data_root: DataRoot, place: tuple[str, str, str], key: str, dropped: DropReport) -> ItemTable:
    """Return the papers of a file. place: its folder, name and kind; key: the field of their ids."""
    table = ItemTable(dropped)
    for record in _read_records(data_root, *place):
        table.add_paper(record, key)
    return table


def _find_rows(names: Iterable[Any], rows: Mapping[str, int], dropped: DropReport, unknown: str) -> Rows:
    """Return the distinct rows of labels, in the given order; count labels outside the vocabulary."""
    ids = dict.fromkeys(map(as_id, names))
    for name in ids:
        if name not in rows:
            dropped.add(unknown, name)
    return np.array([rows[name] for name in ids if name in rows], np.int64)
