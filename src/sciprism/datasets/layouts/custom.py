"""Data of one's own for each protocol: what it needs, from the files that people have.

`data` is a folder in which the parts are found by their names (`papers`, `queries`, `qrels`, `labels`,
`reviewers`, `ratings`, `signatures`, with whatever ending); each part may also be named by itself. Papers
come in any format that `sciprism inspect` reads. Paths are absolute: whoever builds these has resolved them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Corpus, LabelSpace, Pools, Reviewers
from sciprism.datasets.layouts import beir, judgements
from sciprism.datasets.layouts.item_tables import ItemTable, grade_of, text_of
from sciprism.datasets.layouts.judgements import Judgement, Qrels
from sciprism.datasets.layouts.labelled import ID, PART_NAMES, drawn_parts
from sciprism.datasets.layouts.tables import TableRow, find, is_table, needed, read_rows, read_shelf
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.formats import Role
from sciprism.papers import read_labels
from sciprism.papers.records import Label, Paper
from sciprism.papers.signatures import Signature, Signatures

QUERY = ("query_id", "query", "qid")
DOCUMENT = ("paper_id", "document_id", "corpus_id", "doc_id", "candidate_id")
GRADE = ("grade", "score", "relevance")
REVIEWER = ("reviewer_id", "reviewer")
RATING = ("rating", "score", "expertise")


class _Search(NamedTuple):
    """Judgements, and the shelves that they speak of."""

    qrels: Qrels
    queries: ItemTable
    documents: ItemTable
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCorpus:
    """Read papers to search, queries, and which papers are relevant to which query.

    data: a folder in BEIR's layout (`corpus.jsonl`, `queries.jsonl`, `qrels/<split>.tsv`), or one with
    `papers`, `queries` and `qrels`. Without queries papers are the queries: find related ones. split: names
    of files in `qrels`, merged; "test" if there is one, else all. without_itself: leave a query out of its
    own ranking; so by default where papers are the queries.
    """

    data: str = ""
    papers: tuple[str, ...] = ()
    queries: str = ""
    qrels: str = ""
    split: tuple[str, ...] = ()
    without_itself: bool | None = None

    def read(self, home: DataRoot) -> Corpus:
        """Return the judged queries over all papers."""
        tally = DropReport()
        found = _search(home, self, tally)
        own = found.role == "paper" if self.without_itself is None else self.without_itself
        return judgements.corpus(
            found.qrels, found.queries, found.documents, role=found.role, without_itself=own, tally=tally
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPools:
    """Read queries, each with papers that someone graded for it; files and settings as in `OwnCorpus`."""

    data: str = ""
    papers: tuple[str, ...] = ()
    queries: str = ""
    qrels: str = ""
    split: tuple[str, ...] = ()

    def read(self, home: DataRoot) -> Pools:
        """Return each query with its judged papers."""
        tally = DropReport()
        found = _search(home, self, tally)
        pools = judgements.pools(found.qrels, found.queries, found.documents, found.role, tally)
        for query, grades in zip(pools.query_ids, pools.grades, strict=True):
            if len(grades) and not (grades > 0).any():
                tally.add("query without a relevant paper", query)
        return pools


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnLabels:
    """Read papers with labels of a vocabulary.

    data: a folder with `papers` and perhaps `labels`, or the file of papers. labels: the vocabulary, in any
    format that holds labels; without one it is what the papers carry. label: the column with a paper's labels
    (ids, names or synonyms), several as a list or divided by ";"; of files that are no tables, keywords or
    fields.
    """

    data: str = ""
    papers: tuple[str, ...] = ()
    labels: str = ""
    label: str = "labels"

    def read(self, home: DataRoot) -> LabelSpace:  # noqa: ARG002 (the layouts' signature)
        """Return the papers and the vocabulary; a label that is not in it is counted."""
        tally = DropReport()
        papers, vocabulary = self._files()
        shelf = read_shelf(papers, tally)
        carried = self._carried(papers, shelf, tally)
        labels = _vocabulary(vocabulary, carried)
        rows = _rows_by_name(labels)
        gold: list[Rows] = []
        for name in shelf.ids:
            known = [rows.get(label.casefold()) for label in carried.get(name, ())]
            gold.append(np.array(sorted({row for row in known if row is not None}), np.int64))
            for label in carried.get(name, ()):
                if label.casefold() not in rows:
                    tally.add("label that is not in the vocabulary", label)
        return LabelSpace(paper_ids=shelf.ids, papers=shelf.items, labels=labels, gold=gold, tally=tally)

    def _files(self) -> tuple[list[str], str]:
        data = Path(self.data)
        if not data.is_dir():
            return [*(self.papers or [self.data])], self.labels
        vocabulary = find(data, "labels")
        return (
            [*(self.papers or [str(needed(data, "papers"))])],
            self.labels or (str(vocabulary[0]) if vocabulary else ""),
        )

    def _carried(
        self, files: Sequence[str], shelf: ItemTable, tally: DropReport
    ) -> dict[str, tuple[str, ...]]:
        """Return paper id -> its labels as the files write them."""
        if all(map(is_table, files)):
            rows = [row for path in files for row in read_rows(Path(path), tally)]
            if not any(row.has(self.label) for row in rows):
                rows[0].need(self.label)  # which says what columns there are
            return {row.id(*ID): row.several(self.label) for row in rows}
        if self.label not in ("keywords", "fields"):
            raise InputError(
                f'{files[0]} is no table with a column {self.label!r}; take label = "keywords" or "fields"'
            )
        return {name: getattr(paper, self.label) for name, paper in zip(shelf.ids, shelf.items, strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnReviewers:
    """Read papers, reviewers with the papers that they wrote, and ratings of how well some pairs fit.

    data: a folder with `papers`, `reviewers` (reviewer_id, and `papers`: ids as a list or divided by ";") and
    `ratings` (paper_id, reviewer_id, rating). Papers of reviewers and submissions are one list.
    """

    data: str = ""
    papers: tuple[str, ...] = ()
    reviewers: str = ""
    ratings: str = ""

    def read(self, home: DataRoot) -> Reviewers:  # noqa: ARG002 (the layouts' signature)
        """Return all of it; ids that lead nowhere are counted."""
        tally = DropReport()
        shelf = read_shelf(_papers(self.data, self.papers), tally)
        people: dict[str, Rows] = {}
        for row in read_rows(_part(self.data, self.reviewers, "reviewers"), tally):
            name = row.id(*REVIEWER, "id")
            if name in people:
                raise row.error(f"reviewer {name} stands there twice")
            wrote = row.several("papers", "paper_ids")
            for paper in wrote:
                if paper not in shelf:
                    tally.add("paper of a reviewer that is not there", f"{name}: {paper}")
            people[name] = np.array([shelf.row(paper) for paper in wrote if paper in shelf], np.int64)
        numbers = {name: number for number, name in enumerate(people)}
        pairs: dict[tuple[int, int], float] = {}
        for row in read_rows(_part(self.data, self.ratings, "ratings"), tally):
            paper, name, rating = row.id("paper_id", "paper"), row.id(*REVIEWER), row.number(*RATING)
            if paper not in shelf or name not in numbers:
                tally.add("rating of a paper or reviewer that is not there", f"{paper} {name}")
            elif pairs.setdefault((shelf.row(paper), numbers[name]), rating) != rating:
                raise row.error(f"reviewer {name} and paper {paper} are rated twice, differently")
        if not pairs:
            raise InputError(f"{self.data or self.ratings}: no rating of a known paper and reviewer")
        return Reviewers(
            paper_ids=shelf.ids,
            papers=shelf.items,
            reviewer_ids=list(people),
            profiles=list(people.values()),
            pairs=np.array(list(pairs), np.int64),
            ratings=np.array(list(pairs.values())),
            tally=tally,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnMentions:
    """Read mentions of authors on papers, and who each of them is.

    data: a folder with `papers` and `signatures`: signature_id, paper_id, name, author_id, and perhaps block
    (else the first initial and the surname), position (of the author on the paper, from 0), affiliations,
    email and split. Without a split, blocks are drawn for test, dev and train by a hash of their names and
    `draw_seed`: `drawn_parts` for the test, and once more among the rest for dev.
    """

    data: str = ""
    papers: tuple[str, ...] = ()
    signatures: str = ""
    draw_seed: int = 0

    def read(self, home: DataRoot) -> Signatures:  # noqa: ARG002 (the layouts' signature)
        """Return the mentions and their papers; a mention without its paper is counted."""
        tally = DropReport()
        shelf = read_shelf(_papers(self.data, self.papers), tally)
        papers = [paper for paper in shelf.items if isinstance(paper, Paper)]
        found: dict[str, Signature] = {}
        said: dict[str, str] = {}
        for row in read_rows(_part(self.data, self.signatures, "signatures"), tally):
            if row.id("paper_id") not in shelf:
                tally.add("mention without its paper", row.id("signature_id", "id"))
                continue
            place = shelf.row(row.id("paper_id"))
            mention = _mention(row, place, papers[place])
            if mention.id in found:
                raise row.error(f"signature {mention.id} stands there twice")
            found[mention.id] = mention
            if said.setdefault(mention.block, part := _split(row)) != part:
                raise row.error(
                    f"block {mention.block!r} lies in two splits, {said[mention.block]!r} and {part!r}"
                )
        if not found:
            raise InputError(f"{self.data or self.signatures}: no mention whose paper is there")
        parts = said if any(said.values()) else self._drawn(list(said), tally)
        train, dev, test = (
            frozenset(block for block in parts if parts[block] == part) for part in ("train", "dev", "test")
        )
        return Signatures(
            papers=papers, signatures=list(found.values()), train=train, dev=dev, test=test, tally=tally
        )

    def _drawn(self, blocks: Sequence[str], tally: DropReport) -> dict[str, str]:
        tested = drawn_parts(dict.fromkeys(blocks, ""), self.draw_seed)
        rest = [block for block in blocks if tested[block] != "test"]
        inner = drawn_parts(dict.fromkeys(rest, ""), self.draw_seed + 1)
        parts = {
            b: "test" if tested[b] == "test" else "dev" if inner[b] == "test" else "train" for b in blocks
        }
        for block, part in parts.items():
            tally.add(f"no split given: {part} block drawn by a hash of its name", block)
        return parts


def _search(home: DataRoot, own: OwnCorpus | OwnPools, tally: DropReport) -> _Search:
    """Read papers, queries and judgements; an id that nobody has is counted by whoever uses them."""
    data = Path(own.data) if own.data else None
    if data is not None and not data.is_dir():
        raise InputError(
            f"{data} is no folder; name the files by papers, queries and qrels, or their folder by data"
        )
    files, whole = _qrels_files(own, data)
    qrels = judgements.united((row for file in files for row in _judgements(home, file)), tally)
    corpus = beir.find(data, "corpus.jsonl") if data is not None and not own.papers else None
    documents = read_shelf([str(corpus)] if corpus else _papers(own.data, own.papers), tally)
    path = own.queries or (next(map(str, find(data, "queries")), "") if data else "")
    queries, known = _queries(Path(path), qrels, tally, whole) if path else (documents, documents.ids)
    if not any(query in queries for query in qrels):
        raise InputError(
            f"no judged query is there: the first judged one is {next(iter(qrels), 'none')!r}, the first "
            f"{'query' if path else 'paper'} {known[0]!r}; ids must be the same texts"
        )
    return _Search(qrels, queries, documents, "query" if path else "paper")


def _qrels_files(own: OwnCorpus | OwnPools, data: Path | None) -> tuple[list[Path], bool]:
    """Return the files of judgements, and whether they are all there is, not splits of more."""
    path = Path(own.qrels) if own.qrels else None
    if path is None and data is not None:
        path = data / "qrels" if (data / "qrels").is_dir() else needed(data, "qrels")
    if path is None:
        raise InputError("no judgements: name their file by qrels, or the folder of all files by data")
    if path.is_dir():
        chosen = [needed(path, split) for split in own.split] or find(path, "test")
        return chosen or sorted(path.iterdir()), not chosen
    if own.split:
        raise InputError(f"{path} is one file; split {', '.join(own.split)} is for a folder of qrels")
    return [path], True


def _judgements(home: DataRoot, path: Path) -> Iterable[Judgement]:
    if path.name.lower().removesuffix(".gz").endswith((".csv", ".jsonl", ".ndjson", ".json")):
        for row in read_rows(path, DropReport()):
            query, document = row.id(*QUERY), row.id(*DOCUMENT)
            grade = row.get(*GRADE)
            yield query, document, 1 if grade is None else grade_of(grade, query)
    else:
        yield from judgements.of_file(home, path)


def _queries(path: Path, qrels: Qrels, tally: DropReport, whole: bool) -> tuple[ItemTable, list[str]]:
    """Return the judged queries, and the ids of all; others are counted unless another split judges them."""
    shelf = ItemTable(tally)
    known: list[str] = []
    for row in read_rows(path, tally):
        known.append(row.id("id", "_id", "query_id", "qid"))
        if known[-1] in qrels:
            shelf.put(known[-1], text_of(row.need("text", "query")))
        elif whole:
            tally.add("query without judgements", known[-1])
    return shelf, known


def _papers(data: str, papers: Sequence[str]) -> list[str]:
    if papers:
        return [*papers]
    if not data:
        raise InputError("no papers: name their files by papers, or the folder of all files by data")
    return [str(path) for path in find(Path(data), "papers")] or [str(needed(Path(data), "papers"))]


def _part(data: str, path: str, stem: str) -> Path:
    if path:
        return Path(path)
    if not data:
        raise InputError(f"no {stem}: name their file by {stem}, or the folder of all files by data")
    return needed(Path(data), stem)


def _vocabulary(path: str, carried: Mapping[str, Sequence[str]]) -> list[Label]:
    if path:
        return list({label.id: label for label in read_labels(path)}.values())
    names = {name.casefold(): name for labels in carried.values() for name in labels}
    return [Label(id=name, name=name) for _, name in sorted(names.items())]


def _rows_by_name(labels: Sequence[Label]) -> dict[str, int]:
    """Return id, name or synonym without case -> row; an id goes before a name, a name before a synonym."""
    rows: dict[str, int] = {}
    for names in (lambda label: (label.id,), lambda label: (label.name,), lambda label: label.synonyms):
        for row, label in enumerate(labels):
            for name in names(label):
                rows.setdefault(name.casefold(), row)
    return rows


def _mention(row: TableRow, place: int, paper: Paper) -> Signature:
    name = row.id("name")
    position = int(row.number("position")) if row.get("position") is not None else -1
    others = [other for n, other in enumerate(paper.authors) if n != position]
    return Signature(
        id=row.id("signature_id", "id"),
        paper=place,
        name=name,
        block=_block(name) if row.get("block") is None else row.id("block"),
        author=row.id("author_id", "author"),
        position=max(position, 0),
        coauthors=tuple(others if position >= 0 else [other for other in others if other != name]),
        affiliations=row.several("affiliations", "affiliation"),
        email=text_of(row.get("email")),
    )


def _block(name: str) -> str:
    """Return first initial and surname in lower case: of "Ada Lovelace" and "Lovelace, Ada" the same."""
    surname, comma, given = (part.strip() for part in name.partition(","))
    if not comma:
        given, _, surname = surname.rpartition(" ")
    return f"{given[:1]} {surname}".strip().lower()


def _split(row: TableRow) -> str:
    said = str(row.get("split") or "").strip().lower()
    if said and said not in PART_NAMES:
        raise row.error(f"the split is {said!r}; known: {', '.join(PART_NAMES)}")
    return PART_NAMES.get(said, "")
