"""Drop duplicate texts across all sources; the first is retained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sciprism.papers.duplicates import MinHashSignatures
from sciprism.prepare.text.sources import FilteredSource

DUPLICATE, NEAR_DUPLICATE = "duplicate text", "near-duplicate text"


def drop_duplicates(sources: Sequence[FilteredSource], near_duplicates: float | None) -> None:
    """Unmark duplicates in `retained`: documents whose text occurs before, in this source or an earlier one.

    near_duplicates: Jaccard similarity of word 3-grams from which texts are duplicates (`MinHashSignatures`);
    None drops only equal texts. Memory: 8 bytes a document, 264 more with `near_duplicates`.
    """
    keys = np.concatenate([each.keys for each in sources])
    repeated = np.ones(len(keys), np.bool_)
    repeated[np.unique(keys, return_index=True)[1]] = False
    _drop(sources, repeated, DUPLICATE)
    if near_duplicates is None:
        return
    signatures, start = MinHashSignatures(), 0
    for each in sources:
        rows = start + np.flatnonzero(each.retained)
        for row, (_, text) in zip(rows.tolist(), each.rows(each.retained), strict=True):
            signatures.add(row, text)
        start += len(each.retained)
    repeated = np.zeros(len(keys), np.bool_)
    for one, other in signatures.pairs(near_duplicates):
        repeated[max(one, other)] = True
    _drop(sources, repeated, NEAR_DUPLICATE)


def _drop(sources: Sequence[FilteredSource], repeated: NDArray[np.bool_], reason: str) -> None:
    start = 0
    for each in sources:
        dropped = repeated[start : start + len(each.retained)] & each.retained
        for name, _ in each.rows(dropped) if dropped.any() else ():
            each.dropped.add(reason, name)
        each.retained &= ~dropped
        start += len(each.retained)
