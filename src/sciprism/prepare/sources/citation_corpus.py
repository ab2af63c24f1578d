"""Papers by row, and their links: ids, fields and citations in memory, texts on disk."""

from __future__ import annotations

import json
import re
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from sciprism.datasets.data_root import DataRoot, as_id
from sciprism.datasets.layouts.item_tables import parse_number
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import write_lines
from sciprism.papers.input_file import InputFile
from sciprism.papers.read import FileReport, ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.papers.s2orc import is_s2orc, list_shards, read_shard
from sciprism.prepare.sources.records import format_words, require_field
from sciprism.prepare.sources.specter_pickles import is_specter_pickle, read_pickled_papers, read_specter_pickle

Rows = NDArray[np.int32]

UNKNOWN_PAPER = "citation of or by an unknown paper"
SELF_CITATION = "self-citation"
DUPLICATE_CITATION = "duplicate citation"
MUTUAL_CITATION = "two papers that cite each other (retained)"


@dataclass(frozen=True, slots=True)
class Adjacency:
    """The rows linked to each row, ascending. bounds: (n + 1,), where each row's part of `others` begins."""

    bounds: NDArray[np.int64]
    others: Rows

    def __getitem__(self, row: int) -> Rows:
        return self.others[self.bounds[row] : self.bounds[row + 1]]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return the number of rows linked to each row, (n,)."""
        return np.diff(self.bounds)


class CitationGraph:
    """Papers by row, and their citations in both directions.

    size: papers. citing, cited: the rows of each citation, in any order; `from_edges` makes them from ids.
    `cited[row]` are the papers that a paper cites, `citing[row]` those that cite it.
    """

    def __init__(self, size: int, citing: Rows, cited: Rows) -> None:
        self.size = size
        self.cited = _adjacency(size, citing, cited)
        self.citing = _adjacency(size, cited, citing)

    @classmethod
    def from_edges(cls, names: Sequence[str], edges: Iterable[tuple[str, str]], dropped: DropReport) -> CitationGraph:
        """Build the graph of named papers. edges: (citing id, cited id), read one by one.

        Citations of or by unknown papers, self-citations and duplicates are counted and dropped; citations in
        both directions are counted and retained. Raises InputError if two papers have the same name.
        """
        rows = rows_of(names)
        ones, others = array("i"), array("i")
        for one, other in edges:
            if one not in rows or other not in rows:
                dropped.add(UNKNOWN_PAPER, f"{one} -> {other}")
            elif one == other:
                dropped.add(SELF_CITATION, one)
            else:
                ones.append(rows[one])
                others.append(rows[other])
        size = max(1, len(names))
        pairs = np.frombuffer(ones, np.int32).astype(np.int64) * size + np.frombuffer(others, np.int32)
        pairs.sort()
        again = np.flatnonzero(pairs[1:] == pairs[:-1])
        duplicates, pairs = pairs[again], np.delete(pairs, again)
        turned = pairs % size * size + pairs // size
        mutual = pairs[np.isin(pairs, turned, assume_unique=True) & (pairs < turned)]
        for reason, codes in ((DUPLICATE_CITATION, duplicates), (MUTUAL_CITATION, mutual)):
            for pair in codes.tolist():
                dropped.add(reason, f"{names[pair // size]} -> {names[pair % size]}")
        return cls(len(names), (pairs // size).astype(np.int32), (pairs % size).astype(np.int32))

    @property
    def edges(self) -> tuple[Rows, Rows]:
        """Return the citing and the cited row of each citation, in the order of the rows."""
        return np.repeat(np.arange(self.size, dtype=np.int32), self.cited.counts), self.cited.others

    def targets(self, row: int) -> list[int]:
        """Return the papers that a paper cites, ascending."""
        return list(self.cited[row].tolist())

    def linked(self, row: int) -> set[int]:
        """Return the paper itself, those it cites and those that cite it."""
        return {row, *self.cited[row].tolist(), *self.citing[row].tolist()}

    def two_steps_away(self, row: int) -> set[int]:
        """Return the papers that the cited papers cite."""
        return set(chain.from_iterable(self.cited[other].tolist() for other in self.cited[row]))

    def sample_one(self, random: Random, row: int) -> int | None:
        """Sample a cited paper; None if the paper cites none."""
        cited = self.cited[row]
        return int(random.choice(cited)) if len(cited) else None


def rows_of(names: Iterable[str]) -> dict[str, int]:
    """Return name -> row. Raises InputError if two papers have the same name."""
    rows: dict[str, int] = {}
    for row, name in enumerate(names):
        if rows.setdefault(name, row) != row:
            raise InputError(f"two papers have the id {name!r}; give each paper its own id")
    return rows


def _adjacency(size: int, ones: Rows, others: Rows) -> Adjacency:
    order = np.lexsort((others, ones))
    bounds = np.concatenate([[0], np.cumsum(np.bincount(ones, minlength=size))])
    return Adjacency(bounds.astype(np.int64), np.ascontiguousarray(others[order], np.int32))


Edges = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class CitationCorpus:
    """Papers and their citations. names, fields: of each paper, by row."""

    names: list[str]
    fields: list[tuple[str, ...]]
    graph: CitationGraph

    def without(self, excluded: NDArray[np.bool_], dropped: DropReport) -> CitationCorpus:
        """Return the corpus without some papers; count the citations that are dropped with them."""
        retained = np.flatnonzero(~excluded)
        rows = np.cumsum(~excluded, dtype=np.int32) - 1
        citing, cited = self.graph.edges
        inside = ~(excluded[citing] | excluded[cited])
        for edge in np.flatnonzero(~inside).tolist():
            name = f"{self.names[citing[edge]]} -> {self.names[cited[edge]]}"
            dropped.add("citation of or by a held-out paper", name)
        graph = CitationGraph(len(retained), rows[citing[inside]], rows[cited[inside]])
        return CitationCorpus([self.names[row] for row in retained], [self.fields[row] for row in retained], graph)


def build_corpus(
    papers: Iterable[Paper],
    path: Path,
    drop_reason: Callable[[Paper], str],
    dropped: DropReport,
    edges: Edges | None = None,
) -> CitationCorpus:
    """Write the retained papers to a file, and return the corpus.

    drop_reason: why a paper is dropped, "" if it is not. edges: instead of the papers' own references; an id may
    be of another system, such as doi:10.1/x.
    """
    names, aliases = dict[str, None](), dict[str, str]()
    fields, shared_fields = list[tuple[str, ...]](), dict[tuple[str, ...], tuple[str, ...]]()

    def lines(spool: IO[str]) -> Iterator[str]:
        for paper in papers:
            if reason := "duplicate id" if paper.id in names else drop_reason(paper):
                dropped.add(reason, paper.id)
                continue
            names[paper.id] = None
            if not paper.abstract:
                dropped.add("no abstract, title only (retained)", paper.id)
            fields.append(shared_fields.setdefault(paper.fields, paper.fields))
            for system, value in paper.ids.items():
                aliases.setdefault(f"{system}:{value}", paper.id)
            if edges is None:
                spool.writelines(json.dumps([paper.id, cited]) + "\n" for cited in paper.references)
            stored = Paper(id=paper.id, title=paper.title, abstract=paper.abstract, fields=paper.fields)
            yield json.dumps(stored.to_json(), ensure_ascii=False)

    def resolve(name: str) -> str:
        return name if name in names else aliases.get(name, name)

    with TemporaryFile("w+", encoding="utf-8", errors="replace") as spool:
        write_lines(path, lines(spool), errors="replace")
        spool.seek(0)
        pairs: Edges = map(json.loads, spool) if edges is None else edges
        resolved = ((resolve(citing), resolve(cited)) for citing, cited in pairs)
        return CitationCorpus([*names], fields, CitationGraph.from_edges([*names], resolved, dropped))


TripletRows = Mapping[int, list[tuple[int, int]]]  # row of a query -> the rows of its positives and negatives, in pairs

_KEY = r'"(?:[^"\\]|\\.)*"\s*:\s*'
_PLAIN = r'(?:"(?:[^"\\]|\\.)*"|\[[^\[\]]*\]|[^"{}\[\],]+)\s*,\s*'
_KEYED = re.compile(rf'\s*\{{\s*{_KEY}\{{\s*(?:{_KEY}{_PLAIN})*"(?:paper_id|title|abstract)"\s*:')
"""The head of an object whose first member is a paper; plain values may come before its id or text."""


def read_keyed_papers(data_root: DataRoot, path: Path) -> Iterator[Paper]:
    """Yield the papers of a JSON object keyed by id, such as SPECTER's and SciDocs' metadata."""
    for name, row in data_root.members(path):
        if not isinstance(row, dict):
            raise InputError(f"{path}, {name!r}: expected an object with title and abstract, got {row!r:.40}")
        title, abstract = (format_words(row.get(key)) for key in ("title", "abstract"))
        yield Paper(id=as_id(row.get("paper_id")) or name, title=title, abstract=abstract)


def read_link_strengths(
    data_root: DataRoot, path: Path, rows: Mapping[str, int], dropped: DropReport
) -> Iterator[tuple[int, dict[int, float]]]:
    """Yield (row, row -> strength) of SPECTER's data.json: {"q": {"p": {"count": 5}}}.

    rows: id -> row. Links of and to unknown papers are counted and dropped.
    """
    for name, others in data_root.members(path):
        if not isinstance(others, dict):
            raise InputError(f"{path}, {name!r}: expected an object of link strengths, got {others!r:.40}")
        strengths: dict[int, float] = {}
        for other, link in others.items():
            count = link.get("count") if isinstance(link, dict) else link
            strength = parse_number(count, f"{path}, {name!r}, {other!r}")
            if name not in rows or other not in rows:
                dropped.add("link to an unknown paper", f"{name} -> {other}")
            elif name != other:
                strengths[rows[other]] = strength
        if strengths:
            yield rows[name], strengths


def read_triplets(data_root: DataRoot, path: Path, rows: Mapping[str, int], dropped: DropReport) -> TripletRows:
    """Return the triplets of a table query_paper_id, positive_id, negative_id, as SciNCL's, or of SPECTER's pickle.

    rows: id -> row. Triplets with an unknown paper are counted and dropped.
    """
    triplets: dict[int, list[tuple[int, int]]] = defaultdict(list)
    if is_specter_pickle(path):
        listed = ([paper.id for paper in papers] for papers in read_specter_pickle(path))
    else:
        keys = ("query_paper_id", "positive_id", "negative_id")
        rows_of_file = data_root.located_records(path)
        listed = ([as_id(require_field(row, key, where)) for key in keys] for where, row in rows_of_file)
    for names in listed:
        if all(name in rows for name in names):
            query, positive, negative = (rows[name] for name in names)
            triplets[query].append((positive, negative))
        else:
            dropped.add("triplet with an unknown paper", ", ".join(names))
    return triplets


MULTI_SCIDOCS = "multi-scidocs"  # the folder of the benchmark that `prepare multi-scidocs` writes
QUERY_FILES, CORPUS = ("val.txt", "test.txt"), "data_final.json"
"""In a folder of Multi-SciDocs: the ids of the queries, and the papers."""


@dataclass(frozen=True, slots=True)
class PaperReader:
    """Reads papers. report: papers of each file. dropped: records of S2ORC's shards."""

    report: ReadReport = field(default_factory=ReadReport)
    dropped: DropReport = field(default_factory=DropReport)

    def read(self, path: Path, data_root: DataRoot, shards: Collection[int] = ()) -> Iterator[tuple[Paper, bool]]:
        """Yield the papers of a file of any format, an object keyed by id, SPECTER's pickle, or a folder of S2ORC.

        shards: of S2ORC, those whose papers are queries, () for all; each paper comes with whether it is.
        Raises InputError if one of them is missing.
        """
        if is_s2orc(path):
            existing = list_shards(path, self.dropped)
            if missing := sorted({*shards} - {*existing}):
                raise InputError(f"{path}: no shard {missing[0]}; there are {', '.join(map(str, existing))}")
            for shard in existing:
                is_query = not shards or shard in shards
                label = f"{path}, shard {shard}{'' if is_query else ' (candidates only)'}"
                papers = read_shard(path, shard, self.dropped)
                yield from ((paper, is_query) for paper in self._count(label, "s2orc", papers))
            return
        file = InputFile(path)
        if path.is_file() and file.name.endswith(".json") and _KEYED.match(file.head()):
            papers = self._count(str(path), "keyed by id", read_keyed_papers(data_root, path))
        elif is_specter_pickle(path):
            papers = self._count(str(path), "SPECTER's triplets", read_pickled_papers(path))
        else:
            papers = read_papers(path, skip_bad=True, report=self.report)
        yield from ((paper, True) for paper in papers)

    def read_queries(self, path: Path, data_root: DataRoot) -> Iterator[Paper]:
        """Yield the queries of a folder of Multi-SciDocs, or of a folder with one; all papers of anything else."""
        for folder in (path, path / MULTI_SCIDOCS):
            if all((folder / name).is_file() for name in QUERY_FILES):
                texts = ((folder / name).read_text(encoding="utf-8") for name in QUERY_FILES)
                names = {name for text in texts for name in text.split("\n")}
                papers = (paper for paper in read_keyed_papers(data_root, folder / CORPUS) if paper.id in names)
                yield from self._count(str(folder), "Multi-SciDocs", papers)
                return
        yield from (paper for paper, _ in self.read(path, data_root))

    def unreadable(self) -> Iterator[str]:
        """Yield the place of each record that could not be read; "" beyond those that the report names."""
        yield from self.report.skipped
        yield from [""] * (self.report.skipped_count - len(self.report.skipped))

    def to_json(self) -> list[dict[str, object]]:
        """Return the counts of each file as JSON values."""
        return [
            {"file": Path(file.path).name, "format": file.format, "papers": file.papers, "skipped": file.skipped}
            for file in self.report.files
        ]

    def _count(self, path: str, name: str, papers: Iterator[Paper]) -> Iterator[Paper]:
        file = FileReport(path, name)
        self.report.files.append(file)
        for paper in papers:
            file.papers += 1
            yield paper


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationSources:
    """Files of papers, and of their links.

    edges: a table with the columns citing and cited, instead of the papers' own references. link_strengths:
    SPECTER's data.json. triplets: sampled elsewhere, as SciNCL's train_triples.csv. fields, shards: papers of
    these fields, and of these shards of S2ORC, are queries, () for all; the others are only candidates.
    exclude: of `filters.read_excluded`. reader, excluded: what was read of the files, and of those in `exclude`.
    query_ids: ids of the queries if not all papers are; complete once all are read.
    """

    files: tuple[Path, ...]
    edges: Path | None = None
    link_strengths: Path | None = None
    triplets: Path | None = None
    fields: tuple[str, ...] = ()
    shards: tuple[int, ...] = ()
    exclude: tuple[Path, ...] = ()
    data_root: DataRoot = field(default_factory=lambda: DataRoot(None))
    reader: PaperReader = field(default_factory=PaperReader)
    excluded: PaperReader = field(default_factory=PaperReader)
    query_ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.shards and not all(map(is_s2orc, self.files)):
            raise InputError("--shard needs S2ORC folders; name only folders with metadata/ and pdf_parses/")
        if self.triplets and (self.edges or self.link_strengths):
            raise InputError("--triplets needs neither --edges nor --link-strengths; remove these")

    def __iter__(self) -> Iterator[Paper]:
        for path in self.files:
            for paper, is_query in self.reader.read(path, self.data_root, self.shards):
                if self._restricted and is_query and (not self.fields or {*self.fields} & {*paper.fields}):
                    self.query_ids.add(paper.id)
                yield paper

    @property
    def _restricted(self) -> bool:
        return bool(self.fields or self.shards)

    def is_query(self, name: str) -> bool:
        """Return whether the paper of an id that was read is a query."""
        return not self._restricted or name in self.query_ids

    def read_edges(self) -> Edges | None:
        """Return (citing id, cited id) of the table; None if the papers' own references count."""
        if self.edges is None:
            return None
        return (
            (as_id(require_field(row, "citing", where)), as_id(require_field(row, "cited", where)))
            for where, row in self.data_root.located_records(self.edges)
        )

    def provenance(self) -> dict[str, object]:
        """Return what was read of each file, and which papers are queries."""
        return {
            "papers": self.reader.to_json(),
            "excluded": self.excluded.to_json(),
            "queries": {"fields": list(self.fields) or "all", "shards": list(self.shards) or "all"},
            "tables": self.data_root.provenance(),
        }
