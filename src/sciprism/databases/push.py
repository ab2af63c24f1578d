"""Push a collection to a vector database: only what is new or changed there is sent, and what is gone is deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sciprism.arrays import Rows
from sciprism.databases.address import Address, open_database
from sciprism.databases.check import SpaceCheck, check_space
from sciprism.databases.collection import PaperHashColumns, RowBuilder, read_hashes
from sciprism.databases.database import Hashes, TableSchema, VectorDatabase
from sciprism.databases.record import (
    TERM_MAP,
    LexicalRecord,
    RemoteRecord,
    TextMap,
    check_table,
    choose_buckets,
    name_term,
    read_record,
    write_record,
)
from sciprism.databases.term_weights import TermStatistics, read_frequencies, read_statistics
from sciprism.errors import InputError
from sciprism.index import lexical
from sciprism.store import StoredCollection

BATCH = 256  # papers that are sent at once
DRIFT = 0.01
"""Change of the mean length of texts from which all lexical weights are computed again; less changes scores by less."""
RARE = 2  # documents that have a term from which its count is stored; a term that is not stored is in one
OnPapers = Callable[[str, int, int], None]  # called with the work, the number of papers done, and their total


@dataclass(frozen=True, slots=True, kw_only=True)
class SpacePush:
    """What a push did in the table of one space, and what its check found."""

    space: str
    table: str
    new: int
    changed: int
    unchanged: int
    deleted: int
    check: SpaceCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class PushReport:
    """What a push did.

    unfinished: whether more papers are still to be embedded here. lexical: whether lexical weights are there.
    shortened: records sent that were too long for a database.
    """

    address: str
    papers: int
    unfinished: bool
    lexical: bool
    shortened: int
    spaces: tuple[SpacePush, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class _SpaceDifference:
    """What the table of a space lacks: rows to send, keys to delete, and counts. found: its layout, if it is there."""

    space: str
    found: TableSchema | None
    rows: Rows
    gone: Hashes
    new: int
    unchanged: int


def push(
    folder: Path | str,
    address: str,
    *,
    approximate: bool = False,
    prune: bool = False,
    on_papers: OnPapers | None = None,
) -> PushReport:
    """Make the collection at an address equal to a local one; killed at any moment, the same call continues.

    approximate: let the database build an index for approximate search. prune: delete papers there that are not in the
    collection, even if they are more than half. Raises InputError for papers of another encoder or a changed schema,
    RunFailedError for a database that cannot be reached or whose check fails; what was there before stays.
    """
    stored = StoredCollection.open(folder)
    if not len(stored):
        raise InputError(f"{folder} holds no papers; there is nothing to push")
    place, database = open_database(address)
    with database:
        return _Push(stored, place, database, approximate, on_papers or (lambda *_: None)).run(prune)


class _Push:
    """One push of a collection to one address."""

    def __init__(
        self,
        stored: StoredCollection,
        address: Address,
        database: VectorDatabase,
        approximate: bool,
        on_papers: OnPapers,
    ) -> None:
        self.stored, self.address, self.database, self.on_papers = stored, address, database, on_papers
        before = read_record(database, address)
        if before is not None:
            self._check_encoder(before)
        self.statistics = _choose_statistics(stored, before)
        self.record = self._build_record(before, approximate)
        self.hashes = {
            with_words: read_hashes(stored, self.statistics if with_words else None) for with_words in (False, True)
        }

    def run(self, prune: bool) -> PushReport:
        """Compare, send, delete, check."""
        differences = [self._compare(space) for space in self.record.spaces]
        for difference in differences:
            self._check_deletions(difference, prune)
        self._write_maps()
        shortened = max(self._send(difference) for difference in differences)
        reports = tuple(self._report(difference) for difference in differences)
        write_record(self.database, self.address, self.record.model_copy(update={"complete": True}))
        return PushReport(
            address=str(self.address),
            papers=len(self.stored),
            unfinished=self.stored.manifest.input is None,
            lexical=self.statistics is not None,
            shortened=shortened,
            spaces=reports,
        )

    def _check_encoder(self, before: RemoteRecord) -> None:
        there, here = before.encoder, self.stored.manifest.encoder
        if there.fingerprint != here.fingerprint:
            raise InputError(
                f"{self.address} holds vectors of {there.name} (fingerprint {there.fingerprint}), {self.stored.folder} "
                f"those of {here.name} (fingerprint {here.fingerprint}), and they do not compare; push to another name"
            )
        if more := sorted(before.spaces.keys() - self.stored.manifest.spaces.keys()):
            raise InputError(
                f"{self.address} also has vectors of the space {', '.join(more)}, which {self.stored.folder} has not; "
                "embed the papers for the same formats, or push to another name"
            )

    def _build_record(self, before: RemoteRecord | None, approximate: bool) -> RemoteRecord:
        manifest = self.stored.manifest
        spaces = manifest.spaces if before is None else manifest.spaces | before.spaces
        words = None
        if self.statistics is not None:
            formats = {format: name for name, space in spaces.items() for format in space.formats}
            space = formats.get("search") or formats.get("proximity") or next(iter(spaces))
            words = LexicalRecord(space=space, **asdict(self.statistics))
        return RemoteRecord(
            encoder=manifest.encoder,
            spaces=spaces,
            approximate=approximate,
            years=_find_years(self.stored),
            lexical=words,
            buckets={} if before is None else before.buckets,
        )

    def _hashes_of(self, space: str) -> PaperHashColumns:
        return self.hashes[self.record.lexical is not None and self.record.lexical.space == space]

    def _compare(self, space: str) -> _SpaceDifference:
        """Compare the table of a space with the collection, in a few numbers for each paper of both."""
        layout = check_table(self.database, self.address, self.record, space)
        live, hashes = self.stored.live, self._hashes_of(space)
        if layout is None:
            return _SpaceDifference(space, None, live, np.empty(0, np.int64), len(live), 0)
        table = self.record.table(self.address.name, space)
        none = np.empty(0, np.int64)
        parts = [(none, none), *self.database.iterate_versions(table)]
        keys, versions = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(keys)
        keys, versions, own_keys = keys[order], versions[order], hashes.keys[live]
        is_there = np.isin(own_keys, keys)
        same = is_there.copy()
        same[is_there] = versions[np.searchsorted(keys, own_keys[is_there])] == hashes.versions[live[is_there]]
        gone = keys[~np.isin(keys, own_keys)]
        return _SpaceDifference(space, layout, live[~same], gone, int((~is_there).sum()), int(same.sum()))

    def _check_deletions(self, difference: _SpaceDifference, prune: bool) -> None:
        there = len(difference.gone) + len(self.stored.live) - difference.new
        if 2 * len(difference.gone) > there and not prune:
            raise InputError(
                f"{self.address} has {there:,} papers, of which {self.stored.folder} lacks {len(difference.gone):,}: "
                "is it another collection? Push to another name, or delete them with --prune; nothing was changed"
            )

    def _write_maps(self) -> None:
        """Write how often each term, venue, field, author occurs, then the record, which says how maps are divided."""
        maps: dict[str, Mapping[str, int]] = {
            column: _count_values(self.stored, column) for column in ("venue", "fields", "authors")
        }
        if self.statistics is not None:
            terms, counts = read_frequencies(self.stored)
            often = counts >= RARE
            pairs = zip(terms[often].tolist(), counts[often].tolist(), strict=True)
            maps[TERM_MAP] = {name_term(term): count for term, count in pairs}
        former = self.record.buckets
        buckets = {kind: choose_buckets(len(counts_of)) for kind, counts_of in maps.items()}
        for kind, counts_of in maps.items():
            TextMap(self.database, self.address.name, kind, buckets[kind]).write(counts_of)
        self.record = self.record.model_copy(update={"buckets": buckets})
        write_record(self.database, self.address, self.record)
        for kind, number in former.items():
            if buckets.get(kind) != number:
                TextMap(self.database, self.address.name, kind, number).delete()

    def _send(self, difference: _SpaceDifference) -> int:
        """Send the rows that a table lacks, delete those that are gone; return how many were shortened."""
        space, shortened = difference.space, 0
        table = self.record.table(self.address.name, space)
        if difference.found is None:
            self.database.create(table, self.record.table_schema(space))
        elif difference.found.approximate != self.record.approximate:
            self.database.set_approximate(table, self.record.table_schema(space))
        with_words = self.record.lexical is not None and self.record.lexical.space == space
        builder = RowBuilder(self.stored, space, self._hashes_of(space), self.statistics if with_words else None)
        for start in range(0, len(difference.rows), BATCH):
            rows, cut = builder.build(difference.rows[start : start + BATCH])
            self.database.upsert(table, rows)
            shortened += cut
            self.on_papers(f"pushing {space}", start + len(rows.keys), len(difference.rows))
        for start in range(0, len(difference.gone), BATCH):
            self.database.delete(table, difference.gone[start : start + BATCH])
        return shortened

    def _report(self, difference: _SpaceDifference) -> SpacePush:
        space = difference.space
        self.on_papers(f"checking {space}", 0, 0)
        return SpacePush(
            space=space,
            table=self.record.table(self.address.name, space),
            new=difference.new,
            changed=len(difference.rows) - difference.new,
            unchanged=difference.unchanged,
            deleted=len(difference.gone),
            check=check_space(self.stored, self.database, self.address, self.record, space),
        )


def _choose_statistics(stored: StoredCollection, before: RemoteRecord | None) -> TermStatistics | None:
    """Return the statistics of the lexical index, None where there is none, and none was when it was pushed.

    The mean length of an earlier push stays while it differs little, so that unchanged papers keep their weights.
    """
    pushed = before is not None and before.lexical is not None
    if not (pushed or lexical.is_built(stored)):
        return None
    new = read_statistics(stored)
    if before is None or before.lexical is None:
        return new
    old = before.lexical.statistics()
    close = abs(new.mean_length - old.mean_length) <= DRIFT * old.mean_length
    return replace(new, mean_length=old.mean_length) if close and (new.k1, new.b) == (old.k1, old.b) else new


def _find_years(stored: StoredCollection) -> tuple[int, int] | None:
    """Return the first and the last year of a collection, as a filter's message names them."""
    spans = []
    for (values,) in stored.columns("year"):
        if years := [year for year in values if year is not None]:
            spans += [min(years), max(years)]
    return (min(spans), max(spans)) if spans else None


def _count_values(stored: StoredCollection, column: str) -> Counter[str]:
    """Count the papers that have each venue, field or author."""
    counts: Counter[str] = Counter()
    first = 0
    live = stored.mask()
    for (values,) in stored.columns(column):
        for row, value in enumerate(values, first):
            if live is None or live[row]:
                counts.update(set(filter(None, value if isinstance(value, list) else [value])))
        first += len(values)
    return counts
