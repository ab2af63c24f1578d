"""Which records of an input count, where later ones correct or delete what came before."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.errors import InputError
from sciprism.papers.identity import hash_text
from sciprism.papers.records import Deletion, Paper

BUCKETS = 16  # ids are sorted in groups, so that sorting needs little additional memory
MAX_VERSION = 127
_GROUP_BITS = np.uint64(60)


class LastRecords:
    """Select the last record of each id from an input that is read twice: `add` every record, then `select`.

    Where the source numbers the versions of a paper (`Place.version`), the last record of the highest version is
    selected, unless that version is deleted. Memory: 9 bytes a record while they are added, then one.

    >>> from sciprism.papers.records import Deletion, Paper
    >>> records = [Paper(id="a", title="Wrong"), Paper(id="b", title="B"), Paper(id="a", title="A"), Deletion("b")]
    >>> list(LastRecords.of(records).select(records))
    [Paper(id='a', title='A', ...), Deletion(id='b')]
    """

    def __init__(self) -> None:
        self.papers = 0
        self.deletions = 0
        self._ids = array("Q")
        self._marks = bytearray()  # of each record twice its version, and 1 for a deletion
        self._selected: NDArray[np.bool_] = np.empty(0, bool)

    @classmethod
    def of(cls, records: Iterable[Paper | Deletion]) -> Self:
        """Add all records of an input; then the object is complete."""
        last = cls()
        for record in records:
            last.add(record)
        last.finish()
        return last

    @property
    def outdated(self) -> int:
        """Count the records that a later one of their id corrects, deletes or adds again."""
        return len(self._selected) - self.papers - self.deletions

    def add(self, record: Paper | Deletion) -> None:
        """Add the next record of the input."""
        version = record.place.version if record.place else None
        self._ids.append(hash_text(record.id))
        self._marks.append(min(version or 1, MAX_VERSION) << 1 | isinstance(record, Deletion))

    def finish(self) -> None:
        """Find the last records, and count them: `papers`, `deletions`, `outdated`."""
        ids = np.frombuffer(self._ids, np.uint64) if self._ids else np.empty(0, np.uint64)
        marks = np.frombuffer(self._marks, np.uint8)
        selected = np.zeros(len(ids), bool)
        groups = (ids >> _GROUP_BITS).astype(np.uint8)
        for group in range(BUCKETS):
            rows = np.flatnonzero(groups == group)
            selected[rows[_find_last(ids[rows], marks[rows])]] = True
        self.deletions = int((selected & (marks & 1).astype(bool)).sum())
        self.papers = int(selected.sum()) - self.deletions
        self._selected = selected
        self._ids, self._marks = array("Q"), bytearray()

    def select(self, records: Iterable[Paper | Deletion]) -> Iterator[Paper | Deletion]:
        """Yield the last records, in the order of the input.

        Raises InputError where the input has more or fewer records than were added.
        """
        number = 0
        for record in records:
            if number < len(self._selected) and self._selected[number]:
                yield record
            number += 1
        if number != len(self._selected):
            raise InputError(
                f"the input had {len(self._selected):,} records when it was first read, and then {number:,}: a file "
                "changed meanwhile; run the same command again"
            )


def _find_last(ids: NDArray[np.uint64], marks: NDArray[np.uint8]) -> Rows:
    """Return the records that count, of some with these hashes of ids and marks, both (n,), in the input's order."""
    versions, deleted = marks >> 1, marks & 1
    rows = np.lexsort((versions, ids))  # stable: records of one version stay in their order
    rows = rows[_find_ends(ids[rows], versions[rows])]
    rows = rows[np.lexsort((versions[rows], deleted[rows] == 0, ids[rows]))]
    last: Rows = rows[_find_ends(ids[rows])]
    return last


def _find_ends(*keys: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return where runs of equal keys end."""
    ends = np.ones(len(keys[0]), bool)
    ends[:-1] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return ends
