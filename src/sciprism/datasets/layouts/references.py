"""References between the files of a custom task: how many lead to nothing, and when that is an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sciprism.errors import InputError

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
