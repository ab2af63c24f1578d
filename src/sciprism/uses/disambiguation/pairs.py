"""Pairs of mentions within blocks: all of them, or a random sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from sciprism.arrays import Rows
from sciprism.papers.signatures import Signature


def group_by_block(signatures: Sequence[Signature], blocks: frozenset[str]) -> dict[str, Rows]:
    """Return block -> rows of its mentions for some blocks, in the order of their names."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for row, signature in enumerate(signatures):
        if signature.block in blocks:
            found[signature.block].append(row)
    return {name: np.array(found[name], np.int64) for name in sorted(found)}


def all_pairs(rows: Rows) -> tuple[Rows, Rows]:
    """Return every pair of rows once: (0, 1), (0, 2), ..., the order of condensed distance matrices."""
    one, other = np.triu_indices(len(rows), 1)
    return rows[one], rows[other]


def sample_pairs(blocks: Mapping[str, Rows], max_pairs: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Sample at most `max_pairs` pairs, uniformly over all pairs within a block, without replacement."""
    groups = list(blocks.values())
    ends = np.cumsum([len(rows) * (len(rows) - 1) // 2 for rows in groups])
    total = int(ends[-1]) if groups else 0
    sampled = np.arange(total)
    if total > max_pairs:
        sampled = np.sort(rng.choice(total, max_pairs, replace=False))
    owners = np.searchsorted(ends, sampled, "right")
    left, right = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for owner in np.unique(owners):
        rows = groups[owner]
        before = ends[owner] - len(rows) * (len(rows) - 1) // 2
        one, other = all_pairs(rows)
        here = sampled[owners == owner] - before
        left.append(one[here])
        right.append(other[here])
    return np.concatenate(left), np.concatenate(right)
