"""Papers with their vectors in blocks, all in one space: from a collection, from files, or from a program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.papers.cleaning import is_blank
from sciprism.papers.input_file import ReadOptions
from sciprism.papers.input_paths import Paths
from sciprism.papers.read import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.store.manifest import is_collection
from sciprism.uses.collection import Collection, load_encoder
from sciprism.uses.search import choose_paper_space

if TYPE_CHECKING:
    from sciprism.encoders.cached_encoder import CachedEncoder
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format

ENCODED = 256  # papers that are encoded at once, the most that an interruption loses
READ = 2048  # papers of a collection that are compared at once
COLUMNS = ("id", "title", "authors", "venue", "year", "ids", "missing_abstract")
"""What is read of each paper of a collection; the rest is read of those that are recommended."""

PaperInput = Paths | StoredCollection | Collection | Iterable[Paper]
"""Files of papers, folders of collections, open collections, or papers."""
PaperVectors = Callable[[Sequence[Paper]], Floats]  # encodes papers, (n, d)


@dataclass(frozen=True, slots=True)
class PaperBlock:
    """Papers and their vectors (b, d). stored, rows: the collection that has all fields of the papers, and where."""

    papers: Sequence[Paper]
    vectors: Floats
    without_abstract: int
    stored: StoredCollection | None = None
    rows: Sequence[int] = ()


@dataclass(slots=True)
class PaperSource:
    """Some papers of an input: of a collection, whose vectors are mapped, or those that `read` yields, to be encoded.

    read: counts in a report what it skips. repeatable: whether they can be read twice. piped: whether standard input is
    among the files.
    """

    stored: StoredCollection | None = None
    read: Callable[[ReadReport], Iterator[Paper]] = lambda _: iter(())
    repeatable: bool = True
    piped: bool = False
    skipped: ReadReport = field(default_factory=ReadReport)

    def count(self) -> int | None:
        """Return the number of papers, None where they can be read only once. InputError for a bad record."""
        if self.stored is not None:
            return len(self.stored)
        return sum(1 for _ in self.read(ReadReport())) if self.repeatable else None

    def blocks(self, encode: PaperVectors) -> Iterator[PaperBlock]:
        """Yield all papers in blocks; those of a collection without abstract, fields, keywords and references."""
        if self.stored is not None:
            yield from _read_blocks(self.stored)
            return
        papers = self.read(self.skipped)
        while block := list(islice(papers, ENCODED)):
            yield PaperBlock(block, encode(block), sum(is_blank(paper.abstract) for paper in block))


def sample_vectors(stored: StoredCollection, count: int) -> Iterator[Floats]:
    """Yield vectors of up to `count` papers, evenly from the whole collection, (1, d) each."""
    step = max(1, -(-len(stored) // count))
    for matrix in stored.vectors(choose_paper_space(stored)):
        yield from (matrix.block(row, row + 1) for row in range(step // 2, len(matrix), step))


def _read_blocks(stored: StoredCollection) -> Iterator[PaperBlock]:
    mask, first = stored.mask(), 0
    for matrix, columns in zip(stored.vectors(choose_paper_space(stored)), stored.columns(*COLUMNS), strict=True):
        for start in range(0, len(matrix), READ):
            stop = min(start + READ, len(matrix))
            live = [row for row in range(start, stop) if mask is None or mask[first + row]]
            read = [[column[row] for column in columns] for row in live]
            papers = [
                Paper(
                    id=id,
                    title=title or "",
                    authors=tuple(names or ()),
                    venue=venue or "",
                    year=year,
                    ids=dict(ids or ()),
                )
                for id, title, names, venue, year, ids, _ in read
            ]
            vectors = matrix.block(start, stop)[[row - start for row in live]]
            without_abstract = sum(line[-1] for line in read)
            yield PaperBlock(papers, vectors, without_abstract, stored, [first + row for row in live])
        first += len(matrix)


@dataclass(frozen=True, slots=True)
class FileReading:
    """How files are read: the options of readers, whether unusable records are skipped, and the reader's name."""

    options: ReadOptions = field(default_factory=ReadOptions)
    skip_bad: bool = False
    reader: str = ""


