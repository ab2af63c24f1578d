"""Find the pairs of records that may be duplicates, without comparing all with all: those that share a key."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator

import numpy as np

from sciprism.papers.identity import find_equal_runs, hash_text
from sciprism.uses.deduplication.comparison import Citation

TITLE_ENDS = 20  # letters at the begin and the end of a title that are keys
LONGEST = 3  # words of a title that are a key together
MAX_BLOCK = 40  # records of one key that are all compared with each other; of more, each with its neighbours
NEIGHBOURS = 8  # that follow by title
PART = 1 << 16  # pairs that are Python's numbers at once, which take five times the memory


def find_candidates(records: Iterable[Citation]) -> Iterator[tuple[int, int]]:
    """Yield each pair of positions whose records share a key once, in order. Memory: about 200 bytes a record."""
    titles: list[str] = []
    columns: list[array[int]] = []
    pairs = array("q")
    for record in records:
        keys = list(_list_keys(record))
        columns = columns or [array("Q") for _ in keys]
        for column, key in zip(columns, keys, strict=True):
            column.append(key)
        titles.append(record.fields.get("title", [""])[0][:40])
    for run in (run for column in columns for run in find_equal_runs(column)):
        width = len(run)
        if width > MAX_BLOCK:
            run, width = sorted(run, key=titles.__getitem__), NEIGHBOURS + 1
        for place, one in enumerate(run):
            pairs.extend(min(one, other) * len(titles) + max(one, other) for other in run[place + 1 : place + width])
    distinct = np.unique(np.frombuffer(pairs, np.int64))
    del pairs
    for start in range(0, len(distinct), PART):
        yield from (divmod(pair, len(titles)) for pair in distinct[start : start + PART].tolist())


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
