"""Records of SciRepEval's training files behind their places, and the papers in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.item_tables import ID_FIELDS, number_of, text_of
from sciprism.datasets.rows import as_id
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.desk import numbered
from sciprism.prepare.scirepeval.config import Place
from sciprism.training.examples import MARK

Record = Mapping[str, Any]
IDS = (*ID_FIELDS, "sha")


def records_in(home: DataRoot, place: Place) -> Iterator[tuple[str, Record]]:
    """Yield each record behind what a message calls it ("FILE, line 3")."""
    for path in place.files:
        yield from numbered(home, path)
    if place.repo:
        rows = home.rows(place.repo, place.config, split=place.split, revision=place.revision)
        for number, row in enumerate(rows, 1):
            yield f"{place.repo}, {place.config or 'default'}, {place.split}, record {number}", row


def need(record: Any, key: str, where: str) -> Any:
    """Return the value of a key. Raises InputError that says which keys there are."""
    if not isinstance(record, Mapping):
        raise InputError(f"{where}: expected an object, got {record!r:.60}")
    if key not in record:
        raise InputError(f"{where}: no field {key!r}; it has {', '.join(map(str, record)) or 'nothing'}")
    return record[key]


def paper_in(record: Any, fields: Sequence[str]) -> Paper:
    """Return the paper of a record, with these fields alone; an id need not be there.

    Fields beside title and abstract follow the abstract, divided as a training file divides title and
    abstract, since such a file has no place of its own for them.
    """
    record = record if isinstance(record, Mapping) else {}
    name = next((as_id(record[key]) for key in IDS if record.get(key) not in (None, "")), "")
    rest = (words_of(record.get(key)) for key in fields if key != "title")
    title = words_of(record.get("title")) if "title" in fields else ""
    return Paper(id=name, title=title, abstract=MARK.join(filter(None, rest)))


def words_of(value: Any) -> str:
    """Return a field's value as words: 1964.0 as "1964", names of a list with commas between them."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(words_of, value)))
    if value is None or value != value:  # NaN
        return ""
    return text_of(as_id(value))


def score_in(record: Any, where: str) -> float:
    """Return a candidate's score. Raises InputError where it has none."""
    return number_of(need(record, "score", where), f"{where}: the score")
