"""Fine-tuning data: find the files of train, dev and test, read their records, concatenate the three parts."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from sciprism.arrays import Rows
from sciprism.datasets.data_root import DataRoot, find_file
from sciprism.datasets.inputs import concatenate
from sciprism.datasets.open_data import PARTS, Part
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.seeding import random_fraction

ROOTS = ("", "blurb", "data_generation", "blurb/data_generation", "linkbert", "LinkBERT")
"""Folders of BLURB's package and LinkBERT's copy of it, relative to the data root."""
SUBFOLDERS = ("", "data", "data/tokcls", "data/seqcls", "tokcls", "seqcls")
ENDINGS = ("", ".tsv", ".txt", ".json", ".jsonl")
NO_TEXT = "no text"


class IdentifiedRow(Protocol):
    """A row with an id."""

    @property
    def id(self) -> str:
        """Return the id in the file, or the line number."""


RowT = TypeVar("RowT", bound=IdentifiedRow)
Parts = dict[Part, list[RowT]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartFiles:
    """The files of a data set: one of train, one of test, optionally one of dev.

    folders: the first that contains any of the files is used; each is searched for under the data root and in
    the folders of the benchmarks' packages (`ROOTS`, `SUBFOLDERS`). train, dev, test: names of the part's
    file, with or without one of `ENDINGS` and `.gz`; no name: no such part. repo: a hub data set with the
    files, instead of folders; the first name of each part is its file there. obtain: how to get the data.
    """

    folders: tuple[str, ...] = ()
    train: tuple[str, ...] = ("train",)
    dev: tuple[str, ...] = ("dev", "devel", "val", "validation")
    test: tuple[str, ...] = ("test",)
    repo: str = ""
    obtain: str = ""

    @property
    def where(self) -> str:
        """Return the folders, or the hub data set, for messages."""
        return ", ".join(self.folders) or self.repo

    def read(self, data_root: DataRoot, rows: Callable[[Path, Part], Iterable[RowT]]) -> Parts[RowT]:
        """Return the rows of each part, as `rows` reads them from its file; empty where there is no file."""
        paths = self.find(data_root)
        return {part: list(rows(paths[part], part)) if part in paths else [] for part in PARTS}

    def find(self, data_root: DataRoot) -> dict[Part, Path]:
        """Return the file of each part. Raises InputError that says what is missing and how to get it."""
        named: dict[Part, tuple[str, ...]] = {"train": self.train, "dev": self.dev, "test": self.test}
        if self.repo:
            return {
                part: data_root.file(self.repo, names[0], names=names[1:]) for part, names in named.items() if names
            }
        top = data_root.folder or Path()
        for folder, root, inside in product(self.folders, ROOTS, SUBFOLDERS):
            path = top / root / inside / folder
            tried = {
                part: find_file(path, *(f"{name}{end}" for name, end in product(names, ENDINGS)))
                for part, names in named.items()
            }
            if paths := {part: file for part, file in tried.items() if file}:
                return _require_parts(paths, named, path)
        return _require_parts({}, named, data_root.local(self.folders[0], self.obtain))


def _require_parts(paths: dict[Part, Path], named: Mapping[Part, Sequence[str]], folder: Path) -> dict[Part, Path]:
    for part in ("train", "test"):
        if part not in paths and named[part]:
            present = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
            raise InputError(
                f"{folder} has no {part} file (such as {named[part][0]}.tsv or .json); it contains {present}"
            )
    return paths


def split_off_dev(parts: Parts[RowT], share: float, key: Callable[[RowT], str] = lambda row: row.id) -> None:
    """Move this share of train to dev if dev is empty: the rows whose keys have the lowest hashes.

    Rows with one key stay together, in any order of the rows.
    """
    if share and not parts["dev"]:
        whole = parts["train"]
        parts["dev"] = [row for row in whole if random_fraction("dev", key(row)) < share]
        parts["train"] = [row for row in whole if random_fraction("dev", key(row)) >= share]


def concatenate_parts(parts: Parts[RowT], dropped: DropReport) -> tuple[list[str], list[RowT], dict[Part, Rows]]:
    """Return the ids and the rows of train, dev and test in order, and the row numbers of each part.

    An id is `part/id`, since files number their rows from the start; duplicates end with "#2" ...
    """
    ids = []
    for part in PARTS:
        seen: Counter[str] = Counter()
        for row in parts[part]:
            seen[row.id] += 1
            name = f"{part}/{row.id}"
            if seen[row.id] > 1:
                dropped.add("duplicate id in its part", name)
                name = f"{name}#{seen[row.id]}"
            ids.append(name)
    return ids, *concatenate(parts)


def require_rows(parts: Parts[RowT], where: str) -> None:
    """Raise InputError where train or test is empty."""
    for part in ("train", "test"):
        if not parts[part]:
            raise InputError(f"{where}: no {part} rows; the file is empty or has no usable row")


TABLES = (".tsv", ".txt")
HEADINGS = {"id", "index", "label", "labels", "score", "sentence", "sentence1", "question"}
"""A first line with one of these as a cell is a header."""
MAX_CELL_LINES = 50  # lines of a quoted cell; a longer one is an unclosed quotation mark


class LanguageRecord(NamedTuple):
    """A record: its id or line number, its fields, and its file and line for messages."""

    id: str
    values: dict[str, Any]
    where: str

    def need(self, *names: str) -> Any:
        """Return the first of these fields that exists, empty or not. Raises InputError if none does."""
        for name in names:
            if name in self.values:
                return self.values[name]
        present = ", ".join(map(str, self.values)) or "nothing"
        raise InputError(f"{self.where}: no field {' or '.join(names)}; the record has {present}")


def is_table(path: Path) -> bool:
    """Tell by a file's ending whether it is a table."""
    return path.name.removesuffix(".gz").endswith(TABLES)


