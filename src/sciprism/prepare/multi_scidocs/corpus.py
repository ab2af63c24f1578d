"""The papers that a benchmark is made of: names, fields and citations in memory, texts on disk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sciprism.datasets.data_root import DataRoot
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.papers.s2orc import check_shards
from sciprism.prepare.citations.corpus import Gathering, table_of
from sciprism.prepare.citations.sources import Read
from sciprism.prepare.graphs.citations import CitationGraph

NO_TITLE, NO_ABSTRACT, NO_FIELD = "paper without title", "paper without abstract", "paper without field"
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
        check_shards(self.files, self.shards)


@dataclass(frozen=True, slots=True)
class Corpus:
    """Papers by row, each with a title, an abstract and a field.

    asks: the rows that may be queries. texts: the file with the papers, a line each. dropped: what was left
    out of papers and citations. read: what came of which file.
    """

    names: Sequence[str]
    fields: Sequence[tuple[str, ...]]
    asks: Sequence[int]
    graph: CitationGraph
    texts: Path
    dropped: DropReport
    read: Sequence[dict[str, object]]


def read_corpus(given: Given, home: DataRoot, texts: Path) -> Corpus:
    """Read all papers once; memory holds ids, fields and citations, the file `texts` the texts.

    Papers that lack a title, an abstract or a field, or that stand there again, are counted and left out,
    whatever cites them or is cited by them. Raises InputError where none is left.
    """
    read = Read()
    dropped = read.dropped
    asking: set[str] = set()

    def papers() -> Iterator[Paper]:
        for path in given.files:
            for paper, asked in read.papers(path, home, given.shards):
                asking.update([paper.id] if asked else ())
                kept = tuple(f for f in paper.fields if not given.fields or f in given.fields)
                yield replace(paper, fields=kept)
        skipped = read.report.skipped
        for place in [*map(str, skipped), *[""] * (read.report.skipped_count - len(skipped))]:
            dropped.add(NOT_READ, place)

    edges = None if given.edges is None else table_of(home, given.edges)
    whole = Gathering(_useless, dropped).corpus(papers(), texts, edges)
    if not whole.names:
        counts = ", ".join(f"{reason}: {each['count']:,}" for reason, each in dropped.to_json().items())
        raise InputError(
            f"{', '.join(map(str, given.files))}: no paper with title, abstract, field ({counts or 'none'})"
        )
    rows = [row for row, name in enumerate(whole.names) if name in asking]
    return Corpus(whole.names, whole.fields, rows, whole.graph, texts, dropped, read.to_json())


def _useless(paper: Paper) -> str:
    if any(character.isspace() for character in paper.id):
        return BAD_ID  # it would fall apart in a file of judgements
    if not paper.title:
        return NO_TITLE
    if not paper.abstract:
        return NO_ABSTRACT
    return "" if paper.fields else NO_FIELD
