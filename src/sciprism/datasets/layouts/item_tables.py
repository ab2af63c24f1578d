"""Papers and texts by id, out of records and out of the tables of users; what is missing or unknown is counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import as_id, convert_ids, list_names
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers import ReadReport, read_papers
from sciprism.papers.bibliographic_fields import split_list
from sciprism.papers.cleaning import clean_id, is_placeholder
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import Paper
from sciprism.papers.rows import read_named_rows
from sciprism.text.template import Item

ID_FIELDS = ("doc_id", "corpus_id", "paper_id")
NO_TEXT, NO_ABSTRACT, REPEATED = "no text", "no abstract", "duplicate record, the first is used"


class ItemTable:
    """Items by id. The first record of an id is used; later ones that differ from it are counted."""

    def __init__(self, dropped: DropReport) -> None:
        self.ids: list[str] = []
        self.items: list[Item] = []
        self._rows: dict[str, int] = {}
        self._dropped = dropped

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._rows

    def row(self, identifier: str) -> int:
        """Return the row of an id. Raises KeyError where it is unknown."""
        return self._rows[identifier]

    def add(self, identifier: str, item: Item) -> int:
        """Add an item and return its row; of an id that is known, the row that it has."""
        if identifier in self._rows:
            if self.items[self._rows[identifier]] != item:
                self._dropped.add(REPEATED, identifier)
            return self._rows[identifier]
        self._rows[identifier] = len(self.ids)
        self.ids.append(identifier)
        self.items.append(item)
        count_missing_text(item, identifier, self._dropped)
        return self._rows[identifier]

    def add_paper(self, record: Mapping[str, Any], id_field: str) -> str:
        """Add the paper of a record and return its id."""
        identifier = get_record_id(record, id_field)
        self.add(identifier, parse_paper(record, identifier))
        return identifier


def count_missing_text(item: Item, identifier: str, dropped: DropReport) -> None:
    """Count an item that has no text, or a title only."""
    if isinstance(item, Paper):
        if not item.title and not item.abstract:
            dropped.add(NO_TEXT, identifier)
        elif not item.abstract:
            dropped.add(NO_ABSTRACT, identifier)
    elif isinstance(item, str) and not item:
        dropped.add(NO_TEXT, identifier)


def get_record_id(record: Mapping[str, Any], *fields: str) -> str:
    """Return the id of a record as text: of the first of these fields, by default `ID_FIELDS`, that has one."""
    for name in (names := fields or ID_FIELDS):
        if not is_placeholder(identifier := as_id(record.get(name))):
            return identifier
    raise InputError(f"record without {' or '.join(names)}; it has {', '.join(map(str, record)) or 'nothing'}")


def parse_paper(record: Mapping[str, Any], identifier: str) -> Paper:
    """Return the paper of a record with title, abstract and optional venue, year, authors; null is empty."""
    names = record.get("author_names")
    return Paper(
        id=identifier,
        title=clean_text(record.get("title")),
        abstract=clean_text(record.get("abstract")),
        authors=tuple(filter(None, map(clean_text, names))) if isinstance(names, list) else (),
        venue=clean_text(record.get("venue")),
        year=parse_year(record.get("year")),
    )


def clean_text(value: Any) -> str:
    """Return a text without outer white space; null and NaN are empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).strip()


def parse_year(value: Any) -> int | None:
    """Return a year from 1964, 1964.0 or "1964"; None for anything else."""
    try:
        return None if value is None else int(float(value))
    except (ValueError, OverflowError):
        return None


def parse_number(value: Any, identifier: str) -> float:
    """Return a finite number. Raises InputError that names the paper or query."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{identifier}: {value!r} is not a number")
    return number


def number_duplicates(names: Sequence[str], dropped: DropReport, reason: str = "duplicate labelled paper") -> list[str]:
    """Return the names with "#2", "#3" ... appended to duplicates: every row is scored, as published."""
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        seen[name] += 1
        numbered.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
        if seen[name] > 1:
            dropped.add(reason, name)
    return numbered


TABLES = (".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".json")


class TableRow:
    """One row of a table or one JSON object: its values by column, and its file and line.

    Columns are compared in lower case, with "_" for spaces and hyphens.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = {_normalize_column(key): value for key, value in values.items()}
        self.where = where

    def get(self, *names: str) -> Any:
        """Return the value of the first of these columns that is not empty, or None."""
        for name in map(_normalize_column, names):
            value = self.values.get(name)
            if value not in (None, [], {}) and not (isinstance(value, str) and not value.strip()):
                return value
        return None

    def need(self, *names: str) -> Any:
        """Return the same value. Raises InputError that names the columns where all are empty."""
        value = self.get(*names)
        if value is None:
            raise self.error(f"no {' or '.join(names)}; the row has {', '.join(self.values) or 'nothing'}")
        return value

    def has(self, column: str) -> bool:
        """Tell whether there is such a column, empty or not."""
        return _normalize_column(column) in self.values

    def id(self, *names: str) -> str:
        """Return an id as text. Raises InputError where there is none, or a value such as NA that means none."""
        value = self.need(*names)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.error(f"{names[0]} is {value!r}, neither a text nor a number")
        if not (identifier := clean_id(as_id(value))):
            raise self.error(f"{names[0]} is {value!r}, which means none; correct or remove the row")
        return identifier

    def number(self, *names: str) -> float:
        """Return a finite number. Raises InputError where there is none."""
        return parse_number(str(self.need(*names)).strip(), f"{self.where}: {names[0]}")

    def several(self, *names: str) -> tuple[str, ...]:
        """Return the distinct items of a list, or of a text: printed as one, or split at ";"; may be empty."""
        value = self.get(*names)
        items = value if isinstance(value, list) else [] if value is None else split_list(str(value), ";")
        return tuple(dict.fromkeys(text for item in items if (text := as_id(item).strip())))

    def error(self, message: str) -> InputError:
        """Return an error that begins with the row's file and line."""
        return InputError(f"{self.where}: {message}")