def open_sources(papers: PaperInput, reading: FileReading, name: str = "input") -> list[PaperSource]:
    """Return the sources of an input; paths that are no collections are read together.

    name: what the input is, for messages. Raises InputError for a path that does not exist.
    """
    if isinstance(papers, Collection):
        papers = papers.stored
    if isinstance(papers, StoredCollection):
        return [PaperSource(papers)]
    if isinstance(papers, str | Path):
        papers = [papers]
    elif not isinstance(papers, Sequence) or not papers or isinstance(papers[0], Paper):
        given = cast("Iterable[Paper]", papers)  # no path is among them
        return [PaperSource(read=lambda _: _check_papers(given, name), repeatable=isinstance(papers, Sequence))]
    paths = list(map(str, papers))
    stored = [path for path in paths if is_collection(path)]
    files = [path for path in paths if path not in stored]
    sources = [PaperSource(StoredCollection.open(path)) for path in stored]
    if files:
        read = partial(read_papers, files, reader=reading.reader, options=reading.options)
        read()  # opens nothing, and names a missing file
        piped = "-" in files
        sources.append(
            PaperSource(
                read=lambda report: read(skip_bad=reading.skip_bad, report=report),
                repeatable=not piped and not any(Path(path).is_fifo() for path in files),
                piped=piped,
            )
        )
    return sources


def _check_papers(papers: Iterable[Paper], name: str) -> Iterator[Paper]:
    for number, paper in enumerate(papers, 1):
        if is_blank(f"{paper.title}{paper.abstract}"):
            raise InputError(f"{name} paper {number}, {paper.id!r}, has no title and no abstract; leave it out")
        yield paper


class SharedSpace:
    """Encodes papers so that their vectors compare with those of some collections.

    collections: all of one encoder and one space; InputError names two that differ. model: a name, a folder or an
    encoder; by default that of the collections, or without any the model that ships. It is loaded by the first paper
    without a stored vector; then `model` is its name. Vectors are cached: the next day encodes new papers alone.
    """

    def __init__(self, collections: Sequence[StoredCollection], model: str | Encoder = "") -> None:
        self._collections, self._model = collections, model
        self._encoder: Encoder | CachedEncoder | None = None
        self.model = collections[0].manifest.encoder.name if collections else ""
        self.encoded = 0
        for other in collections[1:]:
            _check_same_space(collections[0], other)
        if collections and not isinstance(model, str):
            collections[0].check_encoder(model)

    def encode(self, papers: Sequence[Paper]) -> Floats:
        """Return the vectors of papers, (n, d)."""
        if self._encoder is None:
            self._encoder = self._open_encoder()
        self.encoded += len(papers)
        return self._encoder.encode(papers, format=self._format, role="paper")

    @property
    def _format(self) -> Format:
        if not self._collections:
            return "proximity"
        stored = self._collections[0]
        return cast("Format", stored.manifest.spaces[choose_paper_space(stored)].formats[0])

    def _open_encoder(self) -> Encoder | CachedEncoder:
        from sciprism.encoders.cached_encoder import CachedEncoder
        from sciprism.encoders.encoder import Encoder

        if not isinstance(self._model, str):
            self.model = self._model.name
            return self._model
        if self._collections:
            stored = self._collections[0]
            precision = str(stored.manifest.encoder.options.get("precision", "float32"))
            encoder = load_encoder(stored, self._model, precision=precision)
        else:
            encoder = Encoder.load(self._model or None)
        if self._format not in encoder.formats:
            raise InputError(f"{encoder.name} has no format {self._format!r}; it has {', '.join(encoder.formats)}")
        self.model = encoder.name
        return CachedEncoder(encoder) if isinstance(encoder, Encoder) else encoder


def _check_same_space(one: StoredCollection, other: StoredCollection) -> None:
    first, second = one.manifest.encoder, other.manifest.encoder
    spaces = choose_paper_space(one), choose_paper_space(other)
    if (first.fingerprint, spaces[0]) != (second.fingerprint, spaces[1]):
        raise InputError(
            f"{one.folder} has vectors of {first.name} (fingerprint {first.fingerprint}, space {spaces[0]}), "
            f"{other.folder} of {second.name} (fingerprint {second.fingerprint}, space {spaces[1]}); they do not "
            "compare: embed one of them again with the other's model, or name its file of papers"
        )
