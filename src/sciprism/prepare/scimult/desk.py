"""What every part works at: the folder of published files, the folder to write, what it made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.item_tables import text_of
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.files import write_lines
from sciprism.papers.records import Label, Paper

Record = Mapping[str, Any]


class MissingFilesError(Exception):
    """Say which published files a part would need; the part is listed as missing and the others go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One source or test set that was made.

    first, second: what Tables A1 and A2 count (queries; positive pairs or candidates). published: the paper's
    two figures. counts: more of ours. lacking: raw files without which it was made all the same.
    """

    name: str
    files: tuple[str, ...]
    first: int
    second: float
    published: tuple[float, float]
    counts: Mapping[str, int] = field(default_factory=dict)
    lacking: tuple[str, ...] = ()
    tally: DropReport = field(default_factory=DropReport)


class Desk:
    """Find published files below `raw`, write below `out`, draw with `seed`.

    Nothing is ever fetched. A file may be gzipped, and stand below several folders (`places`).
    """

    def __init__(self, raw: Path, out: Path, seed: int) -> None:
        self.home = DataRoot(raw)
        self.written = DataRoot(out)
        self.raw = raw
        self.out = out
        self.seed = seed

    def find(self, *places: str) -> Path | None:
        """Return the first of the places, paths below the raw folder, that is there, plain or gzipped."""
        files = (self.raw / f"{place}{ending}" for place in places for ending in ("", ".gz"))
        return next((path for path in files if path.exists()), None)

    def need(self, *places: str) -> Path:
        """Return the first of the places that is there. Raises MissingFilesError naming the first of all."""
        path = self.find(*places)
        if path is None:
            raise MissingFilesError(places[0])
        return path

    def hub(self, repo: str, config: str, split: str) -> list[Path]:
        """Return the files of a hub data set's split. Raises MissingFilesError; the hub is not asked."""
        found = self.home.nearby(repo, config, split=split)
        if not found:
            raise MissingFilesError(f"{repo}/{config}, split {split}")
        return found

    def note(self, path: Path) -> Path:
        """Take a file that other readers read into the record of what was read, and return it."""
        for _ in self.home.lines(path):
            break  # the rest is hashed when the file is closed
        return path

    def write(self, place: str, rows: Iterable[Record]) -> int:
        """Write one object a line to a path below the output folder, whole or not at all; return how many."""
        lines = (json.dumps(row, ensure_ascii=False) for row in rows)
        return write_lines(self.out / place, lines, errors="replace")  # half a pair of surrogates

    def write_judgements(self, place: str, qrels: Mapping[str, Mapping[str, int]]) -> None:
        """Write judgements as a table: query, document and grade, below a line that names them."""
        rows = (f"{q}\t{document}\t{grade}" for q, mine in qrels.items() for document, grade in mine.items())
        write_lines(self.out / place, chain(["query-id\tcorpus-id\tscore"], rows), errors="replace")


def numbered(home: DataRoot, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object of a JSON-lines file, JSON list or Parquet file behind its place ("FILE, line 3")."""
    if not path.name.removesuffix(".gz").endswith((".json", ".jsonl")):
        yield from _counted(home, path)
        return
    begun = False
    for number, line in home.lines(path):
        if not line or line.isspace():
            continue
        if not begun and line.lstrip().startswith("["):
            yield from _counted(home, path)
            return
        begun = True
        try:
            record = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}, line {number}: not JSON ({error})") from None
        if "\\ud" in line:  # half a pair of surrogates cannot be written again
            record = json.loads(json.dumps(record, ensure_ascii=False).encode("utf-8", "replace"))
        if not isinstance(record, dict):
            raise InputError(f"{path}, line {number}: expected an object, got {line[:40]!r}")
        yield f"{path}, line {number}", record


def _counted(home: DataRoot, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, record in enumerate(home.records(path), 1):
        yield f"{path}, record {number}", record


def beir_texts(home: DataRoot, path: Path) -> Iterator[Paper]:
    """Yield a corpus or queries in BEIR's layout as papers; InputError says where one lacks an id."""
    for place, record in numbered(home, path):
        name = as_id(record.get("_id"))
        if not name:
            raise InputError(f"{place}: no `_id`; it has {', '.join(record) or 'nothing'}")
        title, text = (text_of(record.get(key)) for key in ("title", "text"))
        yield Paper(id=name, title=title, abstract=text)


def label_row(label: Label) -> dict[str, Any]:
    """Return a label as a line of `<name>_label.json`."""
    return {"label": label.id, "name": [label.name, *label.synonyms], "definition": label.definition}


def paper_row(paper: Paper, key: str = "paper") -> dict[str, Any]:
    """Return a paper as a line of `<name>_papers_test.json`."""
    return {key: paper.id, "title": paper.title, "abstract": paper.abstract}
