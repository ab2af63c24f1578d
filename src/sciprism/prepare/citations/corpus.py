"""Papers by row: ids, fields and citations in memory, texts on disk."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
from numpy.typing import NDArray

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.files import write_lines
from sciprism.papers.records import Paper
from sciprism.prepare.graphs.citations import CitationGraph
from sciprism.prepare.scimult.desk import numbered
from sciprism.prepare.scirepeval.records import need
from sciprism.seeding import random_fraction

NO_TEXT, NO_ABSTRACT = "neither title nor abstract", "no abstract"
TITLE_ALONE = "no abstract, the title stands alone (kept)"
AGAIN = "id that another paper has"
TESTED = "paper of a test"
GONE = "citation of or by a paper that is held out"

Mask = NDArray[np.bool_]
Edges = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Corpus:
    """names, fields: of each paper, by row. graph: their citations."""

    names: list[str]
    fields: list[tuple[str, ...]]
    graph: CitationGraph

    def held_out(self, dev: float, seed: int) -> Mask:
        """Tell of each paper whether it is held out: a share of them, by hash of the id."""
        return np.array([random_fraction(seed, "dev", name) < dev for name in self.names], bool)

    def without(self, out: Mask, dropped: DropReport) -> Corpus:
        """Return the corpus without some papers; count the citations that go with them."""
        kept = np.flatnonzero(~out)
        rows = np.cumsum(~out, dtype=np.int32) - 1
        citing, cited = self.graph.edges
        inside = ~(out[citing] | out[cited])
        for edge in np.flatnonzero(~inside).tolist():
            dropped.add(GONE, f"{self.names[citing[edge]]} -> {self.names[cited[edge]]}")
        graph = CitationGraph(len(kept), rows[citing[inside]], rows[cited[inside]])
        parts = ([self.names[row] for row in kept], [self.fields[row] for row in kept])
        return Corpus(*parts, graph)


@dataclass(slots=True)
class Gathering:
    """Papers on their way into a corpus.

    fits: says of a paper why it may not take part, "" where it may. dropped: what did not.
    """

    fits: Callable[[Paper], str]
    dropped: DropReport
    names: dict[str, None] = field(default_factory=dict)
    fields: list[tuple[str, ...]] = field(default_factory=list)
    _kinds: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    _aliases: dict[str, str] = field(default_factory=dict)

    def corpus(self, papers: Iterable[Paper], path: Path, edges: Edges | None = None) -> Corpus:
        """Write the papers that take part, and return the corpus.

        edges: (citing id, cited id) instead of the papers' own references; either end may be an id in another
        system, such as doi:10.1/x.
        """
        with TemporaryFile("w+", encoding="utf-8", errors="replace") as spool:
            write_lines(path, self._lines(papers, spool if edges is None else None), errors="replace")
            spool.seek(0)
            found = self._resolved(_spooled(spool) if edges is None else edges)
            names = list(self.names)
            return Corpus(names, self.fields, CitationGraph.of(names, found, self.dropped))

    def _lines(self, papers: Iterable[Paper], spool: IO[str] | None) -> Iterator[str]:
        for paper in papers:
            reason = AGAIN if paper.id in self.names else self.fits(paper)
            if reason:
                self.dropped.add(reason, paper.id)
                continue
            if not paper.abstract:
                self.dropped.add(TITLE_ALONE, paper.id)
            self.names[paper.id] = None
            self.fields.append(self._kinds.setdefault(paper.fields, paper.fields))
            for system, value in paper.ids.items():
                if f"{system}:{value}" != paper.id:
                    self._aliases.setdefault(f"{system}:{value}", paper.id)
            if spool:
                spool.writelines(json.dumps([paper.id, cited]) + "\n" for cited in paper.references)
            kept = Paper(id=paper.id, title=paper.title, abstract=paper.abstract, fields=paper.fields)
            yield json.dumps(kept.to_json(), ensure_ascii=False)

    def _resolved(self, edges: Edges) -> Iterator[tuple[str, str]]:
        def name(given: str) -> str:
            return given if given in self.names else self._aliases.get(given, given)

        return ((name(citing), name(cited)) for citing, cited in edges)


def _spooled(spool: IO[str]) -> Iterator[tuple[str, str]]:
    for line in spool:
        citing, cited = json.loads(line)
        yield citing, cited


def table_of(home: DataRoot, path: Path) -> Iterator[tuple[str, str]]:
    """Yield (citing id, cited id) of a table with these columns: CSV, TSV, JSON lines or Parquet."""
    for where, row in numbered(home, path):
        yield as_id(need(row, "citing", where)), as_id(need(row, "cited", where))


def text_fault(paper: Paper, *, abstracts: bool = False) -> str:
    """Say what a paper's text lacks. abstracts: a title alone is not enough."""
    if abstracts and not paper.abstract:
        return NO_ABSTRACT
    return "" if paper.title or paper.abstract else NO_TEXT
