"""One's own papers, with tables of what is known about them, divided into train and dev."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.item_tables import number_of
from sciprism.datasets.rows import as_id
from sciprism.datasets.sources import Part
from sciprism.errors import InputError
from sciprism.papers.reading import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.prepare.graphs.citations import rows_of
from sciprism.prepare.samplers.classes import Heading, one_form
from sciprism.prepare.samplers.influential import Mention
from sciprism.prepare.samplers.scored_lists import ScoredList
from sciprism.prepare.samplers.ties import references
from sciprism.prepare.scimult.desk import numbered
from sciprism.prepare.scirepeval.config import FIELDS
from sciprism.prepare.scirepeval.records import IDS, Record, need, paper_in, score_in, words_of
from sciprism.prepare.scirepeval.source import Taken
from sciprism.seeding import random_fraction

TABLES = {
    "citations": ("citing", "cited"),
    "authors": ("paper", "author"),
    "counts": ("paper", "citations"),
    "mesh": ("paper", "descriptor", "qualifier"),
    "venues": ("venue", "field"),
    "clicks": ("query",),
}
"""What tables are called, and the columns without which they say nothing."""
ENDINGS = (".tsv", ".csv", ".jsonl", ".json", ".parquet")
DEV = 0.05


class LackingError(Exception):
    """Say what one's own papers lack for a kind of source; the others are made."""


