"""The shards of all parts in the order of the input, and the rows of papers that an earlier row has already."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.errors import InputError
from sciprism.papers.division import InputShare
from sciprism.papers.records import Paper, Place
from sciprism.store.collection import StoredCollection
from sciprism.store.parts.plan import PartsPlan

RECORD_BITS = 40  # bits of a record's number in a position of the input; above them is the number of its file
BUCKETS = 16  # groups of ids that are sorted one after the other: sorting all at once would double the memory
ROWS = 2048  # papers that are read at once


@dataclass(frozen=True, slots=True)
class GatheredShard:
    """A shard of a part, and the row of the merged collection at which it will begin."""

    part: int
    number: int
    rows: int
    first: int


class GatheredShards:
    """The shards of all parts, ordered by the place of their first paper in the input.

    Within a shard, papers are in the order of the input; one process would have stored the shards' papers in the same
    order, but for files that it begins in the middle of a shard, and blocks of a divided file.
    """

    def __init__(self, plan: PartsPlan, parts: dict[int, StoredCollection]) -> None:
        self._parts = parts
        self._files = {file.name: number for number, file in enumerate(plan.files)}
        division = {file.name: file.parts for file in plan.files}
        self._shares = {part.number: InputShare(part, division) for part in plan.numbers()}
        positions = [
            (self._find_first_position(part, int(start)), part, number, shard.rows)
            for part, stored in parts.items()
            for number, (shard, start) in enumerate(zip(stored.manifest.shards, stored.shard_starts, strict=True))
        ]
        first = 0
        self.shards: list[GatheredShard] = []
        for _, part, shard, rows in sorted(positions):
            self.shards.append(GatheredShard(part, shard, rows, first))
            first += rows
        self.rows = first

    def find_repeats(self) -> tuple[Rows, Rows]:
        """Return rows of papers whose id an earlier one of the input has, and of each the row of that earlier one.

        Both (n,), ordered by the former; row numbers are those of the merged collection.
        """
        rows = self._find_shared_ids()
        if not len(rows):
            return rows, rows
        ids, positions = self._ids[rows], self._positions(rows)
        order = np.lexsort((positions, ids))
        starts = np.append(True, ids[order][1:] != ids[order][:-1])
        first = rows[order][np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))]
        repeats, firsts = rows[order][~starts], first[~starts]
        by_row = np.argsort(repeats)
        return repeats[by_row], firsts[by_row]

    def column(self, name: str, rows: Rows) -> NDArray[Any]:
        """Return one column of numbers or flags at some rows, ascending."""
        parts = [self._column(shard, name).to_numpy()[inside] for shard, inside in self._by_shard(rows)]
        return np.concatenate(parts) if parts else np.empty(0)

    def papers(self, rows: Rows) -> list[Paper]:
        """Return the papers of some rows, in the order given."""
        order = np.argsort(rows, kind="stable")
        ascending: list[Paper] = []
        for shard, inside in self._by_shard(rows[order]):
            stored = self._parts[shard.part]
            ascending += stored.papers(stored.shard_starts[shard.number] + inside)
        papers: list[Paper | None] = [None] * len(rows)
        for position, paper in zip(order.tolist(), ascending, strict=True):
            papers[position] = paper
        return [paper for paper in papers if paper is not None]

    @cached_property
    def _ids(self) -> NDArray[np.uint64]:
        ids = np.empty(self.rows, np.uint64)
        for shard in self.shards:
            ids[shard.first : shard.first + shard.rows] = self._column(shard, "id_hash").to_numpy()
        return ids

    @cached_property
    def _firsts(self) -> Rows:
        return np.array([shard.first for shard in self.shards], np.int64)

    def _find_shared_ids(self) -> Rows:
        """Return the rows whose id another row has, too, ascending."""
        shared_rows = []
        buckets = (self._ids >> np.uint64(60)).astype(np.uint8)
        for bucket in range(BUCKETS):
            rows = np.flatnonzero(buckets == bucket)
            ids = self._ids[rows]
            order = np.argsort(ids, kind="stable")
            same = ids[order][1:] == ids[order][:-1]
            shared = np.append(same, False) | np.append(False, same) if len(ids) else same
            shared_rows.append(rows[order][shared])
        return np.sort(np.concatenate(shared_rows))

    def _positions(self, rows: Rows) -> Rows:
        """Return where in the input some rows, ascending, were read: comparable numbers (n,)."""
        parts = []
        for shard, inside in self._by_shard(rows):
            files = self._column(shard, "file").take(inside).to_pylist()
            records = self._column(shard, "record").to_numpy()[inside]
            numbers = np.array([self._files[file] for file in files], np.int64)
            parts.append((numbers << RECORD_BITS) + records)
        return np.concatenate(parts)

    def _by_shard(self, rows: Rows) -> Iterator[tuple[GatheredShard, Rows]]:
        """Yield the shards of some rows, ascending, with the rows numbered in each."""
        shards = np.searchsorted(self._firsts, rows, "right") - 1
        numbers, starts = np.unique(shards, return_index=True)
        for number, inside in zip(numbers, np.split(rows, starts[1:]), strict=True):
            shard = self.shards[number]
            yield shard, inside - shard.first

    def _find_first_position(self, part: int, first: int) -> int:
        """Return where in the input a shard begins. Raises InputError where that is not of its part's share."""
        stored = self._parts[part]
        (paper,) = stored.papers([first])
        place = paper.place or Place("")
        if place.file not in self._files or not self._shares[part].reads_record(place.file, place.record or 0):
            raise InputError(
                f"{stored.folder} holds a paper of another part ({place}): was a folder copied under another name? "
                f"Delete it, and run part {self._shares[part].part} again"
            )
        return (self._files[place.file] << RECORD_BITS) + (place.record or 0)

    def _column(self, shard: GatheredShard, name: str):  # type: ignore[no-untyped-def]  # pyarrow has no types
        return self._parts[shard.part].shard_column(shard.number, name)
