"""Layouts of custom tasks: each builds the input of a protocol from user files.

`data` is a folder with files found by their stems (`papers`, `queries`, `qrels`, `labels`, `reviewers`, `ratings`,
with any ending); each file may also be given by itself. Papers may have any format that `sciprism inspect` reads.
Fine-tuning tasks have a folder with files of train, test and optionally dev. Paths are absolute: the caller
resolves them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from sciprism.datasets.data_root import DataRoot, find_file
from sciprism.datasets.inputs import (
    LabelInput,
    MatchInput,
    PairInput,
    ProbeInput,
    RerankInput,
    RetrievalInput,
    SpanInput,
    TaggingInput,
)
from sciprism.datasets.layouts import beir
from sciprism.datasets.layouts.beir import Judgement, Qrels
from sciprism.datasets.layouts.item_tables import (
    ItemTable,
    TableRow,
    check_references,
    clean_text,
    find_files,
    find_papers,
    find_table,
    is_table,
    parse_number,
    read_item_table,
    read_rows,
    require_file,
)
from sciprism.datasets.layouts.texts import PART_NAMES, LabelledTexts, PartFiles, SquadFiles
from sciprism.datasets.layouts.words import WordTags
from sciprism.datasets.open_data import PARTS
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.formats import Role
from sciprism.papers import read_labels
from sciprism.papers.records import Label
from sciprism.seeding import random_fraction

ID_COLUMNS = ("id", "_id", "paper_id")
TEST_SHARE = 0.3  # share of each class that is test, where the data have no split

Targets = Mapping[str, str] | Mapping[str, tuple[str, ...]] | Mapping[str, float]


class _LabelledRow(NamedTuple):
    """A row of a table; part: "" where the table has no split."""

    row: TableRow
    part: str
    group: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledTable:
    """Read papers with a class, several classes or a number each.

    data: a table (CSV, TSV, JSON lines) of id, title, abstract and `label`, or a folder with `train`, `dev`
    and `test` tables, or with one named `labels` or `papers`. papers: files of any known format with the
    texts, if the table has none. label: the column to predict; a list, or a text with ";", is several
    classes. target: "class" or "number". positive: the positive class of two. group: the column that divides
    the papers into separate problems.

    A column `split` says train, dev or test. Without one, `TEST_SHARE` of each class is test, sampled by a
    hash of the ids; papers with several classes or with numbers are sampled as one class.
    allow_missing: score although many labelled papers have no text in `papers` (`references`).
    """

    data: str
    papers: tuple[str, ...] = ()
    label: str = "label"
    target: Literal["class", "number"] = "class"
    positive: str = ""
    group: str = ""
    allow_missing: bool = False

    def read(self, data_root: DataRoot) -> ProbeInput:  # noqa: ARG002 (the signature of layouts)
        """Return the papers that have a label. Raises InputError where train or test would be empty."""
        dropped = DropReport(keep_all=True)
        data = Path(self.data)
        tables = [("", data)]  # the part, "" where each row has its own, and the path
        if data.is_dir():
            tables = [(part, path) for name, part in PART_NAMES.items() for path in find_files(data, name)]
            tables = tables or [("", require_file(data, "labels", "papers"))]
        labelled = self._read_labels(tables, dropped)
        table = read_item_table(self.papers or [path for _, path in tables], dropped)
        unknown = [name for name in labelled if name not in table]
        check_references("labelled papers", unknown, len(labelled), table.ids, self.allow_missing)
        dropped.add_all("label of an unknown paper", unknown)
        labelled = {name: row for name, row in labelled.items() if name in table}
        targets = self._targets(labelled)
        parts = self._parts(labelled, targets, dropped)
        _check_classes(parts, targets, self, dropped)
        rows = {part: np.flatnonzero([parts[name] == part for name in labelled]) for part in PARTS}
        return ProbeInput(
            ids=list(labelled),
            items=[table.items[table.row(name)] for name in labelled],
            targets=list(targets.values()),  # type: ignore[arg-type]  # all of one type
            **rows,
            groups=[row.group for row in labelled.values()] if self.group else None,
            positive=self.positive,
            dropped=dropped,
        )

    def _read_labels(self, tables: Sequence[tuple[str, Path]], dropped: DropReport) -> dict[str, _LabelledRow]:
        labelled: dict[str, _LabelledRow] = {}
        for part, path in tables:
            for row in read_rows(path):
                name = row.id(*ID_COLUMNS)
                if not row.has(self.label):
                    row.need(self.label)  # raises an error that lists the columns
                if row.get(self.label) is None:
                    dropped.add(f"no {self.label}", name)
                    continue
                new = _LabelledRow(row, part or parse_part(row), row.id(self.group) if self.group else "")
                old = labelled.setdefault(name, new)
                if old.row.get(self.label) != row.get(self.label) or old.part != new.part:
                    raise row.error(f"paper {name} occurs again with another {self.label} or split")
                if old is not new:
                    dropped.add("duplicate label of a paper", name)
        return labelled

    def _targets(self, labelled: Mapping[str, _LabelledRow]) -> Targets:
        if self.target == "number":
            return {name: row.row.number(self.label) for name, row in labelled.items()}
        lists = {name: row.row.several(self.label) for name, row in labelled.items()}
        values = [row.row.get(self.label) for row in labelled.values()]
        if any(isinstance(value, list) for value in values) or any(len(row) > 1 for row in lists.values()):
            return lists
        return {name: row.row.id(self.label) for name, row in labelled.items()}

    def _parts(self, labelled: Mapping[str, _LabelledRow], targets: Targets, dropped: DropReport) -> dict[str, str]:
        if any(row.part for row in labelled.values()):
            missing = next((row for row in labelled.values() if not row.part), None)
            if missing is not None:
                raise missing.row.error("no split, but other rows have one")
            return {name: row.part for name, row in labelled.items()}
        classes = {name: target if isinstance(target, str) else "" for name, target in targets.items()}
        parts = split_by_hash(classes)
        for name, part in parts.items():
            if part == "test":
                dropped.add(f"no split: {TEST_SHARE:.0%} of a class sampled as test by a hash of the id", name)
        return parts


def split_by_hash(classes: Mapping[str, str], seed: int = 0) -> dict[str, str]:
    """Return id -> "train" or "test", given id -> class: in each class, the ids with lowest hash are test.

    The order of the rows does not matter. A class of two papers or more has at least one in each part; a
    class of one is train.
    """
    by_class: defaultdict[str, list[str]] = defaultdict(list)
    for name in classes:
        by_class[classes[name]].append(name)
    test: set[str] = set()
    for names in by_class.values():
        size = min(max(round(TEST_SHARE * len(names)), 1), len(names) - 1)
        test.update(sorted(names, key=lambda name: (random_fraction(seed, name), name))[:size])
    return {name: "test" if name in test else "train" for name in classes}


def parse_part(row: TableRow) -> str:
    """Return the part in a row's column `split`, "" where it is empty. Raises InputError for another name."""
    value = row.get("split")
    if value is None:
        return ""
    if part := PART_NAMES.get(str(value).strip().lower()):
        return part
    raise row.error(f"unknown split {value!r}; known: {', '.join(PART_NAMES)}")


