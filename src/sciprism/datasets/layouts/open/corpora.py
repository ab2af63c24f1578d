"""Corpora to search by papers, questions, titles, summaries and citing sentences."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import RetrievalInput
from sciprism.datasets.layouts.open.pools import LINKS, check_link, read_grades, read_tsv, sample_queries
from sciprism.datasets.layouts.open.sampling import ALL, SampleSizes, read_test_entries, sample_entries, to_rows
from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper
from sciprism.seeding import random_fraction
from sciprism.text.template import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedCorpus:
    """Retrieve the papers linked to a paper among all test papers of a data set.

    keep_query: keep the query in its own ranking, where it ranks first; SciMult keeps it.
    queries: how many to sample of those with at least `min_links` links, 0 for all.
    """

    data: str
    link: str
    queries: int = 0
    min_links: int = 1
    keep_query: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_link(self.link)

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the corpus; papers with too few links are documents only, and counted."""
        dropped = DropReport()
        entries = read_test_entries(data_root, self.data, dropped)
        links = LINKS[self.link](data_root, entries)
        queried = sample_queries(entries, links, self.min_links, self.queries, self.seed, dropped)
        relevant = {entries[row].paper.id: dict.fromkeys(sorted(links[row]), 1) for row in queried}
        documents = [entry.paper for entry in entries]
        corpus = _build_input([documents[row] for row in queried], documents, relevant, dropped)
        excluded = None if self.keep_query else [to_rows([row]) for row in queried]
        return replace(corpus, query_role="paper", excluded=excluded)


@dataclass(frozen=True, slots=True, kw_only=True)
class IrTestCollection:
    """Read a test collection: `corpus`, `queries` (jsonl.gz) and `qrels/<split>.tsv`.

    exclude: a table of query and document; the document is removed from that query's ranking.
    """

    path: str
    split: str = "test"
    exclude: str = ""

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the queries that have judgements, and all documents."""
        dropped = DropReport()
        documents = [entry.paper for entry in read_test_entries(data_root, self.path, dropped)]
        rows = {paper.id: row for row, paper in enumerate(documents)}
        relevant = read_grades(data_root, f"{self.path}/qrels/{self.split}.tsv", rows, dropped)
        records = data_root.records(data_root.local(f"{self.path}/queries.jsonl.gz"))
        texts = {row["_id"]: row["text"] for row in records}
        for query in sorted(relevant.keys() - texts.keys()):
            dropped.add("graded query without a record", query)
        queried = {query: text for query, text in texts.items() if query in relevant}
        relevant = {query: relevant[query] for query in queried}
        corpus = _build_input(list(queried.values()), documents, relevant, dropped)
        if not self.exclude:
            return corpus
        excluded: dict[str, list[int]] = defaultdict(list)
        for query, document in read_tsv(data_root, f"{self.path}/{self.exclude}"):
            excluded[query].append(rows[document])
        return replace(corpus, excluded=[to_rows(excluded[query]) for query in queried])


@dataclass(frozen=True, slots=True, kw_only=True)
class TitleToAbstract:
    """Retrieve the abstract of a title, among abstracts without titles."""

    data: str
    sizes: SampleSizes = ALL

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return sampled test papers, titles as queries; those without title or abstract are counted."""
        dropped = DropReport()
        complete = []
        for entry in read_test_entries(data_root, self.data, dropped):
            if entry.own_part == "test" and self.sizes.includes(entry):
                if entry.paper.title and entry.paper.abstract:
                    complete.append(entry)
                else:
                    dropped.add("no title or no abstract", entry.paper.id)
        papers = [entry.paper for entry in sample_entries(complete, self.sizes.test, self.sizes.seed)]
        relevant = {paper.id: {row: 1} for row, paper in enumerate(papers)}
        abstracts = [Paper(id=paper.id, abstract=paper.abstract) for paper in papers]
        return _build_input([paper.title for paper in papers], abstracts, relevant, dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryToPaper:
    """Retrieve the paper of a one-sentence summary by its authors, among sampled test papers.

    field: of the summary. Sampled papers without a summary are documents too.
    """

    data: str
    field: str
    sizes: SampleSizes = ALL

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the summaries as queries; sizes.test: documents without a summary."""
        dropped = DropReport()
        entries = [entry for entry in read_test_entries(data_root, self.data, dropped) if self.sizes.includes(entry)]
        summarized = [entry for entry in entries if entry.row.get(self.field)]
        rest = sample_entries([e for e in entries if not e.row.get(self.field)], self.sizes.test, self.sizes.seed)
        relevant = {entry.paper.id: {row: 1} for row, entry in enumerate(summarized)}
        documents = [entry.paper for entry in [*summarized, *rest]]
        return _build_input([entry.row[self.field] for entry in summarized], documents, relevant, dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitingSentences:
    """Retrieve the papers that a sentence cites, among all papers of the data set.

    queries: sentences to sample. A sentence that cites several papers is one query.
    """

    data: str
    queries: int = 500
    seed: int = 0

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return sampled sentences and the papers that each cites."""
        dropped = DropReport()
        entries = read_test_entries(data_root, self.data, dropped)
        cited: dict[tuple[str, str], dict[int, int]] = defaultdict(dict)
        for row, entry in enumerate(entries):
            for sentence in entry.row["citing_sentences"]:
                cited[sentence["citing_id"], sentence["text"]][row] = 1
        sampled = sorted(cited, key=lambda key: random_fraction(self.seed, "\0".join(key)))[: self.queries]
        relevant = {f"{citing}#{number}": cited[citing, text] for number, (citing, text) in enumerate(sampled)}
        return _build_input([text for _, text in sampled], [entry.paper for entry in entries], relevant, dropped)


def _build_input(
    queries: Sequence[Item], documents: Sequence[Paper], relevant: Mapping[str, Mapping[int, int]], dropped: DropReport
) -> RetrievalInput:
    """Return the input; queries are in the order of their ids in `relevant`."""
    return RetrievalInput(
        query_ids=list(relevant),
        queries=queries,
        document_ids=[paper.id for paper in documents],
        documents=documents,
        judged=[to_rows(list(grades)) for grades in relevant.values()],
        grades=[to_rows(list(grades.values())) for grades in relevant.values()],
        dropped=dropped,
    )
