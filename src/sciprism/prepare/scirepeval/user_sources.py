"""User papers and tables about them, split into train and dev, and the eight kinds of sources that they give."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

from pydantic import model_validator

from sciprism.datasets.data_root import DataRoot, find_file
from sciprism.datasets.layouts.item_tables import parse_number
from sciprism.datasets.open_data import Part
from sciprism.datasets.rows import as_id
from sciprism.errors import InputError
from sciprism.formats import Format
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.prepare.preparation import MIN_DEV_EXAMPLES, Build, DevShare, Settings, TrainingSource
from sciprism.prepare.samplers import examples
from sciprism.prepare.samplers.examples import Heading, Mention, ScoredList, normalize_venue
from sciprism.prepare.samplers.sampling import Sampling, references
from sciprism.prepare.sources import records
from sciprism.prepare.sources.citation_corpus import rows_of
from sciprism.prepare.sources.records import Record, format_words, require_field
from sciprism.registry import Registry
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example, item_key

TABLE_COLUMNS = {
    "citations": ("citing", "cited"),
    "authors": ("paper", "author"),
    "counts": ("paper", "citations"),
    "mesh": ("paper", "descriptor", "qualifier"),
    "venues": ("venue", "field"),
    "clicks": ("query",),
}
"""Name of a table -> its required columns."""
Item = TypeVar("Item")
ENDINGS = (".tsv", ".csv", ".jsonl", ".json", ".parquet")
DEV_SHARE = 0.05


class MissingDataError(Exception):
    """Names the data that a kind of source needs and the user papers do not have; others are built."""


class UserPapers(Settings):
    """User papers: files of any format, a folder of tables about them, and the share of dev.

    dev: the share of papers, and of queries of click lists, that is dev, by a hash of the id. year:
    publication year of the papers whose citations are counted; 0: the one with most cited papers.
    """

    papers: tuple[Path, ...]
    tables: Path | None = None
    dev: DevShare = DEV_SHARE
    year: int = 0

    @model_validator(mode="after")
    def _check(self) -> UserPapers:
        if self.tables is not None and not self.tables.is_dir():
            raise ValueError(f"{self.tables}: no such folder")
        return self


class UserCorpus:
    """Papers in memory, and tables that are streamed on demand."""

    def __init__(self, papers: Sequence[Paper], user_papers: UserPapers, data_root: DataRoot, seed: int) -> None:
        rows_of(paper.id for paper in papers)
        self.papers = papers
        self.tables, self.year = user_papers.tables, user_papers.year
        self.data_root = data_root
        self._dev, self._seed = user_papers.dev, seed

    def table(self, name: str) -> Path | None:
        """Return the file of a table, such as `citations.tsv`, plain or gzipped; None where there is none."""
        return find_file(self.tables, *(f"{name}{ending}" for ending in ENDINGS)) if self.tables else None

    def need(self, name: str, column: str = "") -> None:
        """Raise MissingDataError for a missing table or optional column, InputError where a required one is missing."""
        if self.table(name) is None:
            where = f" in {self.tables}" if self.tables else ""
            raise MissingDataError(f"no table {name}{where}; its columns are {', '.join(TABLE_COLUMNS[name])}")
        _, row = next(self._rows(name), ("", {column: None}))
        if column and column not in row:
            raise MissingDataError(f"the table {name} has no column {column}")

    def part(self, name: str) -> Part:
        """Return the part of a paper, by its id, or of a query, by its words."""
        return "dev" if random_fraction(self._seed, "dev", name) < self._dev else "train"

    def candidates(self, part: Part) -> list[Paper]:
        """Return the papers that may be candidates; those of dev queries include train papers."""
        return [paper for paper in self.papers if part == "dev" or self.part(paper.id) == "train"]

    def papers_of(self, part: Part) -> list[Paper]:
        """Return the papers of one part."""
        return [paper for paper in self.papers if self.part(paper.id) == part]

    def ids_of(self, part: Part) -> list[str]:
        """Return the ids of the papers of one part."""
        return [paper.id for paper in self.papers_of(part)]

    def citations(self) -> Iterator[Mention]:
        """Yield (citing, cited, mentions) of the table, else of the references; one mention by default."""
        if self.table("citations") is None:
            yield from ((citing, cited, 1) for citing, cited in references(self.papers))
            return
        for where, row in self._rows("citations"):
            yield as_id(row["citing"]), as_id(row["cited"]), _parse_count(row.get("mentions", 1), where)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Number of citations of each paper: of the table, else from the known papers."""
        if self.table("counts") is not None:
            rows = self._rows("counts")
            return {as_id(row["paper"]): _parse_count(row["citations"], where) for where, row in rows}
        pairs = {(citing, cited) for citing, cited, count in self.citations() if count and citing != cited}
        return Counter(cited for _, cited in pairs)

    def authors(self) -> dict[str, list[str]]:
        """Return paper -> identifiers of its authors; a line has one of them, or a list."""
        rows = self._rows("authors")
        return _collect((as_id(row["paper"]), _list_words(row["author"])) for _, row in rows)

    @cached_property
    def headings(self) -> Mapping[str, list[Heading]]:
        """MeSH headings of each paper; a line has a descriptor and an optional qualifier."""
        rows = self._rows("mesh")
        return _collect(
            (as_id(row["paper"]), [(format_words(row["descriptor"]), format_words(row["qualifier"]))])
            for _, row in rows
        )

    @cached_property
    def venues(self) -> Mapping[str, list[str]]:
        """Fields of each venue; a line has one of them, or a list."""
        rows = self._rows("venues")
        return _collect((normalize_venue(format_words(row["venue"])), _list_words(row["field"])) for _, row in rows)

    def clicks(self, part: Part, sampling: Sampling) -> Iterator[ScoredList]:
        """Yield the first lists of one part: lines with `candidates`, or lines of `paper` and `score`.

        Lines of one query are consecutive. Candidates without a text are looked up
        among the papers by id.
        """
        papers = {paper.id: paper for paper in self.papers}
        lists = groupby(self._rows("clicks"), lambda line: format_words(line[1]["query"]))
        selected = ((query, lines) for query, lines in lists if self.part(query) == part)
        for query, lines in islice(selected, sampling.limit or None):
            sampling.report.records += 1
            shown, scores = [], []
            for where, row in lines:
                for candidate in row["candidates"] if isinstance(row.get("candidates"), list) else [row]:
                    paper = _parse_candidate(candidate, papers, where)
                    if isinstance(paper, Paper):
                        shown.append(paper)
                        scores.append(records.parse_score(candidate, where))
                    else:
                        sampling.drop("unknown candidate", paper)
            yield ScoredList(query, shown, scores)

    def _rows(self, name: str) -> Iterator[tuple[str, Record]]:
        path = self.table(name)
        for where, row in self.data_root.located_records(path) if path else ():
            for column in TABLE_COLUMNS[name]:
                require_field(row, column, where)
            yield where, row