def _check_classes(parts: Mapping[str, str], targets: Targets, table: LabelledTable, dropped: DropReport) -> None:
    """Raise InputError where train or test cannot be used; count the classes that are in one of them only."""
    for part in ("train", "test"):
        if part not in parts.values():
            raise InputError(f"{table.data}: no {part} paper with a {table.label}")
    if table.target == "number":
        return
    classes: dict[str, set[str]] = defaultdict(set)
    for name, target in targets.items():
        classes[parts[name]].update(target if isinstance(target, tuple) else (str(target),))
    train, test = classes["train"], classes["test"]
    if len(train) < 2:
        raise InputError(
            f"{table.data}: the training papers have one class ({', '.join(train) or 'none'}); two are needed"
        )
    if table.positive and table.positive not in train:
        known = ", ".join(sorted(train))
        raise InputError(f"{table.data}: no training paper has the positive class {table.positive!r}; known: {known}")
    for label in sorted(test - train):
        dropped.add("class of test papers without a training paper", label)
    for label in sorted(train - test):
        dropped.add("class of training papers without a test paper", label)


REVIEWER = ("reviewer_id", "reviewer")


@dataclass(frozen=True, slots=True, kw_only=True)
class _GradedFiles:
    """Files of papers, queries and relevance judgements.

    data: a folder in BEIR's layout (`corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv`), or one with
    `papers`, `queries` and `qrels`. Without queries, papers are the queries: find related ones. split: names
    of files in `qrels`, merged; by default "test" if it exists, else all. allow_missing: score although many
    relevant papers are absent (`references`); each counts as not found.
    """

    data: str = ""
    papers: tuple[str, ...] = ()
    queries: str = ""
    qrels: str = ""
    split: tuple[str, ...] = ()
    allow_missing: bool = False

    def _read_queries(self, data_root: DataRoot, dropped: DropReport) -> tuple[Qrels, ItemTable, ItemTable, Role]:
        """Return judgements, queries, documents and the role of queries; callers count the unknown ids."""
        data = Path(self.data) if self.data else None
        if data is not None and not data.is_dir():
            raise InputError(f"{data} is not a folder; set papers, queries and qrels to files, or data to their folder")
        files, complete = self._find_qrels(data)
        rows = (row for file in files for row in _read_file_judgements(data_root, file))
        qrels = beir.merge_judgements(rows, dropped)
        corpus = find_file(data, "corpus.jsonl") if data is not None and not self.papers else None
        papers = [str(corpus)] if corpus else find_papers(self.data, self.papers)
        queries = documents = read_item_table(papers, dropped)
        query_ids = documents.ids
        path = self.queries or (next(map(str, find_files(data, "queries")), "") if data else "")
        if path:
            queries, query_ids = _read_queries(Path(path), qrels, dropped, complete)
        if not qrels:
            raise InputError(f"{', '.join(map(str, files))}: no relevance judgement")
        role = "queries" if path else "papers as queries"
        absent = [query for query in qrels if query not in queries]
        check_references(f"graded {role}", absent, len(qrels), query_ids, self.allow_missing)
        relevant = [name for q in qrels if q in queries for name, grade in qrels[q].items() if grade > 0]
        missing = [name for name in relevant if name not in documents]
        check_references("relevant papers", missing, len(relevant), documents.ids, self.allow_missing)
        return qrels, queries, documents, "query" if path else "paper"

    def _find_qrels(self, data: Path | None) -> tuple[list[Path], bool]:
        """Return the files of judgements, and whether they are all judgements, not selected splits."""
        path = Path(self.qrels) if self.qrels else None
        if path is None and data is not None:
            path = data / "qrels" if (data / "qrels").is_dir() else require_file(data, "qrels")
        if path is None:
            raise InputError("no judgements: set qrels to their file, or data to the folder of all files")
        if path.is_dir():
            selected = [require_file(path, split) for split in self.split] or find_files(path, "test")
            return selected or sorted(path.iterdir()), not selected
        if self.split:
            raise InputError(f"{path} is a file; split {', '.join(self.split)} needs a folder of qrels")
        return [path], True


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomPools(_GradedFiles):
    """Read queries, each with its graded papers."""

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return each query with its graded papers."""
        dropped = DropReport(keep_all=True)
        pools = beir.build_rerank_input(*self._read_queries(data_root, dropped), dropped)
        for query, grades in zip(pools.query_ids, pools.grades, strict=True):
            if len(grades) and not (grades > 0).any():
                dropped.add("query without a relevant paper", query)
        return pools


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomCorpus(_GradedFiles):
    """Read papers to search, queries and relevance judgements.

    without_itself: remove a query from its own ranking; the default where papers are the queries.
    """

    without_itself: bool | None = None

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the graded queries over all papers."""
        dropped = DropReport(keep_all=True)
        qrels, queries, documents, role = self._read_queries(data_root, dropped)
        without_itself = role == "paper" if self.without_itself is None else self.without_itself
        return beir.build_retrieval_input(
            qrels, queries, documents, role=role, without_itself=without_itself, dropped=dropped
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomLabels:
    """Read papers with labels of a vocabulary.

    data: a folder with `papers` and optionally `labels`, or the file of papers. labels: the vocabulary, in
    any label format; without one, all labels of the papers. label: the column with a paper's labels (ids,
    names or synonyms), several as a list or separated by ";"; of files that are not tables, "keywords" or
    "fields".
    """

    data: str = ""
    papers: tuple[str, ...] = ()
    labels: str = ""
    label: str = "labels"

    def read(self, data_root: DataRoot) -> LabelInput:  # noqa: ARG002 (the signature of layouts)
        """Return the papers and the vocabulary; labels outside of it are counted."""
        dropped = DropReport(keep_all=True)
        data, papers, vocabulary = Path(self.data), self.papers or (self.data,), self.labels
        if data.is_dir():
            papers = self.papers or (str(require_file(data, "papers")),)
            vocabulary = self.labels or next(map(str, find_files(data, "labels")), "")
        table = read_item_table(papers, dropped)
        carried = self._read_labels(papers, table)
        if vocabulary:
            labels = list({label.id: label for label in read_labels(vocabulary)}.values())
        else:
            spellings = {name.casefold(): name for own_names in carried.values() for name in own_names}
            labels = [Label(id=name, name=name) for _, name in sorted(spellings.items())]
        rows: dict[str, int] = {}  # by lower-case id, name, synonym: of equal ones the first of these counts
        for names_of in (lambda label: (label.id,), lambda label: (label.name,), lambda label: label.synonyms):
            for row, label in enumerate(labels):
                for name in names_of(label):
                    rows.setdefault(name.casefold(), row)
        names = [carried.get(paper, ()) for paper in table.ids]
        for name in (name for own_names in names for name in own_names if name.casefold() not in rows):
            dropped.add("label outside the vocabulary", name)
        gold = [{rows[name.casefold()] for name in own_names if name.casefold() in rows} for own_names in names]
        return LabelInput(
            paper_ids=table.ids,
            papers=table.items,
            labels=labels,
            gold=[np.array(sorted(own_names), np.int64) for own_names in gold],
            dropped=dropped,
        )

    def _read_labels(self, files: Sequence[str], table: ItemTable) -> dict[str, tuple[str, ...]]:
        """Read paper id -> its labels, from a column of tables or from the papers' keywords or fields."""
        if all(map(is_table, files)):
            rows = [row for path in files for row in read_rows(Path(path))]
            if not any(row.has(self.label) for row in rows):
                rows[0].need(self.label)  # raises an error that lists the columns
            return {row.id(*ID_COLUMNS): row.several(self.label) for row in rows}
        if self.label not in ("keywords", "fields"):
            wrong = f"{files[0]} is not a table with a column {self.label!r}"
            raise InputError(f'{wrong}; set label = "keywords" or "fields"')
        return {name: getattr(paper, self.label) for name, paper in zip(table.ids, table.items, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomReviewers:
    """Read papers, reviewers with the papers that they wrote, and ratings of how well some pairs fit.

    data: a folder with `papers`, `reviewers` (reviewer_id, and `papers`: ids as a list or separated by ";")
    and `ratings` (paper_id, reviewer_id, rating). `papers` has submissions and reviewers' papers alike.
    allow_missing: score although many papers or reviewers are absent (`references`).
    """

    data: str = ""
    papers: tuple[str, ...] = ()
    reviewers: str = ""
    ratings: str = ""
    allow_missing: bool = False

    def read(self, data_root: DataRoot) -> MatchInput:  # noqa: ARG002 (the signature of layouts)
        """Return papers, reviewers and ratings; unknown ids are counted."""
        dropped = DropReport(keep_all=True)
        table = read_item_table(find_papers(self.data, self.papers), dropped)
        people = self._read_reviewers(table, dropped)
        pairs: dict[tuple[str, str], float] = {}
        unknown, rated = list[str](), 0
        for row in read_rows(find_table(self.data, self.ratings, "ratings")):
            paper, name = row.id("paper_id", "paper"), row.id(*REVIEWER)
            rating = row.number("rating", "score", "expertise")
            rated += 1
            if paper not in table or name not in people:
                unknown.append(f"{paper} {name}")
            elif pairs.setdefault((paper, name), rating) != rating:
                raise row.error(f"reviewer {name} and paper {paper} are rated twice, differently")
        dropped.add_all("rating of an unknown paper or reviewer", unknown)
        examples = (f"{table.ids[0]} {name}" for name in people)
        check_references("rated pairs of a paper and a reviewer", unknown, rated, examples, self.allow_missing)
        papers = dict(zip(table.ids, table.items, strict=True))
        return MatchInput.build(papers, people, ((*pair, rating) for pair, rating in pairs.items()), dropped)

    def _read_reviewers(self, table: ItemTable, dropped: DropReport) -> dict[str, list[str]]:
        people: dict[str, list[str]] = {}
        unknown, papers = list[str](), 0
        for row in read_rows(find_table(self.data, self.reviewers, "reviewers")):
            name = row.id(*REVIEWER, "id")
            if name in people:
                raise row.error(f"duplicate reviewer {name}")
            wrote = row.several("papers", "paper_ids")
            papers += len(wrote)
            unknown += [f"{name}: {paper}" for paper in wrote if paper not in table]
            people[name] = [paper for paper in wrote if paper in table]
        dropped.add_all("unknown paper of a reviewer", unknown)
        check_references("papers of reviewers", unknown, papers, table.ids, self.allow_missing)
        return people


def _read_file_judgements(data_root: DataRoot, path: Path) -> Iterable[Judgement]:
    if path.name.lower().removesuffix(".gz").endswith((".csv", ".jsonl", ".ndjson", ".json")):
        for row in read_rows(path):
            query = row.id("query_id", "query", "qid")
            document = row.id("paper_id", "document_id", "corpus_id", "doc_id", "candidate_id")
            grade = row.get("grade", "score", "relevance")
            yield query, document, 1 if grade is None else parse_number(grade, f"query {query}")
    else:
        yield from beir.read_judgements(data_root, path)


def _read_queries(path: Path, qrels: Qrels, dropped: DropReport, complete: bool) -> tuple[ItemTable, list[str]]:
    """Return the graded queries, and the ids of all; those without judgements are counted (complete)."""
    table = ItemTable(dropped)
    ids: list[str] = []
    for row in read_rows(path):
        ids.append(row.id("id", "_id", "query_id", "qid"))
        if ids[-1] in qrels:
            table.add(ids[-1], clean_text(row.need("text", "query")))
        elif complete:
            dropped.add("query without judgements", ids[-1])
    return table, ids


DEV_SHARE = 0.1  # share of train that becomes dev where the folder has no dev file


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomWords:
    """Tagged words: .tsv or .txt with a word and its tag a line, or JSON lines of `tokens` and `tags`."""

    data: str
    only: str = ""
    merged: bool = False

    def read(self, data_root: DataRoot) -> TaggingInput:
        """Return the sentences."""
        files = PartFiles(folders=(self.data,))
        return WordTags(files=files, only=self.only, merged=self.merged, dev_share=DEV_SHARE).read(data_root)


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomTexts:
    """JSON lines of `text`, or of `sentence1` and `sentence2`, and `label`: a class or a number."""

    data: str
    pairs: bool = False
    target: Literal["class", "number"] = "class"

    def read(self, data_root: DataRoot) -> PairInput:
        """Return the texts."""
        files = PartFiles(folders=(self.data,))
        return LabelledTexts(files=files, pairs=self.pairs, target=self.target, dev_share=DEV_SHARE).read(data_root)


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomQuestions:
    """Questions and their contexts in SQuAD's JSON."""

    data: str

    def read(self, data_root: DataRoot) -> SpanInput:
        """Return the questions."""
        return SquadFiles(files=PartFiles(folders=(self.data,)), dev_share=DEV_SHARE).read(data_root)