def read_rows(path: Path) -> Iterator[TableRow]:
    """Yield the rows of a CSV, TSV or JSON-lines file, plain or gzipped, in any encoding.

    A table's first line names its columns; the delimiter is the one of tab, semicolon and comma that gives
    most columns. Ids are read as texts.
    """
    source = InputFile(path)
    if not source.name.endswith(TABLES):
        raise InputError(f"{path}: expected a table ({' '.join(TABLES)}, optionally with .gz)")
    count = 0
    for count, (where, values) in enumerate(read_named_rows(source), 1):  # noqa: B007
        yield TableRow(convert_ids(values), f"{path}, {where}")
    if not count:
        raise InputError(f"{path}: no rows")


def read_item_table(paths: Sequence[str | Path], dropped: DropReport) -> ItemTable:
    """Return the papers of files in any format that `read_papers` knows; unusable records are counted."""
    table, report = ItemTable(dropped), ReadReport()
    for paper in read_papers(paths, skip_bad=True, report=report):
        table.add(paper.id, paper)
    dropped.add_all("record that is not a usable paper", report.skipped)
    if not len(table):
        reason = f": {report.skipped[0]}" if report.skipped else ""
        raise InputError(f"{', '.join(map(str, paths))}: no papers{reason}")
    return table


def is_table(path: str | Path) -> bool:
    """Tell by a file's name whether it has rows with columns, so more fields than a paper."""
    return Path(path).name.lower().removesuffix(".gz").endswith(TABLES)


def find_files(folder: Path, *stems: str) -> list[Path]:
    """Return the files with the first of these stems that any file has, with any ending."""
    present = sorted(path for path in folder.iterdir() if path.is_file())
    for stem in stems:
        if matches := [path for path in present if path.name.partition(".")[0] == stem]:
            return matches
    return []


def require_file(folder: Path, *stems: str) -> Path:
    """Return the only file with one of these stems. Raises InputError where there is none, or several."""
    matches = find_files(folder, *stems)
    if len(matches) != 1:
        what = f"{len(matches)} files" if matches else "no file"
        raise InputError(f"{folder} contains {what} named {' or '.join(stems)}; it contains {list_names(folder)}")
    return matches[0]


def find_papers(data: str, papers: Sequence[str]) -> list[str]:
    """Return the files of papers: those that are named, or those of the folder `data`."""
    in_folder = find_files(Path(data), "papers") if data and not papers else ()
    return [*papers] or [*map(str, in_folder)] or [str(find_table(data, "", "papers"))]


def find_table(data: str, path: str, stem: str) -> Path:
    """Return the file of a table: the one that is named, or the one with this stem in the folder `data`."""
    if path:
        return Path(path)
    if not data:
        raise InputError(f"no {stem}: set {stem} to their file, or data to the folder of all files")
    return require_file(Path(data), stem)


def _normalize_column(name: str) -> str:
    return str(name).strip().lower().replace(" ", "_").replace("-", "_")


MAX_MISSING = 0.2
"""Share of references that may lead to nothing; with more, a score says more about the files than about a model."""


def check_references(what: str, missing: Sequence[str], total: int, known: Iterable[str], allow_missing: bool) -> None:
    """Raise InputError where all of `total` references lead to nothing, or too many and that is not allowed.

    what: the things that are named, such as "relevant papers". known: the ids that there are.
    """
    if not missing:
        return
    if len(missing) == total:
        raise InputError(
            f"none of the {total:,} {what} is known: the first is {missing[0]!r}, the first known id "
            f"{next(iter(known), 'none')!r}; the ids must be equal"
        )
    if len(missing) > MAX_MISSING * total and not allow_missing:
        first = ", ".join(map(repr, dict.fromkeys(missing[:3])))
        raise InputError(
            f"{len(missing):,} of {total:,} {what} are unknown ({len(missing) / total:.0%}, at most {MAX_MISSING:.0%} "
            f"may be), such as {first}; add them, or set allow_missing = true in the task to score without them"
        )
