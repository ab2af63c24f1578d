"""Mine hard negatives: the candidates that a teacher finds nearest to a query and that are not known as positives.

A candidate that is nearly as near as the positive is often an unlabelled positive. It is left out by a share of the
positive's score: "TopK-PercPos" of NV-Retriever (Moreira et al. 2024), whose share is 95 %. Candidates and their
vectors are on disk; memory holds hashes of their texts, ids and titles.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, overload

import numpy as np
from pydantic import AfterValidator, BeforeValidator

from sciprism.arrays import Floats
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.systems import EncodingInput, NotServedError, System, VectorSystem
from sciprism.files import create_work_folder, sha256, write_lines
from sciprism.formats import Format, Role
from sciprism.papers.identity import hash_text
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import Paper
from sciprism.papers.rows import read_named_rows
from sciprism.prepare.filters import list_names
from sciprism.prepare.preparation import PARTS, CountTable, ExampleFolder, Positive, Preparation, Settings, Share
from sciprism.text.template import Item
from sciprism.training.examples import TITLE_SEPARATOR, Example, read_examples

REPORT = "negatives.json"
BLOCK = 4096  # candidates that are encoded at once, and queries that are searched at once
REMEMBERED = 1 << 16  # candidates whose marks are in memory
FORMATS: dict[Role, Format] = {"query": "search", "paper": "proximity"}
"""Role of the queries -> what the vectors of a source are for."""
SELF, KNOWN, NEAR = "the query itself", "known positive", "nearly as near as the positive"


def _parse_ranks(given: Any) -> Any:
    """Return the ranks of a text such as 10-100."""
    words = given.split("-") if isinstance(given, str) else ()
    return tuple(map(int, words)) if len(words) == 2 and all(word.isdigit() for word in words) else given


def _check_order(ranks: tuple[int, int]) -> tuple[int, int]:
    if ranks[0] > ranks[1]:
        raise ValueError("expected two ranks, the lower number first, such as 10-100")
    return ranks


class NegativeSettings(Settings):
    """Which candidates become negatives.

    ranks: of the first and the last that is looked at, from 1 for the nearest. share: of the score of the query's
    lowest positive; candidates with a higher score are left out. number: of negatives of a query, the nearest first.
    """

    ranks: Annotated[tuple[Positive, Positive], BeforeValidator(_parse_ranks), AfterValidator(_check_order)] = (
        10,
        1000,
    )
    share: Share = 0.95
    number: Positive = 4

    def limit(self, scores: Floats) -> float:
        """Return the highest score of a negative, given those of the positives; below them where they are negative."""
        lowest = float(scores.min())
        return lowest - (1 - self.share) * abs(lowest)


def list_marks(item: Item) -> set[int]:
    """Return hashes of what identifies a paper or the words of a query: ids, title, text."""
    paper = item if isinstance(item, Paper) else Paper(id="", title=str(item))
    return {*map(hash_text, {*list_names(paper)} - {"id:"}), hash_text(_join(paper))}


def _name(item: Item) -> str:
    return item[:80] if isinstance(item, str) else item.id


def _join(paper: Paper) -> str:
    return f"{paper.title}\0{paper.abstract}"


class KnownPositives:
    """The marks of all that is linked to an item in any source; a link counts in both directions."""

    def __init__(self) -> None:
        self._linked: defaultdict[int, set[int]] = defaultdict(set)

    def add(self, example: Example) -> None:
        """Link a query and its positives."""
        query = list_marks(example.query)
        for positive in map(list_marks, example.positives):
            for ours, theirs in ((query, positive), (positive, query)):
                for mark in ours:
                    self._linked[mark] |= theirs

    def of(self, marks: Iterable[int]) -> set[int]:
        """Return the marks of what is linked to an item."""
        return {linked for mark in marks for linked in self._linked.get(mark, ())}


class CandidateFile(Sequence[Paper]):
    """Papers of different texts in a file, which are read one by one; a row is a paper."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ends = array("q", [0])
        self._row_of: dict[int, int] = {}
        self.identify = lru_cache(REMEMBERED)(self._identify)  # the id or title, and the marks, of a row

    def write(self, papers: Iterable[Paper]) -> None:
        """Write the papers, each text once."""
        write_lines(self._path, self._lines(papers))

    def _lines(self, papers: Iterable[Paper]) -> Iterator[str]:
        for paper in papers:
            if self._row_of.setdefault(hash_text(_join(paper)), len(self)) == len(self):
                yield (line := json.dumps({"id": paper.id, "title": paper.title, "abstract": paper.abstract}))
                self._ends.append(self._ends[-1] + len(line) + 1)

    def _identify(self, row: int) -> tuple[str, set[int]]:
        return _name(self[row]), list_marks(self[row])

    def row(self, paper: Paper) -> int:
        """Return the row of a text."""
        return self._row_of[hash_text(_join(paper))]

    def __len__(self) -> int:
        return len(self._ends) - 1

    @overload
    def __getitem__(self, row: int) -> Paper: ...
    @overload
    def __getitem__(self, row: slice) -> list[Paper]: ...
    def __getitem__(self, row: int | slice) -> Paper | list[Paper]:
        """Read one paper, or several."""
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        with self._path.open("rb") as file:
            file.seek(self._ends[range(len(self))[row]])
            return Paper(**json.loads(file.read(self._ends[row + 1] - file.tell())))


