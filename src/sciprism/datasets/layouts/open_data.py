"""Layouts of the open data: papers are sampled by a hash of their ids, and follow the one split."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import (
    LabelInput,
    MatchInput,
    ProbeInput,
    RerankInput,
    RetrievalInput,
    Target,
    concatenate,
)
from sciprism.datasets.open_data import PARTS, Part, SplitEntry, read_entries
from sciprism.drop_report import DropReport
from sciprism.papers.records import Label, Paper
from sciprism.registry import Registry
from sciprism.seeding import random_fraction
from sciprism.text.template import Item

ELSEWHERE = "train or dev paper that is in dev or test of another data set"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSizes:
    """The number of papers to sample of each part, 0 for all. years: first and last year of test papers."""

    train: int = 0
    dev: int = 0
    test: int = 0
    years: tuple[int, int] | None = None
    seed: int = 0

    def includes(self, entry: SplitEntry) -> bool:
        """Tell whether a test paper is of the years in question."""
        return self.years is None or self.years[0] <= (entry.paper.year or 0) <= self.years[1]


ALL = SampleSizes()


def sample_entries(entries: Iterable[SplitEntry], size: int, seed: int = 0) -> list[SplitEntry]:
    """Return the `size` papers whose ids have the lowest hashes (0: all), in the given order."""
    listed = list(entries)
    if not size or len(listed) <= size:
        return listed
    order = np.argsort([random_fraction(seed, entry.paper.id) for entry in listed], kind="stable")[:size]
    return [listed[row] for row in sorted(order.tolist())]


def read_test_entries(data_root: DataRoot, data: str, dropped: DropReport) -> list[SplitEntry]:
    """Return the test papers of a data set in the one split."""
    return [entry for entry in read_entries(data_root, data, dropped) if entry.part == "test"]


def read_entries_with(data_root: DataRoot, data: str, field: str, dropped: DropReport) -> list[SplitEntry]:
    """Return the papers of a data set whose field is not empty; others are counted."""
    every = read_entries(data_root, data, dropped)
    dropped.add_all(f"no {field}", (entry.paper.id for entry in every if entry.row.get(field) in (None, "")))
    return [entry for entry in every if entry.row.get(field) not in (None, "")]


def sample_parts(
    entries: Iterable[SplitEntry], sizes: SampleSizes, dropped: DropReport
) -> dict[Part, list[SplitEntry]]:
    """Sample each part, without train papers that are dev or test elsewhere and dev papers that are test."""
    parts: dict[Part, list[SplitEntry]] = {part: [] for part in PARTS}
    for entry in entries:
        if entry.own_part == "test":
            if sizes.includes(entry):
                parts["test"].append(entry)
        elif entry.part == entry.own_part:
            parts[entry.own_part].append(entry)
        else:
            dropped.add(ELSEWHERE, entry.paper.id)
    return {part: sample_entries(parts[part], getattr(sizes, part), sizes.seed) for part in PARTS}


def build_probe_input(
    parts: dict[Part, list[tuple[SplitEntry, Target]]], dropped: DropReport, *, group: str = "", positive: str = ""
) -> ProbeInput:
    """Return the concatenated parts as the input of a probe; group: the field that names each problem."""
    pairs, rows = concatenate(parts)
    return ProbeInput(
        ids=[entry.paper.id for entry, _ in pairs],
        items=[entry.paper for entry, _ in pairs],
        targets=[target for _, target in pairs],  # type: ignore[arg-type]
        **rows,
        groups=[str(entry.row[group]) for entry, _ in pairs] if group else None,
        positive=positive,
        dropped=dropped,
    )


def to_rows(numbers: Sequence[int]) -> Rows:
    """Return row numbers as an array."""
    return np.array(numbers, dtype=np.int64)


Scale = Literal["as it is", "rank share", "deviation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperClasses:
    """Read the class of each paper, or all its classes where the field is a list.

    target: the field with the class. group: the field that names separate problems, such as topics of
    screening. positive: the positive class, where there are two.
    """

    data: str
    target: str
    sizes: SampleSizes = ALL
    group: str = ""
    positive: str = ""

    def read(self, data_root: DataRoot) -> ProbeInput:
        """Return the sampled papers with their classes; papers without a class are counted."""
        dropped = DropReport()
        labelled = read_entries_with(data_root, self.data, self.target, dropped)
        parts = sample_parts(labelled, self.sizes, dropped)

        def target(entry: SplitEntry) -> Target:
            value = entry.row[self.target]
            return tuple(dict.fromkeys(map(str, value))) if isinstance(value, list) else str(value)

        pairs = {part: [(entry, target(entry)) for entry in parts[part]] for part in PARTS}
        return build_probe_input(pairs, dropped, group=self.group, positive=self.positive)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperNumbers:
    """Read a number of each paper, as it is or relative to the papers of its venue and year.

    scale: "rank share" is (mean rank - 1/2) / n within the venue and year, near 0 for the smallest and near 1
    for the largest, so that years with more time to be cited are comparable; a logarithm would not change
    ranks. "deviation" is (value - mean) / standard deviation, for scores whose scales differ by venue and
    year. Both use all papers of the data set that have a value; a venue and year with fewer than `min_papers`
    of them is dropped and counted.
    """

    data: str
    target: str
    scale: Scale = "as it is"
    min_papers: int = 20
    sizes: SampleSizes = ALL

    def read(self, data_root: DataRoot) -> ProbeInput:
        """Return the sampled papers with their numbers; papers without a number are counted."""
        dropped = DropReport()
        labelled = read_entries_with(data_root, self.data, self.target, dropped)
        values = self.scale_numbers(labelled, dropped)
        parts = sample_parts([entry for entry in labelled if entry.paper.id in values], self.sizes, dropped)
        pairs: dict[Part, list[tuple[SplitEntry, Target]]] = {
            part: [(entry, values[entry.paper.id]) for entry in parts[part]] for part in PARTS
        }
        return build_probe_input(pairs, dropped)

    def scale_numbers(self, labelled: Sequence[SplitEntry], dropped: DropReport) -> Mapping[str, float]:
        """Return paper id -> number; dropped papers are counted."""
        from scipy.stats import rankdata

        if self.scale == "as it is":
            return {entry.paper.id: float(entry.row[self.target]) for entry in labelled}
        groups: dict[Any, list[SplitEntry]] = defaultdict(list)
        for entry in labelled:
            groups[entry.paper.venue, entry.paper.year].append(entry)
        scaled: dict[str, float] = {}
        for (venue, year), group in groups.items():
            numbers = np.array([float(entry.row[self.target]) for entry in group])
            if len(group) < self.min_papers or not numbers.std():
                dropped.add(f"venue and year with fewer than {self.min_papers} papers", f"{venue} {year}")
                continue
            if self.scale == "rank share":
                numbers = (rankdata(numbers) - 0.5) / len(numbers)
            else:
                numbers = (numbers - numbers.mean()) / numbers.std()
            scaled |= dict(zip((entry.paper.id for entry in group), numbers.tolist(), strict=True))
        return scaled


OUTSIDE = "term outside the vocabulary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Headings:
    """Read test papers with their terms, and the vocabulary of these terms.

    terms: the papers' field. vocabulary: a name of `VOCABULARIES`, or "" for the lower-case terms of at least
    two of the papers. Terms outside the vocabulary are counted.
    """

    data: str
    terms: str
    vocabulary: str = ""
    sizes: SampleSizes = ALL

    def read(self, data_root: DataRoot) -> LabelInput:
        """Return the sampled papers that have terms, and all labels."""
        dropped, described = DropReport(), []
        for entry in read_entries(data_root, self.data, dropped):
            if entry.row.get(self.terms):
                described.append(entry)
            elif entry.own_part == "test":
                dropped.add(f"test paper without {self.terms}", entry.paper.id)
        entries = sample_parts(described, self.sizes, dropped)["test"]
        if self.vocabulary:
            labels, rows = VOCABULARIES[self.vocabulary](data_root)
        else:
            counts = Counter(term for entry in entries for term in {t.casefold() for t in entry.row[self.terms]})
            frequent = sorted(term for term, count in counts.items() if count > 1)
            labels = [Label(id=term, name=term) for term in frequent]
            rows = {term: row for row, term in enumerate(frequent)}
        terms = [[t if self.vocabulary else t.casefold() for t in entry.row[self.terms]] for entry in entries]
        return _build_label_input(entries, labels, terms, rows, OUTSIDE, dropped)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassNames:
    """Read test papers with their class, and a readable name of each class, as a label.

    names: (class in the data, name). A paper may have several of the classes.
    """

    data: str
    target: str
    names: tuple[tuple[str, str], ...]
    sizes: SampleSizes = ALL

    def read(self, data_root: DataRoot) -> LabelInput:
        """Return the sampled test papers and the classes; classes without a name are counted."""
        dropped = DropReport()
        entries = sample_parts(read_entries(data_root, self.data, dropped), self.sizes, dropped)["test"]
        labels = [Label(id=key, name=name) for key, name in self.names]
        rows = {label.id: row for row, label in enumerate(labels)}
        values = [entry.row[self.target] for entry in entries]
        classes = [[str(key) for key in (value if isinstance(value, list) else [value])] for value in values]
        return _build_label_input(entries, labels, classes, rows, "class without a name", dropped)


VOCABULARIES: Registry[Callable[[DataRoot], tuple[list[Label], dict[str, int]]]] = Registry("vocabulary")


@VOCABULARIES.register("arxiv")
def read_arxiv_categories(data_root: DataRoot) -> tuple[list[Label], dict[str, int]]:
    """Return arXiv's categories with their definitions, and id -> row, also for former ids."""
    records = list(data_root.records(data_root.local("labels_arxiv/categories.jsonl.gz")))
    current = [row for row in records if not row["alias_of"]]
    labels = [Label(id=row["id"], name=row["name"], definition=row["definition"] or "") for row in current]
    rows = {label.id: row for row, label in enumerate(labels)}
    rows |= {row["id"]: rows[row["alias_of"]] for row in records if row["alias_of"] in rows}
    return labels, rows


