"""Find the columns of a table by its headers, and read its cells by field."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher

from sciprism.errors import InputError
from sciprism.papers.input_file import FilePath

_MIN_SIMILARITY = 0.7


def normalise_header(header: str) -> str:
    """Return a header without case, spaces and punctuation."""
    return "".join(filter(str.isalnum, header.casefold()))


def guess_columns(headers: Sequence[str], known: Mapping[str, str]) -> dict[str, int]:
    """Return field -> column, of the fields that have one.

    known: field -> its normalised headers, separated by spaces, the best first.
    """
    normalised = list(map(normalise_header, headers))
    found = {
        field: [normalised.index(name) for name in names.split() if name in normalised]
        for field, names in known.items()
    }
    return {field: columns[0] for field, columns in found.items() if columns}


def find_columns(
    path: FilePath,
    headers: Sequence[str],
    known: Mapping[str, str],
    *,
    chosen: Mapping[str, str],
    required: str,
    option: str = "--columns",
) -> dict[str, int]:
    """Return field -> column: as the user chose (field -> header), else as guessed from `known` headers.

    option: of the commands that read such tables, "" without one. Raises InputError for an unknown field or header,
    and where the `required` field has no column.
    """
    columns = guess_columns(headers, known)
    normalised = list(map(normalise_header, headers))
    listed = ", ".join(filter(None, headers))
    for field, header in chosen.items():
        if field not in known:
            raise InputError(f"--columns {field}={header}: no field {field!r}; fields: {', '.join(known)}")
        if normalise_header(header) not in normalised:
            raise InputError(f"{path}: no column {header!r} for {field}; columns: {listed}")
        exact = header in headers
        columns[field] = headers.index(header) if exact else normalised.index(normalise_header(header))
    if required not in columns:
        nearest = find_nearest_header(headers, known[required])
        hint = f"; nearest: {nearest!r}" if nearest else ""
        example = shlex.quote(f"{required}={nearest or 'HEADER'}")
        advice = f"name it, for example: {option} {example}" if option else f"rename one to {required!r}"
        raise InputError(f"{path}: no column {required!r}{hint}; columns: {listed}; {advice}")
    return columns


def find_nearest_header(headers: Sequence[str], names: str) -> str:
    """Return the header most like one of the known names, or an empty text where none is like them."""

    def similarity(header: str) -> float:
        normalised = normalise_header(header)
        words = [normalised, *map(normalise_header, header.split())]
        return max(
            SequenceMatcher(None, word, name).ratio() for word in words for name in names.split() if len(name) > 2
        )

    scores = {header: similarity(header) for header in headers if header}
    best = max(scores, key=lambda header: scores[header], default="")
    return best if scores.get(best, 0.0) >= _MIN_SIMILARITY else ""


def cell_getter(cells: Sequence[str], columns: Mapping[str, int]) -> Callable[[str], str]:
    """Return a function of a field that gives the text of its cell, empty where there is none."""

    def text(field: str) -> str:
        column = columns.get(field, len(cells))
        return cells[column].strip() if column < len(cells) else ""

    return text