class MappedTeacher(VectorSystem):
    """A teacher whose vectors of the candidates are encoded once, in blocks, and mapped from a file."""

    def __init__(self, teacher: VectorSystem, candidates: EncodingInput, path: Path) -> None:
        self.name, self.distance, self._teacher = teacher.name, teacher.distance, teacher
        for start in range(0, count := len(candidates.items), BLOCK):
            block = teacher.encode(replace(candidates, items=candidates.items[start : start + BLOCK]))
            if not start:
                self._vectors: Floats = np.memmap(path, np.float32, "w+", shape=(count, block.shape[1]))
            self._vectors[start : start + len(block)] = block

    @property
    def fingerprint(self) -> str:
        """Return the teacher's."""
        return self._teacher.fingerprint

    def encode_both(self, queries: EncodingInput, documents: EncodingInput) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Return the vectors of queries and of all candidates."""
        return self._teacher.encode(queries), self._vectors


@dataclass(slots=True)
class MinedSource:
    """A file of examples, its distinct candidates, and counts that grow while its negatives are mined.

    query: the role of its queries; papers have the separator of title and abstract, other words are queries. found:
    number of negatives -> of how many queries.
    """

    path: Path
    candidates: CandidateFile
    query: Role = "paper"
    found: Counter[int] = field(default_factory=Counter)
    dropped: DropReport = field(default_factory=DropReport)

    def __post_init__(self) -> None:
        for _, row in read_named_rows(InputFile(self.path)):
            self.query = "query" if TITLE_SEPARATOR not in row.get("question", TITLE_SEPARATOR) else "paper"
            break

    @property
    def name(self) -> str:
        """Return the name of the file to write: that of the source, in the folder train or dev if it is in one."""
        part = self.path.parent.name
        return f"{part}/{self.path.name}" if part in PARTS else self.path.name

    def read(self, known: KnownPositives) -> None:
        """Write the candidates to their file, and link queries and positives."""

        def candidates() -> Iterator[Paper]:
            for example in self._examples():
                known.add(example)
                yield from (item for item in (*example.positives, *example.negatives) if isinstance(item, Paper))
                if not example.positives:
                    self.dropped.add("query without a positive", _name(example.query))

        self.candidates.write(candidates())
        if not len(self.candidates):
            raise InputError(f"{self.path}: no query has a positive; negatives are for sources of pairs")

    def _examples(self) -> Iterator[Example]:
        return read_examples(self.path, query=self.query, candidate="paper")

    def mine(
        self, system: System, known: KnownPositives, settings: NegativeSettings, folder: Path
    ) -> Iterator[Example]:
        """Yield the examples with the negatives that a system finds among the candidates."""
        texts = EncodingInput(items=self.candidates, format=FORMATS[self.query])
        teacher = MappedTeacher(system, texts, folder / "vectors") if isinstance(system, VectorSystem) else system
        examples = (example for example in self._examples() if example.positives)
        while block := [*islice(examples, BLOCK)]:
            queries = replace(texts, items=[example.query for example in block], role=self.query)
            pools = [np.array([self.candidates.row(paper) for paper in example.positives]) for example in block]  # type: ignore
            positives = teacher.pool_scores(queries, texts, pools, "encoder")
            ranked = zip(*teacher.top(queries, texts, settings.ranks[1], "encoder", None), strict=True)
            for example, of_positives, (scores, rows) in zip(block, positives, ranked, strict=True):
                first = settings.ranks[0] - 1
                nearest = zip(scores[first:].tolist(), rows[first:].tolist(), strict=True)
                negatives = self._select(example.query, nearest, known, settings.limit(of_positives))
                chosen = tuple(islice(negatives, settings.number))
                self.found[len(chosen)] += 1
                yield replace(example, negatives=chosen)

    def _select(
        self, query: Item, nearest: Iterable[tuple[float, int]], known: KnownPositives, limit: float
    ) -> Iterator[Paper]:
        """Yield the candidates that may be negatives, and count the others. nearest: scores and rows, -1 for none."""
        own = list_marks(query)
        linked = known.of(own)
        for score, row in nearest:
            if row < 0:
                return
            name, marks = self.candidates.identify(row)
            reason = SELF if marks & own else KNOWN if marks & linked else NEAR if score > limit else ""
            if reason:
                self.dropped.add(reason, name)
            else:
                yield self.candidates[row]

    def count(self, number: int) -> dict[str, int]:
        """Return the counts: queries, candidates, negatives; queries with fewer than the number, and with none."""
        return {
            "queries": self.found.total(),
            "candidates": len(self.candidates),
            "negatives": sum(size * queries for size, queries in self.found.items()),
            "fewer": sum(queries for size, queries in self.found.items() if 0 < size < number),
            "none": self.found[0],
        }


def prepare_negatives(out: Path, paths: Sequence[Path], teacher: System, settings: NegativeSettings) -> Preparation:
    """Write the examples of each file with mined negatives instead of the file's, and `negatives.json`.

    A query's candidates are all positives and negatives of its file. What any of the files states as its positive, or
    of which it is a positive, is never its negative, nor a paper of the same id, title or text. Vectors are cached,
    so that the same call continues after an interruption. Raises InputError for files of one name, or without a pair,
    and for a teacher that cannot search.
    """
    folder, known = ExampleFolder(out), KnownPositives()
    with create_work_folder(out, ".negatives-") as work:
        sources = [MinedSource(path, CandidateFile(work / str(number))) for number, path in enumerate(paths)]
        names = Counter(source.name for source in sources)
        if names.total() > len(names):
            raise InputError(f"two sources would be {names.most_common(1)[0][0]} in {out}; prepare them one by one")
        for source in sources:
            source.read(known)
        for source in sources:
            try:
                folder.write(source.name, source.mine(teacher, known, settings, work))
            except NotServedError as error:
                raise InputError(f"--model: {error}") from error
    counts = {source.name: source.count(settings.number) for source in sources}
    records = {
        source.name: {"source": str(source.path), "source_sha256": sha256(source.path), "query": source.query}
        | folder.describe(source.name)
        | counts[source.name]
        | {"dropped": source.dropped.to_json()}
        for source in sources
    }
    heads = tuple(next(iter(counts.values())))
    record = {"teacher": dict(teacher.describe()), "settings": settings.model_dump(), "sources": records}
    return Preparation(
        files=folder.counts,
        record=folder.write_manifest(REPORT, record),
        dropped={source.name: source.dropped for source in sources},
        tables=[CountTable(("source",), heads, [(name, *each.values()) for name, each in counts.items()])],
    )
