"""Find the pairs of records that may be duplicates, without comparing all with all: those that share a key."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

import numpy as np

from sciprism.papers.identity import find_equal_runs, hash_text
from sciprism.uses.deduplication.comparison import Citation

TITLE_ENDS = 20  # letters at the begin and the end of a title that are keys
LONGEST = 3  # words of a title that are a key together
MAX_BLOCK = 40  # records of one key that are all compared with each other; of more, each with its neighbours
NEIGHBOURS = 8  # that follow by title


class CandidateFinder:
    """Collects keys of records one by one, and yields the pairs that share one. Memory: about 200 bytes a record."""

    def __init__(self) -> None:
        self._titles: list[str] = []
        self._keys: list[array[int]] = []

    def add(self, record: Citation) -> None:
        """Add the next record."""
        keys = list(_list_keys(record))
        self._keys = self._keys or [array("Q") for _ in keys]
        for column, key in zip(self._keys, keys, strict=True):
            column.append(key)
        self._titles.append(record.fields.get("title", [""])[0][:40])

    def find(self) -> Iterator[tuple[int, int]]:
        """Yield each pair of positions once, in order."""
        pairs, count = array("q"), len(self._titles)
        for run in (run for column in self._keys for run in find_equal_runs(column)):
            width = len(run)
            if width > MAX_BLOCK:
                run, width = sorted(run, key=self._titles.__getitem__), NEIGHBOURS + 1
            for place, one in enumerate(run):
                pairs.extend(min(one, other) * count + max(one, other) for other in run[place + 1 : place + width])
        for pair in np.unique(np.array(pairs)).tolist():
            yield divmod(pair, count)


def _list_keys(record: Citation) -> Iterator[int]:
    """Yield the keys of a record, always as many; 0 for one that it does not have."""
    get, identity = record.fields.get, record.identity
    titles = [title.replace(" ", "") for title in get("title", [""])]
    yield from (*identity.ids, identity.abstract)
    yield from map(hash_text, (titles[0], titles[-1], titles[0][:TITLE_ENDS], titles[0][-TITLE_ENDS:]))
    longest = sorted(set(get("title", [""])[0].split()), key=lambda word: (-len(word), word))[:LONGEST]
    yield hash_text(" ".join(longest))
    name = max(get("authors", [[""]])[0], key=lambda word: (len(word), word))
    for parts in ((get("volume"), page := get("pages", [[""]])[0][0]), (name, page), (name, *longest[:1])):
        yield hash_text(" ".join((*parts, str(identity.year)))) if all(parts) else 0