def read_corpus(user_papers: UserPapers, data_root: DataRoot, seed: int) -> tuple[UserCorpus, list[dict[str, Any]]]:
    """Read papers of any format; return the corpus, and the counts of each file.

    Unusable records, such as those without title and abstract, are counted.
    """
    report = ReadReport()
    papers = list(read_papers(user_papers.papers, skip_bad=True, report=report))
    if not papers:
        raise InputError(f"{', '.join(map(str, user_papers.papers))}: no papers")
    read = [
        {"path": file.path, "format": file.format, "papers": file.papers, "skipped": file.skipped}
        for file in report.files
    ]
    return UserCorpus(papers, user_papers, data_root, seed), read


def _parse_candidate(record: Any, papers: Mapping[str, Paper], where: str) -> Paper | str:
    """Return a candidate's paper, or its id if the paper is unknown."""
    given = {key: record.get(key) for key in ("paper", "id", *records.IDS)} if isinstance(record, dict) else {}
    name = next((as_id(value) for value in given.values() if value not in (None, "")), "")
    paper = records.parse_record_paper(record, records.FIELDS)
    if paper.title or paper.abstract:
        return Paper(id=name, title=paper.title, abstract=paper.abstract)
    if not name:
        require_field(record, "paper", where)
    return papers.get(name, name)


def _parse_count(value: Any, where: str) -> int:
    number = parse_number(value, where)
    if number < 0 or not number.is_integer():
        raise InputError(f"{where}: {value!r} is not a count")
    return int(number)


def _collect(pairs: Iterable[tuple[str, list[Item]]]) -> dict[str, list[Item]]:
    """Return key -> the items of all its pairs, in their order."""
    collected: dict[str, list[Item]] = defaultdict(list)
    for key, items in pairs:
        collected[key] += items
    return collected


def _list_words(value: Any) -> list[str]:
    return [name for name in map(format_words, value if isinstance(value, list) else [value]) if name]


TYPES: dict[str, Format] = {
    "classification": "classification",
    "regression": "regression",
    "ir": "proximity",
    "triplet": "proximity",
}
NO_NEGATIVE = "pair without a negative"
USER_PAPERS = "user papers"

source_builders: Registry[Callable[[str, UserCorpus], TrainingSource]] = Registry("kind of source")
"""By the names of the published sources, which the recipes use."""


def build_user_sources(corpus: UserCorpus) -> tuple[list[TrainingSource], dict[str, str]]:
    """Return the sources that can be built from a corpus, and the reason for each of the others.

    Candidates of dev queries include train papers.
    """
    sources, skipped = [], {}
    for name, declare in source_builders.items():
        try:
            sources.append(declare(name, corpus))
        except MissingDataError as reason:
            skipped[name] = str(reason)
    return sources, skipped


