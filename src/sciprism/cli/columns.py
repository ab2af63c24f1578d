"""The `--columns` option: which column of a table holds which field."""

from __future__ import annotations

from collections.abc import Iterable

from sciprism.errors import InputError


def parse_columns(pairs: Iterable[str]) -> dict[str, str]:
    """Turn `field=header` texts into a mapping; InputError shows one that is none."""
    columns: dict[str, str] = {}
    for pair in pairs:
        field, equals, header = pair.partition("=")
        if not (field and equals and header):
            raise InputError(f"--columns {pair!r} is not of the form field=header, such as title=Name")
        columns[field] = header
    return columns
