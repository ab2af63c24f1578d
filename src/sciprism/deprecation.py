"""Names of version 0.1 that are still read: for one release, each with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from sciprism.errors import InputError


class RenamedWarning(FutureWarning):
    """Say that a former name was used; it is read until the next release."""


def warn_renamed(what: str, old: str, new: str) -> None:
    """Warn once that `old`, a name of this kind of thing, is `new` today."""
    warnings.warn(
        f"{what} {old!r} is now {new!r}; version 0.3 reads the new name only", RenamedWarning, stacklevel=2
    )


def current_names(table: Mapping[str, Any], renamed: Mapping[str, str], what: str) -> dict[str, Any]:
    """Return a table with today's names for its former keys, each with a warning.

    renamed: former name -> today's. what: of what the keys are, for messages. InputError where a key is there
    under both names.
    """
    found = {key: value for key, value in table.items() if key not in renamed}
    for old, new in renamed.items():
        if old not in table:
            continue
        if new in found:
            raise InputError(
                f"{what} {old!r} is the former name of {new!r}, and both are given; remove {old!r}"
            )
        warn_renamed(what, old, new)
        found[new] = table[old]
    return found
