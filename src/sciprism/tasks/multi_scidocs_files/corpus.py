"""The papers that a benchmark is made of: names, fields and citations in memory, texts on disk."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from sciprism.errors import InputError
from sciprism.papers.reading import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.papers.s2orc import is_s2orc, read_s2orc, shards_in
from sciprism.tally import Tally
from sciprism.tasks.home import Home
from sciprism.tasks.rows import as_id
from sciprism.tasks.scimult_files.desk import numbered
from sciprism.tasks.scirepeval_files.records import need
from sciprism.training.graphs.citations import CitationGraph

NO_TITLE, NO_ABSTRACT, NO_FIELD = "paper without title", "paper without abstract", "paper without field"
AGAIN = "paper that stands there before"
BAD_ID = "paper whose id has white space in it"
NOT_READ = "record that cannot be used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a corpus is read from: papers in any format, or folders with S2ORC's shards.

    edges: a table with the columns `citing` and `cited`, instead of the papers' own references. fields: those
    that count, all where none is named. shards: of S2ORC, those whose papers may be queries; candidates come
    of all shards that are there.
    """

    files: tuple[Path, ...]
    edges: Path | None = None
    fields: tuple[str, ...] = ()
    shards: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.files:
            raise InputError("no papers to make a benchmark of; name files, or a folder with S2ORC's shards")
        if self.shards and not all(map(is_s2orc, self.files)):
            raise InputError(
                "shards are a matter of S2ORC; name folders with metadata/ and pdf_parses/ alone"
            )


@dataclass(frozen=True, slots=True)
class Corpus:
    """Papers by row, each with a title, an abstract and a field.

    asks: the rows that may be queries. dropped: what was left out of papers and citations. read: what came of
    which file.
    """

    names: Sequence[str]
    fields: Sequence[tuple[str, ...]]
    asks: Sequence[int]
    graph: CitationGraph
    texts: Texts
    dropped: Tally
    read: Sequence[dict[str, Any]]


class Texts:
    """Titles and abstracts of papers in an open file, in the order of the rows."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def put(self, paper: Paper) -> None:
        """Add the text of the next row."""
        self._file.write(json.dumps([paper.title, paper.abstract]).encode("ascii") + b"\n")

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Yield (title, abstract) of every row; one walk at a time."""
        self._file.seek(0)
        for line in self._file:
            title, abstract = json.loads(line)
            yield title, abstract


@dataclass(slots=True)
class _Reading:
    """A corpus that grows as papers come.

    rows: id -> row. ends: of references, one after the other, by number. numbers: id -> number.
    """

    texts: Texts
    dropped: Tally = field(default_factory=Tally)
    rows: dict[str, int] = field(default_factory=dict)
    fields: list[tuple[str, ...]] = field(default_factory=list)
    asks: array[int] = field(default_factory=lambda: array("i"))
    numbers: dict[str, int] = field(default_factory=dict)
    ends: array[int] = field(default_factory=lambda: array("i"))
    alike: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)

    def take(self, paper: Paper, wanted: frozenset[str], *, asks: bool, cites: bool) -> None:
        """Add a paper, or count why not. asks: it may be a query. cites: its references count."""
        fields = tuple(name for name in dict.fromkeys(paper.fields) if not wanted or name in wanted)
        if reason := _useless(paper, fields) or (AGAIN if paper.id in self.rows else ""):
            self.dropped.add(reason, paper.id)
            return
        row = self.rows[paper.id] = len(self.rows)
        self.fields.append(self.alike.setdefault(fields, fields))
        self.texts.put(paper)
        if asks:
            self.asks.append(row)
        for other in paper.references if cites else ():
            self._cite(paper.id, other)

    def _cite(self, citing: str, cited: str) -> None:
        self.ends.extend((self._number(citing), self._number(cited)))

    def edges(self) -> Iterator[tuple[str, str]]:
        """Yield (citing id, cited id) of all references."""
        names = list(self.numbers)
        ends = iter(self.ends)
        return ((names[one], names[other]) for one, other in zip(ends, ends, strict=True))

    def _number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))


def read_corpus(given: Given, home: Home, file: IO[bytes]) -> Corpus:
    """Read all papers once; memory holds ids, fields and citations, the empty `file` takes the texts.

    Papers that lack a title, an abstract or a field, or that stand there again, are counted and left out,
    whatever cites them or is cited by them. Raises InputError where none is left.
    """
    dropped, read = Tally(), list[dict[str, Any]]()
    reading = _Reading(Texts(file), dropped)
    wanted = frozenset(given.fields)
    for paper, asks in _papers(given, read, dropped):
        reading.take(paper, wanted, asks=asks, cites=given.edges is None)
    if not reading.rows:
        counts = ", ".join(f"{reason}: {each['count']:,}" for reason, each in dropped.to_json().items())
        raise InputError(
            f"{', '.join(map(str, given.files))}: no paper with title, abstract, field ({counts or 'none'})"
        )
    names = list(reading.rows)
    edges = reading.edges() if given.edges is None else _table(given.edges, home)
    graph = CitationGraph.of(names, edges, dropped)
    return Corpus(names, reading.fields, reading.asks, graph, reading.texts, dropped, read)


def _papers(given: Given, read: list[dict[str, Any]], dropped: Tally) -> Iterator[tuple[Paper, bool]]:
    """Yield the papers of all files, each with whether it may be a query; `read` tells of the files."""
    report = ReadReport()
    for path in given.files:
        if not is_s2orc(path):
            yield from ((paper, True) for paper in read_papers(path, skip_bad=True, report=report))
            continue
        there = shards_in(path, dropped)
        if lost := sorted({*given.shards} - {*there}):
            raise InputError(f"{path}: no shard {lost[0]}; there are {', '.join(map(str, there))}")
        for shard in there:
            asks, papers = not given.shards or shard in given.shards, 0
            for paper in read_s2orc(path, shards=[shard], tally=dropped):
                papers += 1
                yield paper, asks
            read.append({"path": str(path), "shard": shard, "papers": papers, "queries": asks})
    for file in report.files:
        told = {"path": file.path, "format": file.format, "papers": file.papers, "skipped": file.skipped}
        read.append(told)
    for place in [*map(str, report.skipped), *[""] * (report.skipped_count - len(report.skipped))]:
        dropped.add(NOT_READ, place)


def _useless(paper: Paper, fields: Iterable[str]) -> str:
    if any(character.isspace() for character in paper.id):
        return BAD_ID  # it would fall apart in a file of judgements
    if not paper.title:
        return NO_TITLE
    if not paper.abstract:
        return NO_ABSTRACT
    return "" if fields else NO_FIELD


def _table(path: Path, home: Home) -> Iterator[tuple[str, str]]:
    """Yield (citing, cited) of a table, CSV, TSV, JSON lines or Parquet."""
    for where, row in numbered(home, path):
        yield as_id(need(row, "citing", where)), as_id(need(row, "cited", where))