class Corpus:
    """Papers in memory, and tables that are read line by line when they are asked for.

    dev: the share of papers, and of queries of click lists, that is held out; a hash of the id decides. year:
    whose papers' citations are counted, 0 for the one with the most cited papers.
    """

    def __init__(
        self,
        papers: Sequence[Paper],
        home: DataRoot,
        tables: Path | None = None,
        *,
        dev: float = DEV,
        seed: int = 0,
        year: int = 0,
    ) -> None:
        if not 0 <= dev < 1:
            raise InputError(f"a share of {dev} for dev; it must be 0 or more, and less than 1")
        if tables is not None and not tables.is_dir():
            raise InputError(f"{tables}: no such folder")
        rows_of(paper.id for paper in papers)
        self.papers = papers
        self.home = home
        self.tables = tables
        self.year = year
        self._dev = dev
        self._seed = seed

    def table(self, name: str) -> Path | None:
        """Return the file of a table, such as `citations.tsv`, perhaps gzipped; None where there is none."""
        if self.tables is None:
            return None
        names = (f"{name}{ending}{packed}" for ending in ENDINGS for packed in ("", ".gz"))
        return next((self.tables / each for each in names if (self.tables / each).is_file()), None)

    def need(self, name: str) -> None:
        """Raise LackingError where a table is not there, InputError where its first line lacks a column."""
        if self.table(name) is None:
            where = f" in {self.tables}" if self.tables else ""
            raise LackingError(f"no table {name}{where}; its columns are {', '.join(TABLES[name])}")
        next(self._rows(name), None)

    def need_column(self, name: str, column: str) -> None:
        """Raise LackingError where the first line of a table has no such column, which others do without."""
        self.need(name)
        _, row = next(self._rows(name), ("", {column: None}))
        if column not in row:
            raise LackingError(f"the table {name} has no column {column}")

    def part(self, name: str) -> Part:
        """Return the part of a paper's id or a query's words."""
        return "dev" if random_fraction(self._seed, "dev", name) < self._dev else "train"

    def around(self, part: Part) -> list[Paper]:
        """Return the papers that may be candidates: of dev queries those of train too."""
        return [paper for paper in self.papers if part == "dev" or self.part(paper.id) == "train"]

    def of(self, part: Part) -> list[Paper]:
        """Return the papers of one part."""
        return [paper for paper in self.papers if self.part(paper.id) == part]

    def names(self, part: Part) -> list[str]:
        """Return the ids of the papers of one part."""
        return [paper.id for paper in self.of(part)]

    def citations(self) -> Iterator[Mention]:
        """Yield who cites whom how often: the table's lines (without `mentions`: once), else references."""
        if self.table("citations") is None:
            yield from ((citing, cited, 1) for citing, cited in references(self.papers))
            return
        for where, row in self._rows("citations"):
            yield as_id(row["citing"]), as_id(row["cited"]), _count(row.get("mentions", 1), where)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How often each paper is cited: of the table, else by how many papers that are known here."""
        if self.table("counts") is not None:
            rows = self._rows("counts")
            return {as_id(row["paper"]): _count(row["citations"], where) for where, row in rows}
        pairs = {(citing, cited) for citing, cited, count in self.citations() if count and citing != cited}
        return Counter(cited for _, cited in pairs)

    def authors(self) -> dict[str, list[str]]:
        """Return paper -> identifiers of its authors; a line holds one of them, or a list."""
        found: dict[str, list[str]] = defaultdict(list)
        for _, row in self._rows("authors"):
            found[as_id(row["paper"])] += _several(row["author"])
        return found

    @cached_property
    def headings(self) -> Mapping[str, list[Heading]]:
        """The MeSH headings of each paper: a line holds a descriptor and one qualifier of it, or none."""
        found: dict[str, list[Heading]] = defaultdict(list)
        for _, row in self._rows("mesh"):
            found[as_id(row["paper"])].append((words_of(row["descriptor"]), words_of(row["qualifier"])))
        return found

    @cached_property
    def venues(self) -> Mapping[str, list[str]]:
        """The fields that each venue stands for; a line holds one of them, or a list."""
        found: dict[str, list[str]] = defaultdict(list)
        for _, row in self._rows("venues"):
            found[one_form(words_of(row["venue"]))] += _several(row["field"])
        return found

    def clicks(self, part: Part, report: Taken, most: int = 0) -> Iterator[ScoredList]:
        """Yield the first lists of one part: lines with `candidates`, or a line for each `paper` and `score`.

        most: lists, 0 for all. Lines of one query stand together. Candidates without a text of their own are
        papers here, by id.
        """
        papers = {paper.id: paper for paper in self.papers}
        lists = groupby(self._rows("clicks"), lambda line: words_of(line[1]["query"]))
        mine = ((query, lines) for query, lines in lists if self.part(query) == part)
        for query, lines in islice(mine, most or None):
            report.records += 1
            shown, scores = [], []
            for where, row in lines:
                for each in row["candidates"] if isinstance(row.get("candidates"), list) else [row]:
                    paper = _candidate(each, papers, where)
                    if isinstance(paper, Paper):
                        shown.append(paper)
                        scores.append(score_in(each, where))
                    else:
                        report.dropped.add("candidate that is not there", paper)
            yield ScoredList(query, shown, scores)

    def _rows(self, name: str) -> Iterator[tuple[str, Record]]:
        path = self.table(name)
        for where, row in numbered(self.home, path) if path else ():
            for column in TABLES[name]:
                need(row, column, where)
            yield where, row


def read_corpus(
    files: Sequence[Path],
    home: DataRoot,
    tables: Path | None = None,
    *,
    dev: float = DEV,
    seed: int = 0,
    year: int = 0,
) -> tuple[Corpus, dict[str, Any]]:
    """Read papers of any format; return the corpus, and what was read of which file.

    Records without title and abstract, and others that cannot be used, are counted.
    """
    report = ReadReport()
    papers = list(read_papers(files, skip_bad=True, report=report))
    if not papers:
        raise InputError(f"{', '.join(map(str, files))}: no paper in it")
    read = [
        {"path": file.path, "format": file.format, "papers": file.papers, "skipped": file.skipped}
        for file in report.files
    ]
    return Corpus(papers, home, tables, dev=dev, seed=seed, year=year), {"papers": read}


def _candidate(record: Any, papers: Mapping[str, Paper], where: str) -> Paper | str:
    """Return a candidate's paper, or the id under which there is none."""
    given = {key: record.get(key) for key in ("paper", "id", *IDS)} if isinstance(record, dict) else {}
    name = next((as_id(value) for value in given.values() if value not in (None, "")), "")
    paper = paper_in(record, FIELDS)
    if paper.title or paper.abstract:
        return Paper(id=name, title=paper.title, abstract=paper.abstract)
    if not name:
        need(record, "paper", where)
    return papers.get(name, name)


def _count(value: Any, where: str) -> int:
    number = number_of(value, where)
    if number < 0 or not number.is_integer():
        raise InputError(f"{where}: {value!r} is no count")
    return int(number)


def _several(value: Any) -> list[str]:
    return [name for name in map(words_of, value if isinstance(value, list) else [value]) if name]
