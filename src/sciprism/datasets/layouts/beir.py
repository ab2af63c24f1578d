"""BEIR's layout: a corpus, queries and judgements, as files in a folder or as data sets of the hub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Corpus
from sciprism.datasets.layouts.item_tables import ItemTable, record_id, text_of
from sciprism.datasets.layouts.judgements import Judgement, corpus, of_file, of_records, united
from sciprism.datasets.rows import TextIds
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.formats import Role
from sciprism.papers.records import Paper

ZIPS = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets"

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class BeirFolder:
    """A folder with `corpus.jsonl`, `queries.jsonl` and `qrels/<split>.tsv`, each perhaps gzipped.

    path: below the home of data. splits: several are merged, the first judgement of a pair counts.
    without_itself: a document whose id equals the query's is taken out of that query's ranking (BEIR does so
    always; wrong where ids coincide by accident).
    """

    path: str
    splits: tuple[str, ...] = ("test",)
    without_itself: bool = False
    obtain: str = ""

    def read(self, home: DataRoot) -> Corpus:
        """Return the judged queries over all documents."""
        folder = home.local(self.path, self.obtain)
        return read_folder(home, folder, self.splits, without_itself=self.without_itself)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeirSet:
    """A data set of BEIR: an unpacked zip (`beir/<name>` or `<name>`) or `<owner>/<name>` on the hub.

    On the hub the corpus and the queries are configs of one data set, the judgements a data set of their own
    named `<name>-qrels`. The zip's `dev` is called `validation` there.
    """

    name: str
    splits: tuple[str, ...] = ("test",)
    without_itself: bool = True
    owner: str = "BeIR"
    revision: str = ""
    qrels_revision: str = ""

    def read(self, home: DataRoot) -> Corpus:
        """Return the judged queries over all documents."""
        for place in (f"beir/{self.name}", self.name) if home.folder else ():
            folder = home.folder / place if home.folder else Path(place)
            if find(folder, "corpus.jsonl"):
                return read_folder(home, folder, self.splits, without_itself=self.without_itself)
        tally = DropReport()
        repo = f"{self.owner}/{self.name}"
        judgements: list[Judgement] = []
        for split in self.splits:
            rows = home.rows(
                f"{repo}-qrels",
                "default",
                split=split,
                revision=self.qrels_revision,
                tally=tally,
            )
            judgements += of_records(rows, "query-id", "corpus-id", "score")
        queries, documents = (
            home.rows(repo, part, split=part, revision=self.revision, tally=tally)
            for part in ("queries", "corpus")
        )
        return build(judgements, queries, documents, without_itself=self.without_itself, tally=tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class BeirFiles:
    """A hub data set that holds BEIR's files by path, or a local copy of it.

    Each path may be followed by other names of the same file, older ones. query: "paper" where the queries
    are texts of the documents' kind (patients like a patient).
    """

    repo: str
    qrels: tuple[str, ...] = ("qrels/test.tsv",)
    corpus: tuple[str, ...] = ("corpus.jsonl",)
    queries: tuple[str, ...] = ("queries.jsonl",)
    query: Role = "query"
    without_itself: bool = False
    revision: str = ""

    def read(self, home: DataRoot) -> Corpus:
        """Return the judged queries over all documents."""
        tally = DropReport()
        judgements, queries, documents = (
            home.file(self.repo, names[0], revision=self.revision, names=names[1:])
            for names in (self.qrels, self.queries, self.corpus)
        )
        found = build(
            of_file(home, judgements),
            texts(home, queries, tally),
            texts(home, documents, tally),
            without_itself=self.without_itself,
            tally=tally,
        )
        return replace(found, query_role=self.query)


def read_folder(home: DataRoot, folder: Path, splits: Iterable[str], *, without_itself: bool) -> Corpus:
    """Return the input made of a folder in BEIR's layout. Raises InputError naming a file that is missing."""
    tally = DropReport()
    parts = [needed(folder / "qrels", f"{split}.tsv") for split in splits]
    judgements = [row for path in parts for row in of_file(home, path)]
    queries, documents = needed(folder, "queries.jsonl"), needed(folder, "corpus.jsonl")
    return build(
        judgements,
        texts(home, queries, tally),
        texts(home, documents, tally),
        without_itself=without_itself,
        tally=tally,
    )


def build(
    judgements: Iterable[Judgement],
    queries: Iterable[Record],
    documents: Iterable[Record],
    *,
    without_itself: bool,
    tally: DropReport,
) -> Corpus:
    """Return the judged queries over all documents; a query that nobody judged is left out silently."""
    qrels = united(judgements, tally)
    asked, found = ItemTable(tally), ItemTable(tally)
    for record in queries:
        name = record_id(record, "_id")
        if name in qrels:
            asked.put(name, text_of(record.get("text")))
    for record in documents:
        name = record_id(record, "_id")
        found.put(
            name, Paper(id=name, title=text_of(record.get("title")), abstract=text_of(record.get("text")))
        )
    return corpus(qrels, asked, found, role="query", without_itself=without_itself, tally=tally)


def texts(home: DataRoot, path: Path, tally: DropReport) -> Iterator[dict[str, Any]]:
    """Yield the records of a corpus or of queries, ids as text."""
    ids = TextIds(tally)
    for record in home.records(path):
        yield ids.row(record)


def find(folder: Path, name: str) -> Path | None:
    """Return a file of a folder, plain or gzipped, or None."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def needed(folder: Path, name: str) -> Path:
    """Return a file of a folder, plain or gzipped. Raises InputError naming those that are there."""
    path = find(folder, name)
    if path is None:
        there = sorted(item.name for item in folder.iterdir()) if folder.is_dir() else []
        raise InputError(f"{folder} holds no {name}; it holds {', '.join(there) or 'nothing'}")
    return path