def split_pairs(examples: Iterable[Example], sampling: Sampling) -> Iterator[Example]:
    """Yield an example of each positive with its negative; pairs without a negative are counted."""
    for example in examples:
        for positive, negative in zip(example.positives, example.negatives, strict=False):
            yield Example(example.query, (positive,), (negative,))
        for positive in example.positives[len(example.negatives) :]:
            sampling.drop(NO_NEGATIVE, f"{item_key(example.query)}, {item_key(positive)}")


def _declare(name: str, type: str, build: Build, **more: Any) -> TrainingSource:
    declaration: dict[str, Any] = {"format": TYPES[type], "data": USER_PAPERS, "min_dev_examples": MIN_DEV_EXAMPLES}
    return TrainingSource(name=name, type=type, build=build, **declaration | more)


@source_builders.register("cite_context")
def declare_influential(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a cited paper, one that mentions it often, and one that mentions it rarely."""
    corpus.need("citations", "mentions")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        papers, queries = corpus.candidates(part), corpus.ids_of(part)
        limited = examples.limit_lists(sampling)
        return examples.sample_influential_citations(papers, corpus.citations(), limited, queries=queries)

    return _declare(name, "triplet", build)


@source_builders.register("s2and")
def declare_same_author(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a paper and another one by an author of it."""
    corpus.need("authors")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        authors_of = corpus.authors()
        papers = []
        for paper in corpus.candidates(part):
            if paper.id in authors_of:
                papers.append(paper)
            elif corpus.part(paper.id) == part:
                sampling.drop("no author", paper.id)
        authors, queries = [authors_of[paper.id] for paper in papers], corpus.ids_of(part)
        limited = examples.limit_lists(sampling)
        return split_pairs(examples.sample_same_author(papers, authors, limited, queries=queries), sampling)

    return _declare(name, "triplet", build)


@source_builders.register("fos")
def declare_venue_fields(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers with one to three fields of their venues."""
    corpus.need("venues")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return examples.sample_venue_fields(corpus.papers_of(part), corpus.venues, sampling)

    few = (fields for fields in corpus.venues.values() if len({*fields}) <= examples.MAX_FIELDS)
    labels = tuple(sorted({field for fields in few for field in fields}))
    return _declare(name, "classification", build, labels=labels, multi_label=True)


@source_builders.register("cite_pred")
def declare_citation_count(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers of one year with the logarithm of their number of citations."""
    year = corpus.year or examples.most_cited_year(corpus.papers, corpus.counts)
    if year is None:
        raise MissingDataError("no cited paper has a year")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return examples.sample_log_citations(corpus.papers_of(part), corpus.counts, sampling, year=year)

    facts = {"year": year, "counted": "by the table" if corpus.table("counts") else "citations known here"}
    return _declare(name, "regression", build, facts=facts)


@source_builders.register("year_pred")
def declare_year(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers with their publication year, scaled like the citation counts."""
    span = examples.year_range_after_2005(corpus.papers)
    if span is None:
        raise MissingDataError("papers of at least two years after 2005 are needed")
    year = corpus.year or examples.most_cited_year(corpus.papers, corpus.counts)
    counted = examples.sample_log_citations(corpus.papers, corpus.counts, Sampling(), year=year) if year else ()
    labels = [float(example.answers[0]) for example in counted]
    factor = fmean(labels) if any(labels) else 1.0

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        papers = corpus.papers_of(part)
        return examples.sample_scaled_years(papers, sampling, first=span[0], last=span[1], factor=factor)

    return _declare(name, "regression", build, facts={"first": span[0], "last": span[1], "factor": factor})


@source_builders.register("mesh")
def declare_mesh(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers with their only qualified heading."""
    corpus.need("mesh")
    headings = (corpus.headings.get(paper.id, ()) for paper in corpus.papers)
    labels = examples.most_frequent(map(examples.single_qualified_descriptor, headings))

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return examples.sample_single_headings(corpus.papers_of(part), corpus.headings, sampling, descriptors=labels)

    return _declare(name, "classification", build, labels=labels)


@source_builders.register("specter")
def declare_citation_triplets(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a paper and one that it cites; three of five negatives are easy, two hard."""
    if not any(paper.references for paper in corpus.papers):
        corpus.need("citations")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        papers, queries = corpus.candidates(part), corpus.ids_of(part)
        edges = ((citing, cited) for citing, cited, count in corpus.citations() if count)
        limited = examples.limit_lists(sampling)
        return split_pairs(examples.sample_citation_triplets(papers, edges, limited, queries=queries), sampling)

    return _declare(name, "triplet", build)


@source_builders.register("search")
def declare_search(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a query, a clicked paper and one that was not clicked."""
    corpus.need("clicks")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        lists = corpus.clicks(part, examples.limit_lists(sampling))
        return examples.sample_scored_triplets(lists, sampling)

    return _declare(name, "ir", build, format="search", query="query")
