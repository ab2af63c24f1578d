"""Where papers and their ties come from: files of any format, tables of citations, SPECTER's files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sciprism.errors import InputError
from sciprism.papers.reading import FileReport, ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.papers.s2orc import check_shards, is_s2orc, read_s2orc, shards_in
from sciprism.tally import Tally
from sciprism.tasks.citation_files.corpus import Edges, table_of
from sciprism.tasks.citation_files.published import (
    Triples,
    given_ties,
    given_triples,
    is_keyed,
    keyed_papers,
)
from sciprism.tasks.home import Home
from sciprism.training.samplers.specter import GivenTies


@dataclass(frozen=True, slots=True)
class Read:
    """What came of some files: papers of each, and what was left out of S2ORC's shards."""

    report: ReadReport = field(default_factory=ReadReport)
    dropped: Tally = field(default_factory=Tally)

    def papers(self, path: Path, home: Home, shards: tuple[int, ...] = ()) -> Iterator[Paper]:
        """Yield the papers of a file of any format, an object keyed by id, or a folder of S2ORC.

        shards: of S2ORC, () for all.
        """
        if is_s2orc(path):
            for shard in shards or shards_in(path, self.dropped):
                found = read_s2orc(path, shards=[shard], tally=self.dropped)
                yield from self._counted(f"{path}, shard {shard}", "s2orc", found)
        elif is_keyed(path):
            yield from self._counted(str(path), "keyed by id", keyed_papers(home, path))
        else:
            yield from read_papers(path, skip_bad=True, report=self.report)

    def to_json(self) -> list[dict[str, object]]:
        """Return what was read of each file."""
        return [
            {"file": Path(file.path).name, "papers": file.papers, "skipped": file.skipped}
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
    SciNCL's train_triples.csv has them. fields: only papers of one of these take part, () for all. shards: of
    S2ORC, () for all. without: files of papers that take no part. read, tests: what came of the files, and of
    those without.
    """

    files: tuple[Path, ...]
    citations: Path | None = None
    ties: Path | None = None
    triples: Path | None = None
    fields: tuple[str, ...] = ()
    shards: tuple[int, ...] = ()
    without: tuple[Path, ...] = ()
    home: Home = field(default_factory=lambda: Home(None))
    read: Read = field(default_factory=Read)
    tests: Read = field(default_factory=Read)

    def __post_init__(self) -> None:
        check_shards(self.files, self.shards)
        if self.triples and (self.citations or self.ties):
            raise InputError("triplets that are given need no citations and no ties; leave these out")

    def __iter__(self) -> Iterator[Paper]:
        for path in self.files:
            yield from self.read.papers(path, self.home, self.shards)

    def tested(self) -> Iterator[Paper]:
        """Yield the papers that take no part. Raises InputError where a file has none."""
        for path in self.without:
            before = self.tests.report.papers
            yield from self.tests.papers(path, self.home)
            if self.tests.report.papers == before:
                raise InputError(f"--without {path}: no paper in it; `sciprism inspect` says what it holds")

    def edges(self) -> Edges | None:
        """Return (citing id, cited id) of the table; None where papers bring their own references."""
        return None if self.citations is None else table_of(self.home, self.citations)

    def given(self, rows: Mapping[str, int], dropped: Tally) -> GivenTies | None:
        """Return the ties of papers by row; None where there is no such file."""
        if self.ties is None:
            return None
        return GivenTies(given_ties(self.home, self.ties, rows, dropped))

    def sampled(self, rows: Mapping[str, int], dropped: Tally) -> Triples:
        """Return the given triplets by the row of their query. Raises InputError where there is no file."""
        if self.triples is None:
            raise InputError("the sampler given takes triplets of a table; name it with --triples")
        return given_triples(self.home, self.triples, rows, dropped)

    def provenance(self) -> dict[str, object]:
        """Return what was read of each file."""
        read = {"papers": self.read.to_json(), "without": self.tests.to_json()}
        return read | {"fields": list(self.fields) or "all", "tables": self.home.provenance()}