@VOCABULARIES.register("mesh")
def read_mesh_headings(data_root: DataRoot) -> tuple[list[Label], dict[str, int]]:
    """Return the MeSH descriptors, and name -> row."""
    labels = [
        Label(id=row["id"], name=row["name"], codes=tuple(row["tree_numbers"]))
        for row in data_root.records(data_root.local("labels_mesh/descriptors.jsonl.gz"))
    ]
    return labels, {label.name: row for row, label in enumerate(labels)}


def _build_label_input(
    entries: Sequence[SplitEntry],
    labels: Sequence[Label],
    names: Sequence[Sequence[str]],
    rows: Mapping[str, int],
    unknown: str,
    dropped: DropReport,
) -> LabelInput:
    """Return the input; names: of each paper's labels; rows: name -> row of the label."""
    for name in (name for own_names in names for name in own_names if name not in rows):
        dropped.add(unknown, name)
    return LabelInput(
        paper_ids=[entry.paper.id for entry in entries],
        papers=[entry.paper for entry in entries],
        labels=labels,
        gold=[to_rows(sorted({rows[name] for name in own_names if name in rows})) for own_names in names],
        dropped=dropped,
    )


Links = list[set[int]]  # for each paper, the rows of the papers that it is linked to
LINKS: Registry[Callable[[DataRoot, Sequence[SplitEntry]], Links]] = Registry("link")

