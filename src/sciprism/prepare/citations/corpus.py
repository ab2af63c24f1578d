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
from sciprism.prepare.scimult.context import read_located_records
from sciprism.prepare.scirepeval.records import require_field
from sciprism.seeding import random_fraction

NO_TEXT, NO_ABSTRACT = "neither title nor abstract", "no abstract"
TEST_PAPER = "test paper"

Mask = NDArray[np.bool_]
Edges = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class CitationCorpus:
    """Papers and their citations. names, fields: of each paper, by row."""

    names: list[str]
    fields: list[tuple[str, ...]]
    graph: CitationGraph

    def held_out(self, share: float, seed: int) -> Mask:
        """Return which papers are held out: a share of them, by hash of the id."""
        return np.array([random_fraction(seed, "dev", name) < share for name in self.names], bool)

    def without(self, excluded: Mask, dropped: DropReport) -> CitationCorpus:
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


@dataclass(slots=True)
class CorpusBuilder:
    """Builds a corpus from papers.

    drop_reason: returns why a paper is dropped, "" if it is not. dropped: counts of what was dropped.
    """

    drop_reason: Callable[[Paper], str]
    dropped: DropReport
    names: dict[str, None] = field(default_factory=dict)
    fields: list[tuple[str, ...]] = field(default_factory=list)
    _shared_fields: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    _aliases: dict[str, str] = field(default_factory=dict)

    def build(self, papers: Iterable[Paper], path: Path, edges: Edges | None = None) -> CitationCorpus:
        """Write the retained papers to a file, and return the corpus.

        edges: (citing id, cited id) instead of the papers' own references; an id may be of another system,
        such as doi:10.1/x.
        """

        def resolve(name: str) -> str:
            return name if name in self.names else self._aliases.get(name, name)

        with TemporaryFile("w+", encoding="utf-8", errors="replace") as spool:
            write_lines(path, self._lines(papers, spool if edges is None else None), errors="replace")
            spool.seek(0)
            found = map(json.loads, spool) if edges is None else edges
            resolved = ((resolve(citing), resolve(cited)) for citing, cited in found)
            names = list(self.names)
            return CitationCorpus(names, self.fields, CitationGraph.from_edges(names, resolved, self.dropped))

    def _lines(self, papers: Iterable[Paper], spool: IO[str] | None) -> Iterator[str]:
        for paper in papers:
            reason = "duplicate id" if paper.id in self.names else self.drop_reason(paper)
            if reason:
                self.dropped.add(reason, paper.id)
                continue
            if not paper.abstract:
                self.dropped.add("no abstract, title only (retained)", paper.id)
            self.names[paper.id] = None
            self.fields.append(self._shared_fields.setdefault(paper.fields, paper.fields))
            for system, value in paper.ids.items():
                if f"{system}:{value}" != paper.id:
                    self._aliases.setdefault(f"{system}:{value}", paper.id)
            if spool:
                spool.writelines(json.dumps([paper.id, cited]) + "\n" for cited in paper.references)
            stored = Paper(id=paper.id, title=paper.title, abstract=paper.abstract, fields=paper.fields)
            yield json.dumps(stored.to_json(), ensure_ascii=False)


def read_citation_table(data_root: DataRoot, path: Path) -> Iterator[tuple[str, str]]:
    """Yield (citing id, cited id) of a table with these columns: CSV, TSV, JSON lines or Parquet."""
    for where, row in read_located_records(data_root, path):
        yield as_id(require_field(row, "citing", where)), as_id(require_field(row, "cited", where))


def missing_text(paper: Paper, *, require_abstract: bool = False) -> str:
    """Return what a paper's text lacks, "" for nothing. require_abstract: a title alone is not enough."""
    if require_abstract and not paper.abstract:
        return NO_ABSTRACT
    return "" if paper.title or paper.abstract else NO_TEXT
