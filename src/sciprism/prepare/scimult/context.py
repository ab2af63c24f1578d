"""The folders and the seed of `sciprism prepare scimult`, and the record of what it wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from sciprism.datasets.data_root import DataRoot, find_file
from sciprism.drop_report import DropReport
from sciprism.files import write_lines
from sciprism.papers.records import Label, Paper
from sciprism.prepare.preparation import ExampleFolder

Record = Mapping[str, Any]
Found = TypeVar("Found")


class MissingFilesError(Exception):
    """Names the published files that a data set needs; it is listed as missing, the others are written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDataSet:
    """A source or test set that was written.

    queries, targets: the counts of Tables A1 and A2; targets are positive pairs or candidates. counts: further
    counts. missing_inputs: raw files that it was built without.
    """

    files: tuple[str, ...]
    queries: int
    targets: float
    counts: Mapping[str, int] = field(default_factory=dict)
    missing_inputs: tuple[str, ...] = ()
    dropped: DropReport = field(default_factory=DropReport)


class SciMultPrepareContext:
    """Finds published files below `raw`, writes below `out`, samples with `seed`.

    Nothing is downloaded. A file may be gzipped and be in one of several folders. examples: writes sources.
    counts: path below `out` -> number of its records.
    """

    def __init__(self, raw: Path, out: Path, seed: int) -> None:
        self.data_root = DataRoot(raw)
        self.written = DataRoot(out)
        self.raw = raw
        self.out = out
        self.seed = seed
        self.examples = ExampleFolder(out)
        self.counts = self.examples.counts

    def find(self, *names: str) -> Path | None:
        """Return the first existing file of these, relative to the raw folder, plain or gzipped."""
        return find_file(self.raw, *names)

    def need(self, *names: str) -> Path:
        """Return the first existing file of these. Raises MissingFilesError that names the first one."""
        if path := self.find(*names):
            return path
        raise MissingFilesError(names[0])

    def find_split(self, repo: str, config: str, split: str) -> list[Path]:
        """Return the local files of a hub data set's split. Raises MissingFilesError where there are none."""
        files = self.data_root.find_local_split(repo, config, split=split)
        if not files:
            raise MissingFilesError(f"{repo}/{config}, split {split}")
        return files

    def find_some(self, names: Iterable[str], find: Callable[[str], Found]) -> tuple[dict[str, Found], tuple[str, ...]]:
        """Return name -> what is found, and the missing files. Raises MissingFilesError where all are missing."""
        results: dict[str, Found] = {}
        missing: list[str] = []
        for name in names:
            try:
                results[name] = find(name)
            except MissingFilesError as error:
                missing.append(str(error))
        if not results:
            raise MissingFilesError(missing[0])
        return results, tuple(missing)

    def record_read(self, path: Path) -> Path:
        """Add a file that is read elsewhere to the provenance, and return it."""
        for _ in self.data_root.lines(path):
            break  # the rest is hashed when the file is closed
        return path

    def write(self, name: str, rows: Iterable[Record]) -> int:
        """Write one object a line to a file in the output folder, atomically; return their number."""
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        count = self.counts[name] = write_lines(self.out / name, lines, errors="replace")  # unpaired surrogates
        return count


def build_label_row(label: Label) -> dict[str, Any]:
    """Return a label as a line of `<name>_label.json`."""
    return {"label": label.id, "name": [label.name, *label.synonyms], "definition": label.definition}


def build_paper_row(paper: Paper, key: str = "paper") -> dict[str, Any]:
    """Return a paper as a line of `<name>_papers_test.json`."""
    return {key: paper.id, "title": paper.title, "abstract": paper.abstract}