MIN_CO_CITING = 2  # papers that must cite two papers for a co-citation link; one reference list may be random
MIN_IDF_SUM = 5.0
"""Sum of the inverse document frequencies (in nats) of shared keywords for a link: one keyword of 1/150 of
the papers, or two more frequent ones."""
MAX_KEYWORD_PAPERS = 300  # keywords of more papers than this are ignored


@LINKS.register("citation")
def find_citations(data_root: DataRoot, entries: Sequence[SplitEntry]) -> Links:  # noqa: ARG001  (the signature of links)
    """Return the papers that each paper cites."""
    rows = {entry.paper.id: row for row, entry in enumerate(entries)}
    return [
        {rows[name] for name in entry.row["references"] if name in rows} - {row} for row, entry in enumerate(entries)
    ]


@LINKS.register("citation link")
def find_citation_links(data_root: DataRoot, entries: Sequence[SplitEntry]) -> Links:
    """Return the papers linked in CACM's list, in both directions, since theirs is unknown."""
    rows = {entry.paper.id: row for row, entry in enumerate(entries)}
    pairs = (
        (rows[one], rows[other])
        for one, other in read_tsv(data_root, "ir_cacm/citation_links.tsv")
        if one in rows and other in rows and one != other
    )
    return _link_both_ways(len(entries), pairs)


