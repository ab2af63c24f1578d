"""Papers and texts by id, in the order of their first record; missing texts and duplicates are counted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
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

    def add_paper(self, record: Mapping[str, Any], id_field: str = "") -> int:
        """Add the paper of a record and return its row."""
        identifier = get_record_id(record, id_field, self._dropped)
        return self.add(identifier, parse_paper(record, identifier))


def count_missing_text(item: Item, identifier: str, dropped: DropReport) -> None:
    """Count an item that has no text, or a title only."""
    if isinstance(item, Paper):
        if not item.title and not item.abstract:
            dropped.add(NO_TEXT, identifier)
        elif not item.abstract:
            dropped.add(NO_ABSTRACT, identifier)
    elif isinstance(item, str) and not item:
        dropped.add(NO_TEXT, identifier)


def get_record_id(record: Mapping[str, Any], id_field: str = "", dropped: DropReport | None = None) -> str:
    """Return the id of a record as text: from `id_field`, or the first of `ID_FIELDS` that is not empty."""
    names = (id_field,) if id_field else ID_FIELDS
    for name in names:
        if (value := record.get(name)) not in (None, ""):
            if name != names[0] and dropped is not None:
                dropped.add(f"no {names[0]}, {name} is used", as_id(value))
            return as_id(value)
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


def parse_grade(value: Any, query: str) -> int:
    """Return a whole grade; some hub copies have 1.0. Raises InputError that names the query."""
    number = parse_number(value, f"query {query}")
    if not number.is_integer():
        raise InputError(f"query {query}: the grade {value!r} is not a whole number")
    return int(number)


def number_duplicates(names: Sequence[str], dropped: DropReport) -> list[str]:
    """Return the names with "#2", "#3" ... appended to duplicates: every row is scored, as published."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        if seen[name] > 1:
            dropped.add("duplicate labelled paper", name)
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found
