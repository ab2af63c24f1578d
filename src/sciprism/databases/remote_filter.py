"""The filter of a search for a database: venues and fields by their exact names, which the pushed collection lists.

A part of a venue's name, in either case, is not what every database can look for; a list of names is.
"""

from __future__ import annotations

from sciprism.databases.database import RowFilter, VectorDatabase
from sciprism.databases.record import RemoteRecord, TextMap
from sciprism.errors import InputError
from sciprism.store import Filter

MAX_NAMED = 5
"""Venues or fields that a message names."""


def build_row_filter(
    database: VectorDatabase, name: str, place: object, record: RemoteRecord, filter: Filter | None
) -> RowFilter:
    """Return the filter in exact names. Raises InputError for a condition that no paper meets."""
    if not filter:
        return RowFilter()
    if filter.year_from is not None or filter.year_to is not None:
        _check_years(place, record, filter)
    venues = fields = None
    if filter.venue:
        counts = TextMap(database, name, "venue", record.buckets["venue"]).read_all()
        if not (venues := _match(counts, Filter(venue=filter.venue))):
            raise InputError(f"no paper of {place} has a venue with {filter.venue!r} in it; {_list(counts)}")
    if filter.field:
        counts = TextMap(database, name, "fields", record.buckets["fields"]).read_all()
        if not (fields := _match(counts, Filter(field=filter.field))):
            raise InputError(f"no paper of {place} has the field {filter.field!r}; {_list(counts)}")
    return RowFilter(year_from=filter.year_from, year_to=filter.year_to, venues=venues, fields=fields)


def _check_years(place: object, record: RemoteRecord, filter: Filter) -> None:
    if record.years is None:
        raise InputError(f"no paper of {place} is from these years; none of its papers has a year")
    first, last = record.years
    begins_later = filter.year_from is not None and filter.year_from > last
    ends_before = filter.year_to is not None and filter.year_to < first
    if begins_later or ends_before:
        raise InputError(f"no paper of {place} is from these years; its first year is {first}, its last {last}")


def _match(counts: dict[str, int], filter: Filter) -> tuple[str, ...]:
    """Return the names that pass a filter by venue or field, as the local search compares them."""
    import pyarrow as pa

    names = sorted(counts)
    columns = {"venue": pa.chunked_array([names], pa.string())}
    columns["fields"] = pa.chunked_array([[[name] for name in names]], pa.list_(pa.string()))
    passes = filter.passes(len(names), columns.__getitem__)
    return tuple(name for name, passed in zip(names, passes, strict=True) if passed)


def _list(counts: dict[str, int]) -> str:
    most = ", ".join(sorted(counts, key=lambda name: (-counts[name], name))[:MAX_NAMED])
    return f"it has {len(counts):,}, the most frequent: {most}" if counts else "its papers have none"