def read_records(data_root: DataRoot, path: Path, columns: Sequence[str] = ()) -> Iterator[LanguageRecord]:
    """Yield the records of a file, as its ending says. columns: the names of a table's columns."""
    if is_table(path):
        for line, cells in _read_cells(data_root, path, len(columns)):
            values = dict(zip(columns, cells, strict=True))
            yield LanguageRecord(values.get("id") or str(line), values, f"{path}, line {line}")
        return
    for number, row in enumerate(_read_objects(data_root, path), 1):
        yield LanguageRecord(as_id(row.get("id")) or str(number), row, f"{path}, record {number}")


def _read_objects(data_root: DataRoot, path: Path) -> Iterator[dict[str, Any]]:
    """Yield JSON lines or the items of a JSON list; of an object keyed by id, each value with its id."""
    _, first = next(data_root.lines(path), (0, ""))
    if first.lstrip().startswith("[") or _is_record(first):
        yield from data_root.records(path)
        return
    for key, value in data_root.members(path):
        if not isinstance(value, dict):
            raise InputError(f"{path}: {key!r} is {value!r:.40}, not a record")
        yield {"id": key} | value


def _is_record(line: str) -> bool:
    """Tell whether a line is a record of JSON lines, not the start of an object keyed by id."""
    try:
        value = json.loads(line)
    except ValueError:
        return line.strip() != "{"  # the reader reports a broken line
    return not (isinstance(value, dict) and value and all(isinstance(item, dict) for item in value.values()))


def _read_cells(data_root: DataRoot, path: Path, width: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, cells) of a tab-separated table, without its header and empty lines.

    Some of these tables quote cells with a line end or a quotation mark, others quote nothing. A cell is
    unquoted only if its quotation marks are those of a quoted cell, and continues on the next line only if
    its line has too few cells.
    """
    lines = data_root.lines(path)
    for number, line in lines:
        if not line.strip():
            continue
        cells, text = _split_cells(line, width), line
        while len(cells) < width and text.count("\n") < MAX_CELL_LINES:
            if not cells[-1].startswith('"') or cells[-1].count('"') % 2 == 0:
                break  # the last cell is not quoted, or its quotation mark is closed
            _, more = next(lines, (0, None))
            if more is None:
                break
            text = f"{text}\n{more}"
            cells = _split_cells(text, width)
        if number == 1 and HEADINGS.intersection(cell.strip().lower() for cell in cells):
            continue
        if len(cells) != width:
            raise InputError(f"{path}, line {number}: {len(cells)} cells, expected {width}, separated by tabs")
        yield number, cells


def _split_cells(line: str, width: int) -> list[str]:
    cells = line.split("\t")
    if len(cells) > width:  # a quoted cell contains a tab
        with suppress(csv.Error):
            return next(csv.reader([line], delimiter="\t", strict=True))
    return [_unquote(cell) for cell in cells]


def _unquote(cell: str) -> str:
    inside = cell[1:-1].replace('""', "")
    quoted = len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in inside
    return cell[1:-1].replace('""', '"') if quoted else cell
