"""Where papers and their ties come from: files of any format, tables of citations, SPECTER's files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sciprism.datasets.data_root import DataRoot
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.reading import FileReport, ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.papers.s2orc import check_shards, is_s2orc, read_s2orc, shards_in
from sciprism.prepare.citations.corpus import Edges, table_of
from sciprism.prepare.citations.published import (
    Triples,
    given_ties,
    given_triples,
    is_keyed,
    keyed_papers,
)
from sciprism.prepare.samplers.specter import GivenTies

CANDIDATES = " (candidates alone)"
ASKED, CORPUS = ("val.txt", "test.txt"), "data_final.json"
"""Of a folder of Multi-SciDocs: the ids of the queries, and the papers."""


@dataclass(frozen=True, slots=True)
class Read:
    """What came of some files: papers of each, and what was left out of S2ORC's shards."""

    report: ReadReport = field(default_factory=ReadReport)
    dropped: DropReport = field(default_factory=DropReport)

    def papers(
        self, path: Path, home: DataRoot, shards: Collection[int] = ()
    ) -> Iterator[tuple[Paper, bool]]:
        """Yield the papers of a file of any format, an object keyed by id, or a folder of S2ORC.

        shards: of S2ORC, those whose papers are asked about, () for all; with each paper comes whether it is.
        Raises InputError where one of them is not there.
        """
        if is_s2orc(path):
            there = shards_in(path, self.dropped)
            if lost := sorted({*shards} - {*there}):
                raise InputError(f"{path}: no shard {lost[0]}; there are {', '.join(map(str, there))}")
            for shard in there:
                asked = not shards or shard in shards
                label = f"{path}, shard {shard}{'' if asked else CANDIDATES}"
                found = read_s2orc(path, shards=[shard], tally=self.dropped)
                yield from ((paper, asked) for paper in self._counted(label, "s2orc", found))
        elif is_keyed(path):
            found = self._counted(str(path), "keyed by id", keyed_papers(home, path))
            yield from ((paper, True) for paper in found)
        else:
            yield from ((paper, True) for paper in read_papers(path, skip_bad=True, report=self.report))

    def tested(self, path: Path, home: DataRoot) -> Iterator[Paper]:
        """Yield the papers of a test: those that a benchmark asks about, or all of any other file."""
        if not all((path / name).is_file() for name in ASKED):
            yield from (paper for paper, _ in self.papers(path, home))
            return
        names = {name for part in ASKED for name in (path / part).read_text(encoding="utf-8").split("\n")}
        papers = (paper for paper in keyed_papers(home, path / CORPUS) if paper.id in names)
        yield from self._counted(str(path), "Multi-SciDocs", papers)

    def to_json(self) -> list[dict[str, object]]:
        """Return what was read of each file."""
        return [
            {
                "file": Path(file.path).name,
                "format": file.format,
                "papers": file.papers,
                "skipped": file.skipped,
            }
            for file in self.report.files
        ]

    def _counted(self, path: str, name: str, papers: Iterator[Paper]) -> Iterator[Paper]:
        file = FileReport(path, name)
        self.report.files.append(file)
        for paper in papers:
            file.papers += 1
            yield paper


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """Files of papers, and what is known about them.

    citations: a table with the columns citing and cited, instead of the papers' own references. ties: how
    strongly papers are tied, as SPECTER's data.json has it. triples: triplets that were sampled elsewhere, as
    SciNCL's train_triples.csv has them. fields, shards: papers of these fields, and of these shards of S2ORC,
    are asked about, () for all; the others are candidates alone. without: files of papers that take no part,
    or folders of Multi-SciDocs, whose queries take none. read, tests: what came of the files, and of those
    without. asked: ids of papers to ask about, where not all are; complete once all are read.
    """

    files: tuple[Path, ...]
    citations: Path | None = None
    ties: Path | None = None
    triples: Path | None = None
    fields: tuple[str, ...] = ()
    shards: tuple[int, ...] = ()
    without: tuple[Path, ...] = ()
    home: DataRoot = field(default_factory=lambda: DataRoot(None))
    read: Read = field(default_factory=Read)
    tests: Read = field(default_factory=Read)
    asked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        check_shards(self.files, self.shards)
        if self.triples and (self.citations or self.ties):
            raise InputError("triplets that are given need no citations and no ties; leave these out")

    def __iter__(self) -> Iterator[Paper]:
        for path in self.files:
            for paper, asked in self.read.papers(path, self.home, self.shards):
                if self._some and asked and (not self.fields or {*self.fields} & {*paper.fields}):
                    self.asked.add(paper.id)
                yield paper

    @property
    def _some(self) -> bool:
        return bool(self.fields or self.shards)

    def asks(self, name: str) -> bool:
        """Tell of an id that was read whether its paper is asked about."""
        return not self._some or name in self.asked

    def tested(self) -> Iterator[Paper]:
        """Yield the papers that take no part. Raises InputError where a file has none."""
        for path in self.without:
            before = self.tests.report.papers
            yield from self.tests.tested(path, self.home)
            if self.tests.report.papers == before:
                raise InputError(f"--without {path}: no paper in it; `sciprism inspect` says what it holds")

    def edges(self) -> Edges | None:
        """Return (citing id, cited id) of the table; None where papers bring their own references."""
        return None if self.citations is None else table_of(self.home, self.citations)

    def given(self, rows: Mapping[str, int], dropped: DropReport) -> GivenTies | None:
        """Return the ties of papers by row; None where there is no such file."""
        if self.ties is None:
            return None
        return GivenTies(given_ties(self.home, self.ties, rows, dropped))

    def sampled(self, rows: Mapping[str, int], dropped: DropReport) -> Triples:
        """Return the given triplets by the row of their query. Raises InputError where there is no file."""
        if self.triples is None:
            raise InputError("the sampler given takes triplets of a table; name it with --triples")
        return given_triples(self.home, self.triples, rows, dropped)

    def provenance(self) -> dict[str, object]:
        """Return what was read of each file."""
        read = {"papers": self.read.to_json(), "without": self.tests.to_json()}
        asked = {"fields": list(self.fields) or "all", "shards": list(self.shards) or "all"}
        return read | {"asked about": asked, "tables": self.home.provenance()}
