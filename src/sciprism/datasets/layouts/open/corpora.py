"""Corpora to search: by papers, by questions, by titles, summaries and citing sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Corpus
from sciprism.datasets.layouts.open.drawn import ALL, Sizes, as_rows, lowest, tested
from sciprism.datasets.layouts.open.links import LINKS, known_link, table
from sciprism.datasets.sources import draw
from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper
from sciprism.text.template import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedCorpus:
    """Find the papers linked to a paper among all test papers of a data set.

    keep_query: whether the query stays among the documents, where it is its own nearest and takes a place of
    the ranking; SciMult keeps it, a reader who looks for related papers would not.
    queries: how many to draw of those with at least `least` links, 0 for all.
    """

    data: str
    link: str
    queries: int = 0
    least: int = 1
    keep_query: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        known_link(self.link)

    def read(self, home: DataRoot) -> Corpus:
        """Return the corpus; papers with too few links are documents only and are counted."""
        tally = DropReport()
        found = tested(home, self.data, tally)
        links = LINKS[self.link](home, found)
        rows = {entry.paper.id: row for row, entry in enumerate(found)}
        for row, entry in enumerate(found):
            if len(links[row]) < self.least:
                tally.add("document with too few links to be a query", entry.paper.id)
        able = [entry for row, entry in enumerate(found) if len(links[row]) >= self.least]
        asked = [rows[entry.paper.id] for entry in lowest(able, self.queries, self.seed)]
        relevant = {found[row].paper.id: dict.fromkeys(sorted(links[row]), 1) for row in asked}
        documents = [entry.paper for entry in found]
        corpus = _corpus([documents[row] for row in asked], documents, relevant, tally)
        excluded = None if self.keep_query else [as_rows([row]) for row in asked]
        return replace(corpus, query_role="paper", excluded=excluded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Read a test collection: `corpus`, `queries` (jsonl.gz) and `qrels/<split>.tsv`.

    without: a table of query and document that are left out of that query's ranking.
    """

    path: str
    split: str = "test"
    without: str = ""

    def read(self, home: DataRoot) -> Corpus:
        """Return the queries that have judgements, and all documents."""
        tally = DropReport()
        documents = [entry.paper for entry in tested(home, self.path, tally)]
        rows = {paper.id: row for row, paper in enumerate(documents)}
        relevant: dict[str, dict[int, int]] = defaultdict(dict)
        for query, document, grade in table(home, f"{self.path}/qrels/{self.split}.tsv"):
            if document in rows:
                relevant[query][rows[document]] = int(grade)
            else:
                tally.add("judged document that is not there", document)
        texts = {row["_id"]: row["text"] for row in home.records(home.local(f"{self.path}/queries.jsonl.gz"))}
        for query in sorted(relevant.keys() - texts.keys()):
            tally.add("judged query that is not there", query)
        asked = {query: text for query, text in texts.items() if query in relevant}
        corpus = _corpus(list(asked.values()), documents, {query: relevant[query] for query in asked}, tally)
        return replace(corpus, excluded=self._excluded(home, asked, rows)) if self.without else corpus

    def _excluded(self, home: DataRoot, asked: Iterable[str], rows: Mapping[str, int]) -> list[Rows]:
        out: dict[str, list[int]] = defaultdict(list)
        for query, document in table(home, f"{self.path}/{self.without}"):
            out[query].append(rows[document])
        return [as_rows(out[query]) for query in asked]


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleToAbstract:
    """Find the abstract that a title belongs to, among abstracts alone."""

    data: str
    sizes: Sizes = ALL

    def read(self, home: DataRoot) -> Corpus:
        """Return the drawn test papers, titles as queries; those that lack either are counted."""
        tally = DropReport()
        whole = []
        for entry in tested(home, self.data, tally):
            if entry.own == "test" and self.sizes.fits(entry):
                if entry.paper.title and entry.paper.abstract:
                    whole.append(entry)
                else:
                    tally.add("no title or no abstract", entry.paper.id)
        found = [entry.paper for entry in lowest(whole, self.sizes.test, self.sizes.seed)]
        relevant = {paper.id: {row: 1} for row, paper in enumerate(found)}
        abstracts = [Paper(id=paper.id, abstract=paper.abstract) for paper in found]
        return _corpus([paper.title for paper in found], abstracts, relevant, tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryToPaper:
    """Find the paper that a one-sentence summary by its authors is of, among drawn test papers.

    field: of the summary. The papers without a summary that hash lowest are documents beside those with one.
    """

    data: str
    field: str
    sizes: Sizes = ALL

    def read(self, home: DataRoot) -> Corpus:
        """Return the summaries as queries; sizes.test: documents without a summary."""
        tally = DropReport()
        found = [entry for entry in tested(home, self.data, tally) if self.sizes.fits(entry)]
        told = [entry for entry in found if entry.row.get(self.field)]
        rest = lowest([e for e in found if not e.row.get(self.field)], self.sizes.test, self.sizes.seed)
        relevant = {entry.paper.id: {row: 1} for row, entry in enumerate(told)}
        documents = [entry.paper for entry in [*told, *rest]]
        return _corpus([entry.row[self.field] for entry in told], documents, relevant, tally)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitingSentences:
    """Find the papers that a sentence cites, among all papers of the data set.

    queries: sentences to draw. One sentence of one citing paper that cites several papers is one query.
    """

    data: str
    queries: int = 500
    seed: int = 0

    def read(self, home: DataRoot) -> Corpus:
        """Return drawn sentences and the papers that each cites."""
        tally = DropReport()
        found = tested(home, self.data, tally)
        cited: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        for row, entry in enumerate(found):
            for sentence in entry.row["citing_sentences"]:
                cited[sentence["citing_id"], sentence["text"]][row] = 1
        drawn = sorted(cited, key=lambda key: draw("\0".join(key), self.seed))[: self.queries]
        relevant = {f"{citing}#{place}": cited[citing, text] for place, (citing, text) in enumerate(drawn)}
        return _corpus([text for _, text in drawn], [entry.paper for entry in found], relevant, tally)


def _corpus(
    queries: Sequence[Item],
    documents: Sequence[Paper],
    relevant: Mapping[str, Mapping[int, int]],
    tally: DropReport,
) -> Corpus:
    """Put queries, in the order of their ids in `relevant`, and documents together."""
    return Corpus(
        query_ids=list(relevant),
        queries=queries,
        document_ids=[paper.id for paper in documents],
        documents=documents,
        judged=[as_rows(list(grades)) for grades in relevant.values()],
        grades=[as_rows(list(grades.values())) for grades in relevant.values()],
        tally=tally,
    )
