"""SciRepEval's files: texts in one data set, labels and judgements in another, on the hub or in folders."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Labelled, Pools, Reviewers
from sciprism.datasets.layouts.item_tables import ItemTable, distinct, number_of, paper_of, record_id, text_of
from sciprism.datasets.layouts.judgements import Qrels, of_records, pools, united
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.formats import Role
from sciprism.papers.records import Paper

Kind = Literal["class", "classes", "number"]
Target = str | tuple[str, ...] | float

TEXTS, LABELS = "allenai/scirepeval", "allenai/scirepeval_test"
UNLABELLED = "labelled paper without a record, left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class HubTexts:
    """Where SciRepEval's texts and labels lie. texts, labels: configs of the two data sets.

    id_field: the records' id, by default `doc_id`, else `corpus_id` or `paper_id` (files outside of the hub).
    """

    texts: str
    labels: str
    repo: str = TEXTS
    labels_repo: str = LABELS
    split: str = "evaluation"
    revision: str = ""
    labels_revision: str = ""
    id_field: str = ""

    def records(self, home: DataRoot, tally: DropReport) -> Iterator[dict[str, Any]]:
        """Yield the records of the texts."""
        yield from home.rows(self.repo, self.texts, split=self.split, revision=self.revision, tally=tally)

    def labelled(self, home: DataRoot, split: str, tally: DropReport) -> Iterator[dict[str, Any]]:
        """Yield the rows of a split of the labels."""
        revision = self.labels_revision
        yield from home.rows(self.labels_repo, self.labels, split=split, revision=revision, tally=tally)

    def papers(self, home: DataRoot, wanted: set[str], tally: DropReport) -> ItemTable:
        """Return the papers whose ids are wanted."""
        shelf = ItemTable(tally)
        for record in self.records(home, tally):
            identifier = record_id(record, self.id_field)
            if identifier in wanted:
                shelf.put(identifier, paper_of(record, identifier))
        return shelf


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperLabels:
    """Papers with a class, several classes or a number each: splits `train` and `test` of the labels.

    positive: the positive class of a binary task. A paper without a record is left out, as published.
    """

    at: HubTexts
    kind: Kind = "class"
    positive: str = ""

    def read(self, home: DataRoot) -> Labelled:
        """Return all labelled papers, those of `train` first."""
        tally = DropReport()
        rows = {
            split: [
                (as_id(row.get("paper_id")), self._target(row))
                for row in self.at.labelled(home, split, tally)
            ]
            for split in ("train", "test")
        }
        shelf = self.at.papers(home, {name for part in rows.values() for name, _ in part}, tally)
        kept = {split: [row for row in part if _known(row[0], shelf, tally)] for split, part in rows.items()}
        everything = kept["train"] + kept["test"]
        if not kept["train"] or not kept["test"]:
            raise InputError(f"{self.at.labels_repo}, {self.at.labels}: no labelled paper has a text")
        targets: Any = [target for _, target in everything]
        return Labelled(
            ids=distinct([name for name, _ in everything], tally),
            items=[shelf.items[shelf.row(name)] for name, _ in everything],
            targets=targets,
            train=np.arange(len(kept["train"])),
            test=np.arange(len(kept["train"]), len(everything)),
            positive=self.positive,
            tally=tally,
        )

    def _target(self, row: Mapping[str, Any]) -> Target:
        name, label = as_id(row.get("paper_id")), row.get("label")
        if not name or label in (None, ""):
            raise InputError(
                f"{self.at.labels_repo}, {self.at.labels}: a row without paper_id or label: {row}"
            )
        if self.kind == "number":
            return number_of(label, f"paper {name}, label")
        return as_id(label) if self.kind == "class" else classes_of(label, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedPapers:
    """Queries with judged candidates: the split `test` of the labels over the records of the texts.

    query: "query" for words, "paper" for papers. simple: the records are single papers, queries and
    candidates alike (SciDocs); otherwise each holds a query, as a text or an object, and its candidates.
    """

    at: HubTexts
    query: Role = "paper"
    simple: bool = False
    judged: str = "test"

    def read(self, home: DataRoot) -> Pools:
        """Return the judged queries with their candidates, in the order of the judgements."""
        tally = DropReport()
        rows = self.at.labelled(home, self.judged, tally)
        qrels = united(of_records(rows, "query_id", "cand_id", "score"), tally)
        if self.simple:
            wanted = set(qrels) | {name for mine in qrels.values() for name in mine}
            shelf = self.at.papers(home, wanted, tally)
            return pools(qrels, shelf, shelf, self.query, tally)
        queries, candidates = self._shelves(home, qrels, tally)
        return pools(qrels, queries, candidates, self.query, tally)

    def _shelves(self, home: DataRoot, qrels: Qrels, tally: DropReport) -> tuple[ItemTable, ItemTable]:
        queries, candidates = ItemTable(tally), ItemTable(tally)
        wanted = {name for mine in qrels.values() for name in mine}
        for record in self.at.records(home, tally):
            query = record.get("query")
            owner = record if isinstance(query, str) else query
            if not isinstance(owner, Mapping):
                raise InputError(
                    f"{self.at.repo}, {self.at.texts}: a record without a query: {record!r:.120}"
                )
            name = record_id(owner, self.at.id_field)
            if name in qrels or name in wanted:
                queries.put(name, text_of(query) if isinstance(query, str) else paper_of(owner, name))
            for candidate in record.get("candidates") or ():
                identifier = record_id(candidate, self.at.id_field)
                if identifier in wanted or identifier in qrels:
                    candidates.put(identifier, paper_of(candidate, identifier))
        _share(qrels, queries, candidates)
        return queries, candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewerPapers:
    """Submissions and reviewers: splits `test_hard` and `test_soft` of the labels, `metadata` of reviewers.

    A rating is 3 for a pair that is relevant in `test_hard`, 2 for one that is so in `test_soft` alone and 0
    for the others; where the files hold the grades 0-3 themselves, they are the ratings.
    """

    at: HubTexts
    reviewers: str = "reviewers"

    def read(self, home: DataRoot) -> Reviewers:
        """Return submissions, reviewers' papers and rated pairs."""
        tally = DropReport()
        hard, soft = (
            united(of_records(self.at.labelled(home, split, tally), "query_id", "cand_id", "score"), tally)
            for split in ("test_hard", "test_soft")
        )
        written = {as_id(row.get("r_id")): list(map(as_id, row["papers"])) for row in self._reviewers(home)}
        ratings = _ratings(hard, soft)
        wanted = {query for query, _ in ratings} | {name for names in written.values() for name in names}
        shelf = self.at.papers(home, wanted, tally)
        for name in sorted(wanted - set(shelf.ids)):
            tally.add("submission or reviewer's paper without a record, left out", name)
        profiles = {r: [shelf.row(name) for name in names if name in shelf] for r, names in written.items()}
        order = {reviewer: number for number, reviewer in enumerate(r for r in profiles if profiles[r])}
        pairs = {}
        for (query, reviewer), rating in ratings.items():
            if query in shelf and reviewer in order:
                pairs[shelf.row(query), order[reviewer]] = rating
            else:
                tally.add("rated pair without submission or reviewer, left out", f"{query} {reviewer}")
        return Reviewers(
            paper_ids=shelf.ids,
            papers=shelf.items,
            reviewer_ids=list(order),
            profiles=[np.array(profiles[reviewer], np.int64) for reviewer in order],
            pairs=np.array(list(pairs), np.int64).reshape(-1, 2),
            ratings=np.array(list(pairs.values()), np.float64),
            tally=tally,
        )

    def _reviewers(self, home: DataRoot) -> Iterator[dict[str, Any]]:
        # Outside of the hub the reviewers lie beside the judgements: `reviewer_metadata.jsonl`.
        beside = home.nearby(self.at.labels_repo, self.at.labels, split="metadata")
        config = self.at.labels if beside else self.reviewers
        return home.rows(self.at.labels_repo, config, split="metadata", revision=self.at.labels_revision)


