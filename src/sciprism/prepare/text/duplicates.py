"""Texts that occur more than once over all sources: the first stays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sciprism.papers.duplicates import TextSignatures
from sciprism.prepare.text.sources import Gathered

SAME, NEAR = "same text as one before", "nearly the same text as one before"


def drop_duplicates(sources: Sequence[Gathered], near: float | None) -> None:
    """Take documents out of `kept` whose text stands before, in the source or in one named before it.

    near: Jaccard similarity of the word 3-grams from which texts count as one (see `TextSignatures`); None
    drops only equal ones. Memory: 8 bytes a document, 264 more with `near`.
    """
    keys = np.concatenate([each.keys for each in sources])
    again = np.ones(len(keys), np.bool_)
    again[np.unique(keys, return_index=True)[1]] = False
    _drop(sources, again, SAME)
    if near is None:
        return
    signatures, place = TextSignatures(), 0
    for each in sources:
        places = place + np.flatnonzero(each.kept)
        for row, (_, text) in zip(places.tolist(), each.rows(each.kept), strict=True):
            signatures.add(row, text)
        place += len(each.kept)
    again = np.zeros(len(keys), np.bool_)
    for one, other in signatures.pairs(near):
        again[max(one, other)] = True
    _drop(sources, again, NEAR)


def _drop(sources: Sequence[Gathered], again: NDArray[np.bool_], reason: str) -> None:
    start = 0
    for each in sources:
        mine = again[start : start + len(each.kept)] & each.kept
        for name, _ in each.rows(mine) if mine.any() else ():
            each.dropped.add(reason, name)
        each.kept &= ~mine
        start += len(each.kept)
