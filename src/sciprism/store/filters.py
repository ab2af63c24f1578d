"""Say why no paper of a collection passes a filter."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from sciprism.errors import InputError
from sciprism.store.collection import StoredCollection
from sciprism.store.paper_filter import Filter

MAX_NAMED = 5
"""Venues or fields that a message names."""


def check_filter(collection: StoredCollection, filter: Filter) -> None:
    """Raise InputError for a condition that no paper meets, or that no paper meets together with the others."""
    if not filter or _passes(collection, filter):
        return
    name = collection.folder
    if not _passes(collection, replace(filter, venue="", field="")):
        years = [year for (part,) in collection.columns("year") for year in part if year is not None]
        span = f"its first year is {min(years)}, its last {max(years)}" if years else "none of its papers has a year"
        raise InputError(f"no paper of {name} is from these years; {span}")
    if not _passes(collection, Filter(venue=filter.venue)):
        raise InputError(f"no paper of {name} has a venue with {filter.venue!r} in it; {_list(collection, 'venue')}")
    if not _passes(collection, Filter(field=filter.field)):
        raise InputError(f"no paper of {name} has the field {filter.field!r}; {_list(collection, 'fields')}")
    raise InputError(f"no paper of {name} meets all conditions together, though each is met by some; leave one out")


def _passes(collection: StoredCollection, filter: Filter) -> bool:
    mask = collection.mask(filter)
    return mask is None or bool(mask.any())


def _list(collection: StoredCollection, column: str) -> str:
    """List the most frequent values of a column."""
    counts: Counter[str] = Counter()
    for (values,) in collection.columns(column):
        for value in values:
            counts.update(filter(None, value if isinstance(value, list) else [value]))
    most = ", ".join(value for value, _ in counts.most_common(MAX_NAMED))
    return f"it has {len(counts):,}, the most frequent: {most}" if counts else "its papers have none"
