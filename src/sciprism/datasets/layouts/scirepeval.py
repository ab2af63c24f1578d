"""SciRepEval's files: texts in one data set, labels and judgements in another; on the hub or in a folder."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import MatchInput, ProbeInput, RerankInput, Target
from sciprism.datasets.layouts.beir import (
    Qrels,
    build_rerank_input,
    has_record,
    list_ids,
    merge_judgements,
    parse_judgements,
)
from sciprism.datasets.layouts.item_tables import (
    ItemTable,
    clean_text,
    get_record_id,
    number_duplicates,
    parse_number,
    parse_paper,
)
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.formats import Role
from sciprism.papers.records import Paper

TEXTS, LABELS = "allenai/scirepeval", "allenai/scirepeval_test"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTexts:
    """The hub data sets with the texts and the labels of a task. texts, labels: their configs.

    id_field: the records' id field; by default `doc_id`, else `corpus_id` or `paper_id` (files outside the
    hub).
    """

    texts: str
    labels: str
    repo: str = TEXTS
    labels_repo: str = LABELS
    split: str = "evaluation"
    revision: str = ""
    labels_revision: str = ""
    id_field: str = ""

    def records(self, data_root: DataRoot, dropped: DropReport) -> Iterator[dict[str, Any]]:
        """Yield the records of the texts."""
        yield from data_root.rows(self.repo, self.texts, split=self.split, revision=self.revision, dropped=dropped)

    def labelled(self, data_root: DataRoot, split: str, dropped: DropReport) -> Iterator[dict[str, Any]]:
        """Yield the rows of a split of the labels."""
        yield from data_root.rows(
            self.labels_repo, self.labels, split=split, revision=self.labels_revision, dropped=dropped
        )

    def papers(self, data_root: DataRoot, wanted: set[str], dropped: DropReport) -> ItemTable:
        """Return the papers whose ids are wanted."""
        table = ItemTable(dropped)
        for record in self.records(data_root, dropped):
            identifier = get_record_id(record, self.id_field)
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
            [self._read_label(row) for row in self.hub.labelled(data_root, split, dropped)]
            for split in ("train", "test")
        )
        table = self.hub.papers(data_root, {name for name, _ in train + test}, dropped)
        train, test = (
            [row for row in rows if has_record(row[0], table, "labelled paper without a record, dropped", dropped)]
            for rows in (train, test)
        )
        everything = train + test
        if not train or not test:
            raise InputError(f"{self.hub.labels_repo}, {self.hub.labels}: no labelled paper has a text")
        return ProbeInput(
            ids=number_duplicates([name for name, _ in everything], dropped),
            items=[table.items[table.row(name)] for name, _ in everything],
            targets=[target for _, target in everything],  # type: ignore[arg-type]  # all of one type
            train=np.arange(len(train)),
            test=np.arange(len(train), len(everything)),
            positive=self.positive,
            dropped=dropped,
        )

    def _read_label(self, row: Mapping[str, Any]) -> tuple[str, Target]:
        name, label = as_id(row.get("paper_id")), row.get("label")
        if not name or label in (None, ""):
            raise InputError(f"{self.hub.labels_repo}, {self.hub.labels}: a row without paper_id or label: {row}")
        if self.kind == "number":
            return name, parse_number(label, f"paper {name}, label")
        return name, as_id(label) if self.kind == "class" else parse_classes(label, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPapers:
    """Queries with graded candidates: a split of the labels over the records of the texts.

    query: "query" for words, "paper" for papers. simple: each record is one paper, a query or a candidate
    (SciDocs); otherwise it has a query, as a text or an object, and its candidates.
    """

    hub: HubTexts
    query: Role = "paper"
    simple: bool = False
    qrels_split: str = "test"

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return the graded queries with their candidates, in the order of the judgements."""
        dropped = DropReport()
        rows = self.hub.labelled(data_root, self.qrels_split, dropped)
        qrels = merge_judgements(parse_judgements(rows, "query_id", "cand_id", "score"), dropped)
        if self.simple:
            table = self.hub.papers(data_root, list_ids(qrels), dropped)
            return build_rerank_input(qrels, table, table, self.query, dropped)
        return build_rerank_input(qrels, *self._read_item_tables(data_root, qrels, dropped), self.query, dropped)

    def _read_item_tables(self, data_root: DataRoot, qrels: Qrels, dropped: DropReport) -> tuple[ItemTable, ItemTable]:
        queries, candidates = ItemTable(dropped), ItemTable(dropped)
        wanted = list_ids(qrels)
        for record in self.hub.records(data_root, dropped):
            query = record.get("query")
            owner = record if isinstance(query, str) else query
            if not isinstance(owner, Mapping):
                raise InputError(f"{self.hub.repo}, {self.hub.texts}: a record without a query: {record!r:.120}")
            name = get_record_id(owner, self.hub.id_field)
            if name in wanted:
                queries.add(name, clean_text(query) if isinstance(query, str) else parse_paper(owner, name))
            for candidate in record.get("candidates") or ():
                identifier = get_record_id(candidate, self.hub.id_field)
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
    and 0 for others. Files with grades 0-3 are used as they are.
    """

    hub: HubTexts
    reviewers: str = "reviewers"

    def read(self, data_root: DataRoot) -> MatchInput:
        """Return submissions, reviewers' papers and rated pairs."""
        dropped = DropReport()
        hard, soft = (
            merge_judgements(
                parse_judgements(self.hub.labelled(data_root, split, dropped), "query_id", "cand_id", "score"), dropped
            )
            for split in ("test_hard", "test_soft")
        )
        papers_of = {as_id(row.get("r_id")): list(map(as_id, row["papers"])) for row in self._reviewers(data_root)}
        ratings = _merge_ratings(hard, soft)
        wanted = {query for query, _ in ratings} | {name for names in papers_of.values() for name in names}
        table = self.hub.papers(data_root, wanted, dropped)
        for name in sorted(wanted - set(table.ids)):
            dropped.add("submission or reviewer's paper without a record, dropped", name)
        profiles = {r: [table.row(name) for name in names if name in table] for r, names in papers_of.items()}
        order = {reviewer: number for number, reviewer in enumerate(r for r in profiles if profiles[r])}
        pairs = {}
        for (query, reviewer), rating in ratings.items():
            if query in table and reviewer in order:
                pairs[table.row(query), order[reviewer]] = rating
            else:
                dropped.add("rated pair without submission or reviewer, dropped", f"{query} {reviewer}")
        return MatchInput(
            paper_ids=table.ids,
            papers=table.items,
            reviewer_ids=list(order),
            profiles=[np.array(profiles[reviewer], np.int64) for reviewer in order],
            pairs=np.array(list(pairs), np.int64).reshape(-1, 2),
            ratings=np.array(list(pairs.values()), np.float64),
            dropped=dropped,
        )

    def _reviewers(self, data_root: DataRoot) -> Iterator[dict[str, Any]]:
        # Outside the hub, the reviewers are in the folder of the judgements: `reviewer_metadata.jsonl`.
        local = data_root.find_local_split(self.hub.labels_repo, self.hub.labels, split="metadata")
        config = self.hub.labels if local else self.reviewers
        return data_root.rows(self.hub.labels_repo, config, split="metadata", revision=self.hub.labels_revision)


def parse_classes(label: Any, name: str) -> tuple[str, ...]:
    """Return the column numbers of the ones in a 0/1 vector, which is a text in CSV files."""
    if isinstance(label, str):
        try:
            label = json.loads(label)
        except ValueError:
            label = None
    if not isinstance(label, Sequence) or not set(label) <= {0, 1}:
        raise InputError(f"paper {name}: the label is not a vector of 0 and 1: {label!r:.80}")
    return tuple(str(column) for column, flag in enumerate(label) if flag)


def _merge_ratings(hard: Qrels, soft: Qrels) -> dict[tuple[str, str], float]:
    graded = any(grade > 1 for part in (hard, soft) for grades in part.values() for grade in grades.values())
    ratings: dict[tuple[str, str], float] = {}
    for part, rating in ((soft, 2), (hard, 3)):
        for query, grades in part.items():
            for reviewer, grade in grades.items():
                rated = grade if graded else rating * (grade > 0)
                ratings[query, reviewer] = max(ratings.get((query, reviewer), 0), rated)
    return ratings
