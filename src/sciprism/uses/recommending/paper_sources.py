"""Papers with their vectors in blocks: from a collection, from files, or from a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Protocol

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.papers.cleaning import is_blank
from sciprism.papers.input_file import ReadOptions
from sciprism.papers.input_paths import Paths
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.store.manifest import is_collection
from sciprism.store.paper_table import has_no_abstract
from sciprism.uses.collection import Collection
from sciprism.uses.similar import choose_paper_space

ENCODED = 256
"""Papers that are encoded at once, the most that an interruption loses."""
READ = 2048
"""Papers of a collection that are compared at once."""
COLUMNS = ("id", "title", "authors", "year", "ids", "missing_abstract")
"""What is read of each paper of a collection; the rest is read of those that are recommended."""

PaperInput = Paths | StoredCollection | Collection | Iterable[Paper]
"""Files of papers, folders of collections, open collections, or papers."""
PaperVectors = Callable[[Sequence[Paper]], Floats]
"""Encodes papers, (n, d)."""


@dataclass(frozen=True, slots=True)
class PaperBlock:
    """Papers and their vectors (b, d). source: where the rest of a paper is, by its row."""

    papers: Sequence[Paper]
    vectors: Floats
    source: PaperSource
    rows: Sequence[int]
    without_abstract: int


class PaperSource(Protocol):
    """Some of the papers of an input.

    skipped: records that could not be used are counted here. piped: whether standard input is among the files.
    """

    skipped: ReadReport

    @property
    def piped(self) -> bool:
        """Tell whether standard input is read."""

    def count(self) -> int | None:
        """Return the number of papers, None where they can be read only once. InputError for a bad record."""

    def blocks(self, encode: PaperVectors) -> Iterator[PaperBlock]:
        """Yield all papers in blocks."""

    def complete(self, paper: Paper, row: int) -> Paper:
        """Return a paper of a block with all its fields."""


@dataclass(slots=True)
class CollectionSource:
    """The papers of a collection; their vectors are mapped, not computed."""

    stored: StoredCollection
    skipped: ReadReport = field(default_factory=ReadReport)
    piped: bool = False

    def count(self) -> int | None:
        """Return the number of papers."""
        return len(self.stored)

    def blocks(self, encode: PaperVectors) -> Iterator[PaperBlock]:  # noqa: ARG002 (they have vectors)
        """Yield all papers in blocks, without abstract, venue, fields, keywords and references."""
        stored, first = self.stored, 0
        mask = stored.mask()
        matrices = stored.vectors(choose_paper_space(stored))
        for matrix, columns in zip(matrices, stored.columns(*COLUMNS), strict=True):
            for start in range(0, len(matrix), READ):
                stop = min(start + READ, len(matrix))
                parts = zip(*(column[start:stop] for column in columns), strict=True)
                live = [row for row in range(start, stop) if mask is None or mask[first + row]]
                read = [line for row, line in enumerate(parts, first + start) if mask is None or mask[row]]
                papers = [_build_paper(*line[:-1]) for line in read]
                vectors = matrix.block(start, stop)[[row - start for row in live]]
                yield PaperBlock(papers, vectors, self, [first + row for row in live], sum(line[-1] for line in read))
            first += len(matrix)

    def complete(self, paper: Paper, row: int) -> Paper:  # noqa: ARG002 (it is read again)
        """Return a paper of a block with all its fields."""
        return self.stored.papers([row])[0]


@dataclass(slots=True)
class FileSource:
    """The papers of files, which are encoded. skip_bad: count records that cannot be used, instead of an error."""

    paths: Sequence[str | Path]
    options: ReadOptions = field(default_factory=ReadOptions)
    skip_bad: bool = False
    skipped: ReadReport = field(default_factory=ReadReport)

    @property
    def piped(self) -> bool:
        """Tell whether standard input is among the files."""
        return "-" in map(str, self.paths)

    def count(self) -> int | None:
        """Return the number of papers, None for a pipe."""
        if self.piped or any(Path(path).is_fifo() for path in self.paths):
            return None
        return sum(1 for _ in self._read(ReadReport()))

    def blocks(self, encode: PaperVectors) -> Iterator[PaperBlock]:
        """Yield all papers in blocks."""
        yield from _encode_blocks(self._read(self.skipped), encode, self)

    def complete(self, paper: Paper, row: int) -> Paper:  # noqa: ARG002 (it is complete)
        """Return the paper."""
        return paper

    def _read(self, report: ReadReport) -> Iterator[Paper]:
        return read_papers(self.paths, options=self.options, skip_bad=self.skip_bad, report=report)


@dataclass(slots=True)
class GivenPapers:
    """Papers of a program, which are encoded. name: of the input, for messages."""

    papers: Iterable[Paper]
    name: str = "input"
    skipped: ReadReport = field(default_factory=ReadReport)
    piped: bool = False

    def count(self) -> int | None:
        """Return the number of papers, None for a generator."""
        return len(self.papers) if isinstance(self.papers, Sequence) else None

    def blocks(self, encode: PaperVectors) -> Iterator[PaperBlock]:
        """Yield all papers in blocks."""
        yield from _encode_blocks(self._check(), encode, self)

    def complete(self, paper: Paper, row: int) -> Paper:  # noqa: ARG002 (it is complete)
        """Return the paper."""
        return paper

    def _check(self) -> Iterator[Paper]:
        for number, paper in enumerate(self.papers, 1):
            if is_blank(f"{paper.title}{paper.abstract}"):
                raise InputError(
                    f"{self.name} paper {number}, {paper.id!r}, has no title and no abstract; leave it out"
                )
            yield paper


@dataclass(frozen=True, slots=True)
class FileReading:
    """How files of papers are read: the options of readers, and whether records that cannot be used are skipped."""

    options: ReadOptions = field(default_factory=ReadOptions)
    skip_bad: bool = False


def open_sources(papers: PaperInput, reading: FileReading, name: str = "input") -> list[PaperSource]:
    """Return the sources of an input; paths that are no collections are read together.

    name: what the input is, for messages. Raises InputError for a path that does not exist.
    """
    if isinstance(papers, Collection):
        papers = papers.stored
    if isinstance(papers, StoredCollection):
        return [CollectionSource(papers)]
    if isinstance(papers, str | Path):
        papers = [papers]
    elif not isinstance(papers, Sequence) or not papers or isinstance(papers[0], Paper):
        return [GivenPapers(papers, name)]  # type: ignore[arg-type]  # no path is among them
    files: list[str | Path] = []
    sources: list[PaperSource] = []
    for path in papers:
        if is_collection(str(path)):
            sources.append(CollectionSource(StoredCollection.open(str(path))))
        else:
            files.append(str(path))
    if files:
        read_papers(files, options=reading.options)  # opens nothing, and names a missing file
        sources.append(FileSource(files, reading.options, reading.skip_bad))
    return sources


def _encode_blocks(papers: Iterator[Paper], encode: PaperVectors, source: PaperSource) -> Iterator[PaperBlock]:
    first = 0
    while block := list(islice(papers, ENCODED)):
        rows = range(first, first + len(block))
        yield PaperBlock(block, encode(block), source, rows, sum(map(has_no_abstract, block)))
        first += len(block)


def _build_paper(id: str, title: str, authors: list[str], year: int | None, ids: list[tuple[str, str]] | None) -> Paper:
    return Paper(id=id, title=title or "", authors=tuple(authors or ()), year=year, ids=dict(ids or ()))
