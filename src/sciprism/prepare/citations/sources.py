"""Read papers and their links: files of any format, tables of citations, SPECTER's files."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sciprism.datasets.data_root import DataRoot
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.suites.multi_scidocs import FOLDER
from sciprism.papers.read import FileReport, ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.papers.s2orc import check_shards, is_s2orc, list_shards, read_s2orc
from sciprism.prepare.citations.corpus import Edges, read_citation_table
from sciprism.prepare.citations.published import (
    is_keyed_json,
    read_keyed_papers,
)

QUERY_FILES, CORPUS = ("val.txt", "test.txt"), "data_final.json"
"""In a folder of Multi-SciDocs: the ids of the queries, and the papers."""


@dataclass(frozen=True, slots=True)
class PaperReader:
    """Reads papers. report: papers of each file. dropped: records of S2ORC's shards."""

    report: ReadReport = field(default_factory=ReadReport)
    dropped: DropReport = field(default_factory=DropReport)

    def read(self, path: Path, data_root: DataRoot, shards: Collection[int] = ()) -> Iterator[tuple[Paper, bool]]:
        """Yield the papers of a file of any format, an object keyed by id, or a folder of S2ORC.

        shards: of S2ORC, those whose papers are queries, () for all; each paper comes with whether it is.
        Raises InputError if one of them is missing.
        """
        if is_s2orc(path):
            found = list_shards(path, self.dropped)
            if missing := sorted({*shards} - {*found}):
                raise InputError(f"{path}: no shard {missing[0]}; there are {', '.join(map(str, found))}")
            for shard in found:
                is_query = not shards or shard in shards
                label = f"{path}, shard {shard}{'' if is_query else ' (candidates only)'}"
                papers = read_s2orc(path, shards=[shard], dropped=self.dropped)
                yield from ((paper, is_query) for paper in self._count(label, "s2orc", papers))
        elif is_keyed_json(path):
            papers = self._count(str(path), "keyed by id", read_keyed_papers(data_root, path))
            yield from ((paper, True) for paper in papers)
        else:
            yield from ((paper, True) for paper in read_papers(path, skip_bad=True, report=self.report))

    def read_queries(self, path: Path, data_root: DataRoot) -> Iterator[Paper]:
        """Yield the queries of a folder of Multi-SciDocs, or of a folder with one; all papers of anything else."""
        for folder in (path, path / FOLDER):
            if all((folder / name).is_file() for name in QUERY_FILES):
                texts = ((folder / name).read_text(encoding="utf-8") for name in QUERY_FILES)
                names = {name for text in texts for name in text.split("\n")}
                papers = (paper for paper in read_keyed_papers(data_root, folder / CORPUS) if paper.id in names)
                yield from self._count(str(folder), "Multi-SciDocs", papers)
                return
        yield from (paper for paper, _ in self.read(path, data_root))

    def unreadable(self) -> Iterator[str]:
        """Yield the place of each record that could not be read; "" beyond those that the report names."""
        yield from map(str, self.report.skipped)
        yield from [""] * (self.report.skipped_count - len(self.report.skipped))

    def to_json(self) -> list[dict[str, object]]:
        """Return the counts of each file as JSON values."""
        return [
            {
                "file": Path(file.path).name,
                "format": file.format,
                "papers": file.papers,
                "skipped": file.skipped,
            }
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
    exclude: files of papers to drop, or what `prepare multi-scidocs` wrote, whose queries are dropped. reader,
    excluded: what was read of the files, and of those in `exclude`. query_ids: ids of the queries if not all
    papers are; complete once all are read.
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
        check_shards(self.files, self.shards)
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

    def read_excluded(self) -> Iterator[Paper]:
        """Yield the papers to drop. Raises InputError if a file has none."""
        for path in self.exclude:
            before = self.excluded.report.papers
            yield from self.excluded.read_queries(path, self.data_root)
            if self.excluded.report.papers == before:
                raise InputError(f"--exclude {path}: no paper in it; `sciprism inspect` says what it holds")

    def read_edges(self) -> Edges | None:
        """Return (citing id, cited id) of the table; None if the papers' own references count."""
        return None if self.edges is None else read_citation_table(self.data_root, self.edges)

    def provenance(self) -> dict[str, object]:
        """Return what was read of each file, and which papers are queries."""
        return {
            "papers": self.reader.to_json(),
            "excluded": self.excluded.to_json(),
            "queries": {"fields": list(self.fields) or "all", "shards": list(self.shards) or "all"},
            "tables": self.data_root.provenance(),
        }
