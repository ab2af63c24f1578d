"""The papers or labels that a command reads: files, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sciprism.papers import Label, Paper, ReadReport


@dataclass(frozen=True, slots=True)
class PaperInput:
    """Files of papers or labels, with the options of the command line on them."""

    files: Sequence[str]
    reader: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    skip_bad: bool = False

    def papers(self, report: ReadReport) -> Iterator[Paper]:
        """Read all papers; what was skipped is in the report."""
        from sciprism.papers import read_papers
        from sciprism.papers.input_file import ReadOptions

        options, reader = ReadOptions(columns=self.columns), self.reader or None
        return read_papers(self.files, reader=reader, options=options, skip_bad=self.skip_bad, report=report)

    def labels(self, report: ReadReport) -> Iterator[Label]:
        """Read all labels; what was skipped is in the report."""
        from sciprism.papers import read_labels
        from sciprism.papers.input_file import ReadOptions

        options, reader = ReadOptions(columns=self.columns), self.reader or None
        return read_labels(self.files, reader=reader, options=options, skip_bad=self.skip_bad, report=report)
