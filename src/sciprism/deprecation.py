"""Names of version 0.1 that are still read: for one release, each with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from sciprism.errors import InputError


class RenamedWarning(FutureWarning):
    """Say that a former name was used, or one that meant something else; said until the next release."""


def warn_renamed(what: str, old: str, new: str) -> None:
    """Warn that `old`, a name of this kind of thing, is `new` today."""
    warnings.warn(f"{what} {old!r} is now {new!r}; version 0.3 reads the new name only", RenamedWarning, stacklevel=2)


def warn_moved(what: str, name: str, former: str, new: str) -> None:
    """Warn that `name`, today of something else, was `former` in version 0.1, which is `new` today."""
    message = f"{what} {name!r} is numbered as in the paper; in version 0.1 it was {former}, which is now {new!r}"
    warnings.warn(message, RenamedWarning, stacklevel=2)


def current_names(
    table: Mapping[str, Any],
    renamed: Mapping[str, str],
    what: str,
    *,
    warn: Callable[[str, str, str], None] | None = warn_renamed,
) -> dict[str, Any]:
    """Return a table with today's names for its former keys, in the table's order.

    renamed: former name -> today's. what: of what the keys are, for messages. warn: called with `what` and
    both names for each former key; None for files that the program wrote. InputError where a key is there
    under both names.
    """
    found = {}
    for key, value in table.items():
        name = renamed.get(key, key)
        if name != key:
            if name in table:
                raise InputError(f"{what} {key!r} is the former name of {name!r}, and both are given; remove {key!r}")
            if warn:
                warn(what, key, name)
        found[name] = value
    return found
