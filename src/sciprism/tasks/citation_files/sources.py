"""Where papers and their ties come from: files of any format, tables of citations, SPECTER's files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sciprism.papers.reading import ReadReport, read_papers
from sciprism.papers.records import Paper
from sciprism.papers.s2orc import is_s2orc, read_s2orc
from sciprism.tally import Tally
from sciprism.tasks.citation_files.corpus import Edges, table_of
from sciprism.tasks.citation_files.published import given_ties, keyed_papers
from sciprism.tasks.home import Home
from sciprism.training.samplers.specter import GivenTies

KEYED = "metadata.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Papers:
    """Files of papers, and what is known about them.

    citations: a table with the columns citing and cited, instead of the papers' own references. ties: how
    strongly papers are tied, as SPECTER's data.json has it. without: files of papers that take no part.
    dropped: what was left out while they were read.
    """

    files: tuple[Path, ...]
    citations: Path | None = None
    ties: Path | None = None
    without: tuple[Path, ...] = ()
    home: Home = field(default_factory=lambda: Home(None))
    report: ReadReport = field(default_factory=ReadReport)
    dropped: Tally = field(default_factory=Tally)

    def __iter__(self) -> Iterator[Paper]:
        for path in self.files:
            if is_s2orc(path):
                yield from read_s2orc(path, tally=self.dropped)
            elif path.name == KEYED:
                yield from keyed_papers(self.home, path)
            else:
                yield from read_papers(path, skip_bad=True, report=self.report)

    def tested(self) -> Iterator[Paper]:
        """Yield the papers that take no part."""
        if self.without:
            yield from read_papers(self.without, skip_bad=True, report=ReadReport())

    def edges(self) -> Edges | None:
        """Return (citing id, cited id) of the table; None where papers bring their own references."""
        return None if self.citations is None else table_of(self.home, self.citations)

    def given(self, rows: Mapping[str, int], dropped: Tally) -> GivenTies | None:
        """Return the ties of papers by row; None where there is no such file."""
        if self.ties is None:
            return None
        return GivenTies(given_ties(self.home, self.ties, rows, dropped))

    def provenance(self) -> dict[str, object]:
        """Return what was read of each file."""
        read = [
            {"file": Path(file.path).name, "papers": file.papers, "skipped": file.skipped}
            for file in self.report.files
        ]
        return {"papers": read, "tables": self.home.provenance()}
