"""Pairs of mentions within blocks: all of them, or a seeded sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from sciprism.arrays import Rows
from sciprism.papers.signatures import Signature


def rows_by_block(signatures: Sequence[Signature], blocks: frozenset[str]) -> dict[str, Rows]:
    """Return the rows of the mentions in each of some blocks, blocks in order of name."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for row, signature in enumerate(signatures):
        if signature.block in blocks:
            found[signature.block].append(row)
    return {name: np.array(found[name], np.int64) for name in sorted(found)}


def all_pairs(rows: Rows) -> tuple[Rows, Rows]:
    """Return every pair of some rows once, (0, 1), (0, 2) ..., the order of condensed distances."""
    one, other = np.triu_indices(len(rows), 1)
    return rows[one], rows[other]


def sample_pairs(blocks: Mapping[str, Rows], most: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Draw at most `most` pairs, uniformly over all pairs that lie within a block, without repeats."""
    groups = list(blocks.values())
    ends = np.cumsum([len(rows) * (len(rows) - 1) // 2 for rows in groups])
    total = int(ends[-1]) if groups else 0
    drawn = np.sort(rng.choice(total, most, replace=False)) if total > most else np.arange(total)
    owners = np.searchsorted(ends, drawn, "right")
    left, right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for owner in np.unique(owners):
        rows = groups[owner]
        before = ends[owner] - len(rows) * (len(rows) - 1) // 2
        one, other = all_pairs(rows)
        places = drawn[owners == owner] - before
        left.append(one[places])
        right.append(other[places])
    return np.concatenate(left), np.concatenate(right)