@LINKS.register("co-citation")
def find_co_citations(data_root: DataRoot, entries: Sequence[SplitEntry]) -> Links:
    """Return the papers that share at least two reference lists with each paper."""
    pairs: Counter[tuple[int, int]] = Counter()
    for cited in find_citations(data_root, entries):
        pairs.update(combinations(sorted(cited), 2))
    return _link_both_ways(len(entries), (pair for pair, count in pairs.items() if count >= MIN_CO_CITING))


@LINKS.register("same author")
def find_same_author(data_root: DataRoot, entries: Sequence[SplitEntry]) -> Links:  # noqa: ARG001  (the signature of links)
    """Return the papers that share an author's identifier (of IEEE or OpenReview, not a name)."""
    authors = [{name for name in entry.row["author_ids"] if name} for entry in entries]
    rows_of = _index_rows(authors)
    return [{other for name in names for other in rows_of[name]} - {row} for row, names in enumerate(authors)]


@LINKS.register("shared keywords")
def find_shared_keywords(data_root: DataRoot, entries: Sequence[SplitEntry]) -> Links:  # noqa: ARG001  (the signature of links)
    """Return the papers whose shared keywords are rare enough (see `MIN_IDF_SUM`)."""
    keywords = [{word.casefold() for word in entry.row["keywords"]} for entry in entries]
    weights: dict[tuple[int, int], float] = defaultdict(float)
    for rows in _index_rows(keywords).values():
        if len(rows) <= MAX_KEYWORD_PAPERS:
            for pair in combinations(rows, 2):
                weights[pair] += math.log(len(entries) / len(rows))
    return _link_both_ways(len(entries), (pair for pair, weight in weights.items() if weight >= MIN_IDF_SUM))


def read_tsv(data_root: DataRoot, name: str) -> list[tuple[str, ...]]:
    """Return the rows of a tab-separated file without its header."""
    lines = [line for _, line in data_root.lines(data_root.local(name))]
    return [tuple(line.split("\t")) for line in lines[1:] if line.strip()]


def read_grades(
    data_root: DataRoot, name: str, rows: Mapping[str, int], dropped: DropReport
) -> dict[str, dict[int, int]]:
    """Return query -> row -> grade of a qrels file; documents without a record are counted."""
    grades: dict[str, dict[int, int]] = defaultdict(dict)
    for query, document, grade in read_tsv(data_root, name):
        if document in rows:
            grades[query][rows[document]] = int(grade)
        else:
            dropped.add("graded document without a record", document)
    return grades


def sample_queries(
    entries: Sequence[SplitEntry], links: Links, min_links: int, size: int, seed: int, dropped: DropReport
) -> list[int]:
    """Return the rows of `size` papers with enough links, 0 for all; papers with fewer are counted."""
    rows = {entry.paper.id: row for row, entry in enumerate(entries)}
    candidates = []
    for entry, linked in zip(entries, links, strict=True):
        if len(linked) >= min_links:
            candidates.append(entry)
        else:
            dropped.add("paper with too few links to be a query", entry.paper.id)
    return [rows[entry.paper.id] for entry in sample_entries(candidates, size, seed)]


def _index_rows(values: Sequence[set[str]]) -> dict[str, list[int]]:
    rows_of: dict[str, list[int]] = defaultdict(list)
    for row, own_values in enumerate(values):
        for value in sorted(own_values):
            rows_of[value].append(row)
    return rows_of


