"""BEIR's layout: corpus, queries and qrels, as files in a folder or as data sets of the hub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import RetrievalInput
from sciprism.datasets.layouts.item_tables import ItemTable, clean_text, get_record_id
from sciprism.datasets.layouts.judgements import (
    Judgement,
    build_retrieval_input,
    merge_judgements,
    parse_judgements,
    read_judgements,
)
from sciprism.datasets.rows import IdConverter
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.formats import Role
from sciprism.papers.records import Paper


@dataclass(frozen=True, slots=True, kw_only=True)
class BeirSet:
    """A data set of BEIR: an unpacked zip (`beir/<name>` or `<name>`) or `<owner>/<name>` on the hub.

    splits: several are merged; the first judgement of a pair is used. without_itself: remove a document whose id
    equals the query's from that query's ranking (BEIR always does; wrong where ids coincide by accident).
    On the hub, corpus and queries are configs of one data set; the judgements are the data set
    `<name>-qrels`. The zip's `dev` is called `validation` there.
    """

    name: str
    splits: tuple[str, ...] = ("test",)
    without_itself: bool = True
    owner: str = "BeIR"
    revision: str = ""
    qrels_revision: str = ""

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the graded queries over all documents."""
        for folder in (data_root.folder / "beir" / self.name, data_root.folder / self.name) if data_root.folder else ():
            if find_file(folder, "corpus.jsonl"):
                return self._read_folder(data_root, folder)
        dropped = DropReport()
        repo = f"{self.owner}/{self.name}"
        judgements: list[Judgement] = []
        for split in self.splits:
            rows = data_root.rows(
                f"{repo}-qrels", "default", split=split, revision=self.qrels_revision, dropped=dropped
            )
            judgements += parse_judgements(rows, "query-id", "corpus-id", "score")
        queries, documents = (
            data_root.rows(repo, part, split=part, revision=self.revision, dropped=dropped)
            for part in ("queries", "corpus")
        )
        return build_input(judgements, queries, documents, without_itself=self.without_itself, dropped=dropped)

    def _read_folder(self, data_root: DataRoot, folder: Path) -> RetrievalInput:
        """Return the input from an unpacked zip. Raises InputError that names a missing file."""
        dropped = DropReport()
        parts = [require_file(folder / "qrels", f"{split}.tsv") for split in self.splits]
        return build_input(
            [row for path in parts for row in read_judgements(data_root, path)],
            read_texts(data_root, require_file(folder, "queries.jsonl"), dropped),
            read_texts(data_root, require_file(folder, "corpus.jsonl"), dropped),
            without_itself=self.without_itself,
            dropped=dropped,
        )


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
    revision: str = ""

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the graded queries over all documents."""
        dropped = DropReport()
        judgements, queries, documents = (
            data_root.file(self.repo, names[0], revision=self.revision, names=names[1:])
            for names in (self.qrels, self.queries, self.corpus)
        )
        return build_input(
            read_judgements(data_root, judgements),
            read_texts(data_root, queries, dropped),
            read_texts(data_root, documents, dropped),
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


def read_texts(data_root: DataRoot, path: Path, dropped: DropReport) -> Iterator[dict[str, Any]]:
    """Yield the records of a corpus or of queries, ids as text."""
    ids = IdConverter(dropped)
    for record in data_root.records(path):
        yield ids.row(record)


def find_file(folder: Path, *names: str) -> Path | None:
    """Return the first of these files that a folder has, plain or gzipped, or None."""
    paths = (folder / f"{name}{end}" for name in names for end in ("", ".gz"))
    return next((path for path in paths if path.is_file()), None)


def require_file(folder: Path, name: str) -> Path:
    """Return a file of a folder, plain or gzipped. Raises InputError that lists the folder's files."""
    path = find_file(folder, name)
    if path is None:
        present = sorted(item.name for item in folder.iterdir()) if folder.is_dir() else []
        raise InputError(f"{folder} has no {name}; it contains {', '.join(present) or 'nothing'}")
    return path
