"""Read what paper files say beyond a paper: authors' e-mails and institutions; and tables of reviewers."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.papers.bibliographic_fields import split_list
from sciprism.papers.input_file import InputFile
from sciprism.papers.json_records import list_texts
from sciprism.papers.json_values import JsonLayout, read_json_values
from sciprism.papers.table_columns import normalise_header
from sciprism.papers.table_rows import detect_layout, read_rows
from sciprism.uses.matching.reviewers import Authorship

Record = tuple[str, Mapping[str, Any]]
"""Where a record is, and its values by normalised header."""
_TABLES = (".csv", ".tsv", ".tab")
_JSON = (".json", ".jsonl", ".ndjson")
_AUTHOR_KEYS = {
    "ids": ("authorids", "authorid", "authorprofiles"),
    "emails": ("emails", "email", "authoremails", "authoremail", "authorsemails"),
    "institutions": ("institutions", "institution", "authorinstitutions", "affiliations", "affiliation"),
}


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a table or of JSON objects; InputError for a row that cannot be read."""
    file = InputFile(path)
    if not path.exists():
        raise InputError(f"{path}: no such file")
    if is_table(file.name):
        yield from _read_table(file)
        return
    for number, line, value, reason in read_json_values(file, JsonLayout(("notes", "reviewers", "profiles"))):
        where = file.locate(number, line)
        if reason or not isinstance(value, dict):
            raise InputError(f"{where}: {reason or 'not an object'}")
        yield where, {normalise_header(str(key)): item for key, item in _flatten(value).items()}


def is_table(name: str) -> bool:
    """Tell whether a file is a table, by its name."""
    return name.removesuffix(".gz").endswith(_TABLES)


def first_of(record: Mapping[str, Any], keys: Iterable[str]) -> Any:
    """Return the first value of some keys that is not empty, else None."""
    return next((record[key] for key in keys if record.get(key) not in (None, "", [], {})), None)


def read_texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a list, or of one text in which ; | or a line end separates them."""
    return split_list(value) if isinstance(value, str) else list_texts(value, "id", "name", "value", "email")


def read_authorships(paths: Iterable[Path]) -> dict[str, Authorship]:
    """Return submission -> what its file says of its authors; other files than tables and JSON say nothing.

    A table may have one row per author; the rows of a submission are joined.
    """
    found: dict[str, Authorship] = {}
    for path in paths:
        name = path.name.removesuffix(".gz")
        if not path.is_file() or not name.endswith((*_TABLES, *_JSON)):
            continue
        for where, record in read_records(path):
            id = first_of(record, ("id", "paperid", "paper", "submission", "submissionid", "note", "forum"))
            if id is None:
                continue
            try:
                new = {field: read_texts(first_of(record, keys)) for field, keys in _AUTHOR_KEYS.items()}
            except ValueError as error:
                raise InputError(f"{where}: {error}") from None
            emails = tuple(each for each in (*new["emails"], *new["ids"]) if "@" in each)
            old = found.get(str(id), Authorship())
            found[str(id)] = Authorship(
                ids=(*old.ids, *new["ids"]),
                emails=(*old.emails, *emails),
                institutions=(*old.institutions, *new["institutions"]),
            )
    return found


def _read_table(file: InputFile) -> Iterator[Record]:
    layout = detect_layout(file.head(), lambda headers: [each for each in headers if each])
    headers = list(map(normalise_header, layout.headers))
    try:
        for number, (cells, fault) in enumerate(read_rows(file, layout), 1):
            where = file.locate(number, file.record_line)
            if fault:
                raise InputError(f"{where}: {fault}")
            yield where, {header: cell.strip() for header, cell in zip(headers, cells, strict=False) if header}
    except csv.Error as error:
        raise InputError(f"{file.path}: not a table: {error}") from error


def _flatten(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with the values of OpenReview's `content` (versions 1 and 2) beside its own."""
    content = value.get("content")
    if not isinstance(content, Mapping):
        return dict(value)
    inner = {key: item.get("value") if isinstance(item, Mapping) else item for key, item in content.items()}
    return {**inner, **{key: item for key, item in value.items() if key != "content"}}
