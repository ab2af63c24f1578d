"""Records of published files with their locations, and the papers and ids in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sciprism.datasets.data_root import DataRoot, as_id
from sciprism.datasets.layouts.item_tables import ID_FIELDS, clean_text
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.training.examples import TITLE_SEPARATOR

Record = Mapping[str, Any]
IDS = (*ID_FIELDS, "sha")


def require_field(record: Any, key: str, where: str) -> Any:
    """Return the value of a key. Raises InputError that lists the record's keys."""
    if not isinstance(record, Mapping):
        raise InputError(f"{where}: expected an object, got {record!r:.60}")
    if key not in record:
        raise InputError(f"{where}: no field {key!r}; it has {', '.join(map(str, record)) or 'nothing'}")
    return record[key]


def parse_record_paper(record: Any, fields: Sequence[str]) -> Paper:
    """Return the paper of a record with these fields only; the id may be missing.

    Further fields are appended to the abstract with the separator of training files, which have no other
    field for them.
    """
    record = record if isinstance(record, Mapping) else {}
    name = next((as_id(record[key]) for key in IDS if record.get(key) not in (None, "")), "")
    rest = (format_words(record.get(key)) for key in fields if key != "title")
    title = format_words(record.get("title")) if "title" in fields else ""
    return Paper(id=name, title=title, abstract=TITLE_SEPARATOR.join(filter(None, rest)))


def format_words(value: Any) -> str:
    """Return a field's value as text: 1964.0 as "1964", the items of a list joined by commas."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(format_words, value)))
    if value is None or value != value:  # NaN
        return ""
    return clean_text(as_id(value))


def read_beir_papers(data_root: DataRoot, path: Path) -> Iterator[Paper]:
    """Yield a corpus or queries in BEIR's layout as papers. Raises InputError for a record without an id."""
    for where, record in data_root.located_records(path):
        name = as_id(record.get("_id"))
        if not name:
            raise InputError(f"{where}: no `_id`; it has {', '.join(record) or 'nothing'}")
        title, text = (clean_text(record.get(key)) for key in ("title", "text"))
        yield Paper(id=name, title=title, abstract=text)


def parse_ids(record: Record, key: str, where: str) -> list[str]:
    """Return the ids in a list of a record, empty where it has none. Raises InputError for no list."""
    value = record.get(key) or []
    if not isinstance(value, list):
        raise InputError(f"{where}: {key} is {value!r:.60}, not a list of ids")
    return list(map(as_id, value))