def _link_both_ways(count: int, pairs: Any) -> Links:
    links: Links = [set() for _ in range(count)]
    for one, other in pairs:
        links[one].add(other)
        links[other].add(one)
    return links


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedPools:
    """Sample pools of test papers: papers linked to the query as positives, unlinked ones as negatives.

    link: a name of `LINKS`. required_field: papers without it are dropped. min_links: of a query.
    Hard negatives are two links away (cited by a cited paper, a paper of a co-author) where possible, else of
    the query's venue and year. Easy ones are queries or positives of other pools, so that only the link
    separates positives from negatives. No negative is linked to the query in either direction.
    """

    data: str
    link: str
    required_field: str = ""
    queries: int = 300
    positives: int = 5
    negatives: int = 25
    hard: int = 10
    min_links: int = 5
    seed: int = 0

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return the pools; queries with too few links are counted."""
        dropped = DropReport()
        entries = read_test_entries(data_root, self.data, dropped)
        if self.required_field:
            entries = [entry for entry in entries if entry.row.get(self.required_field)]
        graph = _LinkGraph(entries, LINKS[self.link](data_root, entries))
        queried = sample_queries(entries, graph.links, self.min_links, self.queries, self.seed, dropped)
        positives = {row: self._sample(graph, row, graph.links[row], self.positives) for row in queried}
        pooled = {*queried}.union(*positives.values())
        pools = [to_rows([*positives[row], *self._sample_negatives(graph, row, pooled)]) for row in queried]
        grades = [
            (np.arange(len(pool)) < len(positives[row])).astype(np.float64)
            for row, pool in zip(queried, pools, strict=True)
        ]
        return _build_pools(entries, [entries[row] for row in queried], pools, grades, dropped)

    def _sample_negatives(self, graph: _LinkGraph, row: int, pooled: set[int]) -> list[int]:
        linked = {row} | graph.links[row] | graph.linking[row]
        two_steps = set().union(*(graph.links[other] for other in graph.links[row]))
        chosen = self._sample(graph, row, two_steps - linked, self.hard)
        paper = graph.entries[row].paper
        same_issue = graph.issues[paper.venue, paper.year] - linked - {*chosen}
        chosen += self._sample(graph, row, same_issue, self.hard - len(chosen))
        return chosen + self._sample(graph, row, pooled - linked - {*chosen}, self.negatives - len(chosen))

    def _sample(self, graph: _LinkGraph, row: int, rows: Iterable[int], size: int) -> list[int]:
        """Sample rows by a hash of the query's and the paper's ids."""
        ids = [entry.paper.id for entry in graph.entries]
        return sorted(rows, key=lambda other: random_fraction(self.seed, f"{ids[row]}\0{ids[other]}"))[:size]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedPools:
    """Read papers with graded pools (CSFCube): a query is one facet of a paper, grades are 0-3.

    An encoder without facets ranks all pools of a paper by the same vector.
    """

    path: str

    def read(self, data_root: DataRoot) -> RerankInput:
        """Return the pools of `qrels/test.tsv`; graded papers that are not in the corpus are counted."""
        dropped = DropReport()
        entries = read_test_entries(data_root, self.path, dropped)
        rows = {entry.paper.id: row for row, entry in enumerate(entries)}
        grades_of = read_grades(data_root, f"{self.path}/qrels/test.tsv", rows, dropped)
        queried = {}
        for row in data_root.records(data_root.local(f"{self.path}/queries.jsonl.gz")):
            if row["metadata"]["paper_id"] in rows and row["_id"] in grades_of:
                queried[row["_id"]] = entries[rows[row["metadata"]["paper_id"]]]
            else:
                dropped.add("query without its paper or its pool", row["_id"])
        pools = [to_rows(list(grades_of[query])) for query in queried]
        grades = [np.array(list(grades_of[query].values()), np.float64) for query in queried]
        return _build_pools(entries, list(queried.values()), pools, grades, dropped, query_ids=list(queried))


class _LinkGraph:
    """Papers, their links in both directions, and the papers of each venue and year."""

    def __init__(self, entries: Sequence[SplitEntry], links: Links) -> None:
        self.entries, self.links = entries, links
        self.linking: Links = [set() for _ in entries]
        self.issues: dict[tuple[str, int | None], set[int]] = defaultdict(set)
        for row, (entry, others) in enumerate(zip(entries, links, strict=True)):
            for other in others:
                self.linking[other].add(row)
            self.issues[entry.paper.venue, entry.paper.year].add(row)


def _build_pools(
    entries: Sequence[SplitEntry],
    queries: Sequence[SplitEntry],
    pools: Sequence[Rows],
    grades: Sequence[NDArray[np.floating]],
    dropped: DropReport,
    query_ids: Sequence[str] = (),
) -> RerankInput:
    """Return the input, whose candidates are the papers of the pools only."""
    used = np.unique(np.concatenate(pools)) if pools else to_rows([])
    papers = [entries[row].paper for row in used.tolist()]
    return RerankInput(
        query_ids=query_ids or [entry.paper.id for entry in queries],
        queries=[entry.paper for entry in queries],
        candidate_ids=[paper.id for paper in papers],
        candidates=papers,
        pools=[np.searchsorted(used, pool) for pool in pools],
        grades=grades,
        query_role="paper",
        dropped=dropped,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedCorpus:
    """Retrieve the papers linked to a paper among all others of the test papers of a data set.

    queries: how many to sample of those with at least `min_links` links, 0 for all.
    """

    FORMER: ClassVar = {"keep_query": False}
    data: str
    link: str
    queries: int = 0
    min_links: int = 1
    seed: int = 0

    def read(self, data_root: DataRoot) -> RetrievalInput:
        """Return the corpus; papers with too few links are documents only, and counted."""
        dropped = DropReport()
        entries = read_test_entries(data_root, self.data, dropped)
        links = LINKS[self.link](data_root, entries)
        queried = sample_queries(entries, links, self.min_links, self.queries, self.seed, dropped)
        relevant = {entries[row].paper.id: dict.fromkeys(sorted(links[row]), 1) for row in queried}
        documents = [entry.paper for entry in entries]
        corpus = _build_corpus([documents[row] for row in queried], documents, relevant, dropped)
        return replace(corpus, query_role="paper", excluded=[to_rows([row]) for row in queried])


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
        corpus = _build_corpus(list(queried.values()), documents, relevant, dropped)
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
        return _build_corpus([paper.title for paper in papers], abstracts, relevant, dropped)


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
        return _build_corpus([entry.row[self.field] for entry in summarized], documents, relevant, dropped)


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
        return _build_corpus([text for _, text in sampled], [entry.paper for entry in entries], relevant, dropped)


def _build_corpus(
    queries: Sequence[Item], documents: Sequence[Paper], relevant: Mapping[str, Mapping[int, int]], dropped: DropReport
) -> RetrievalInput:
    """Return the input; queries are in the order of their ids in `relevant`."""
    return RetrievalInput(
        query_ids=list(relevant),
        queries=queries,
        document_ids=[paper.id for paper in documents],
        documents=documents,
        judged=[to_rows(list(grades)) for grades in relevant.values()],
        grades=[np.array(list(grades.values()), np.float64) for grades in relevant.values()],
        dropped=dropped,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedReviewers:
    """Read `papers`, `reviewers` (whose papers they wrote) and `evaluations` (expertise, 1-5).

    newest: how many of a reviewer's latest papers are the profile, 0 for all.
    """

    path: str
    newest: int = 0

    def read(self, data_root: DataRoot) -> MatchInput:
        """Return profiles and rated pairs; unknown papers and pairs are counted."""
        dropped = DropReport()
        papers_by_id = {entry.paper.id: entry.paper for entry in read_test_entries(data_root, self.path, dropped)}
        profiles = self._profiles(data_root, papers_by_id, dropped)
        records = data_root.records(data_root.local(f"{self.path}/evaluations.jsonl.gz"))
        rated = [(row["paper_id"], row["reviewer_id"], float(row["expertise"])) for row in records]
        wanted = {paper for paper, *_ in rated}.union(*profiles.values())
        papers = {name: paper for name, paper in papers_by_id.items() if name in wanted}
        return MatchInput.build(papers, profiles, rated, dropped, "rated pair without a record")

    def _profiles(self, data_root: DataRoot, papers: Mapping[str, Paper], dropped: DropReport) -> dict[str, list[str]]:
        profiles = {}
        for record in data_root.records(data_root.local(f"{self.path}/reviewers.jsonl.gz")):
            written = [papers[name] for name in record["paper_ids"] if name in papers]
            written.sort(key=lambda paper: (-(paper.year or 0), paper.id))
            profiles[record["reviewer_id"]] = [paper.id for paper in written[: self.newest or None]]
            for name in record["paper_ids"]:
                if name not in papers:
                    dropped.add("paper of a profile without a record", name)
        return profiles
