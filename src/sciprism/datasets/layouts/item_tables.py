"""Papers and texts by id, numbered in the order of their first record; what each lacks is counted."""

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
NO_TEXT, NO_ABSTRACT, REPEATED = "no text", "no abstract", "repeated record, the first counts"


class ItemTable:
    """Items by id. The first record of an id wins; those that are the same again need no word."""

    def __init__(self, tally: DropReport) -> None:
        self.ids: list[str] = []
        self.items: list[Item] = []
        self._rows: dict[str, int] = {}
        self._tally = tally

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, identifier: str) -> bool:
        return identifier in self._rows

    def row(self, identifier: str) -> int:
        """Return the row of an id. Raises KeyError where there is none."""
        return self._rows[identifier]

    def put(self, identifier: str, item: Item) -> int:
        """Add an item and return its row; where the id is taken, the row of the item that has it."""
        if identifier in self._rows:
            if self.items[self._rows[identifier]] != item:
                self._tally.add(REPEATED, identifier)
            return self._rows[identifier]
        self._rows[identifier] = len(self.ids)
        self.ids.append(identifier)
        self.items.append(item)
        note_text(item, identifier, self._tally)
        return self._rows[identifier]

    def put_paper(self, record: Mapping[str, Any], id_field: str = "") -> int:
        """Add the paper of a record."""
        identifier = record_id(record, id_field, self._tally)
        return self.put(identifier, paper_of(record, identifier))


def note_text(item: Item, identifier: str, tally: DropReport) -> None:
    """Count an item that has no text, or a title alone."""
    if isinstance(item, Paper):
        if not item.title and not item.abstract:
            tally.add(NO_TEXT, identifier)
        elif not item.abstract:
            tally.add(NO_ABSTRACT, identifier)
    elif isinstance(item, str) and not item:
        tally.add(NO_TEXT, identifier)


def record_id(record: Mapping[str, Any], id_field: str = "", tally: DropReport | None = None) -> str:
    """Return the id of a record as text: of `id_field`, else of the first of `ID_FIELDS` that is filled."""
    names = (id_field,) if id_field else ID_FIELDS
    for name in names:
        if (value := record.get(name)) not in (None, ""):
            if name != names[0] and tally is not None:
                tally.add(f"no {names[0]}, {name} serves", as_id(value))
            return as_id(value)
    raise InputError(
        f"a record without {' or '.join(names)}; it has {', '.join(map(str, record)) or 'nothing'}"
    )


def paper_of(record: Mapping[str, Any], identifier: str) -> Paper:
    """Return a record of title, abstract and perhaps venue, year, authors as a paper; null is empty."""
    names = record.get("author_names")
    return Paper(
        id=identifier,
        title=text_of(record.get("title")),
        abstract=text_of(record.get("abstract")),
        authors=tuple(filter(None, map(text_of, names))) if isinstance(names, list) else (),
        venue=text_of(record.get("venue")),
        year=year_of(record.get("year")),
    )


def text_of(value: Any) -> str:
    """Return a text without outer white space; null and the NaN of data frames are empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).strip()


def year_of(value: Any) -> int | None:
    """Return a year: 1964, 1964.0 and "1964" are the same; anything else is none."""
    try:
        return None if value is None else int(float(value))
    except (ValueError, OverflowError):
        return None


def number_of(value: Any, identifier: str) -> float:
    """Return a number of a label file. Raises InputError naming the paper (or query)."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{identifier}: {value!r} is no number")
    return number


def grade_of(value: Any, query: str) -> int:
    """Return a grade; hub copies hold some as 1.0. Raises InputError naming the query."""
    number = number_of(value, f"query {query}")
    if not number.is_integer():
        raise InputError(f"query {query}: the grade {value!r} is no whole number")
    return int(number)


def distinct(names: Sequence[str], tally: DropReport) -> list[str]:
    """Return the names, "#2", "#3" ... behind those that stand again: every row is scored, as published."""
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        if seen[name] > 1:
            tally.add("paper labelled again", name)
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found