def classes_of(label: Any, name: str) -> tuple[str, ...]:
    """Return the classes of a 0/1 vector, as the numbers of its columns; a CSV holds it as a text."""
    if isinstance(label, str):
        try:
            label = json.loads(label)
        except ValueError:
            label = None
    if not isinstance(label, Sequence) or not set(label) <= {0, 1}:
        raise InputError(f"paper {name}: the label is no vector of 0 and 1: {label!r:.80}")
    return tuple(str(column) for column, flag in enumerate(label) if flag)


def _known(name: str, shelf: ItemTable, tally: DropReport) -> bool:
    if name not in shelf:
        tally.add(UNLABELLED, name)
    return name in shelf


def _share(qrels: Qrels, queries: ItemTable, candidates: ItemTable) -> None:
    """Let papers that stand in the records on one side only serve on the other too (one set of ids)."""
    for query, mine in qrels.items():
        if query not in queries and query in candidates:
            queries.put(query, candidates.items[candidates.row(query)])
        for name in mine:
            if name not in candidates and name in queries:
                item = queries.items[queries.row(name)]
                if isinstance(item, Paper):
                    candidates.put(name, item)


def _ratings(hard: Qrels, soft: Qrels) -> dict[tuple[str, str], float]:
    graded = any(grade > 1 for part in (hard, soft) for mine in part.values() for grade in mine.values())
    ratings: dict[tuple[str, str], float] = {}
    for part, rating in ((soft, 2), (hard, 3)):
        for query, mine in part.items():
            for reviewer, grade in mine.items():
                found = grade if graded else rating * (grade > 0)
                ratings[query, reviewer] = max(ratings.get((query, reviewer), 0), found)
    return ratings
