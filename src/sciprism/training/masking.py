"""Which tokens are hidden: anew each time, as tokens or whole words (RoBERTa), or by rows (RetroMAE)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sciprism.text.words import Words

Ids = NDArray[np.int64]
Places = NDArray[np.int64]
Hidden = NDArray[np.bool_]

KEPT, OTHER = 0.1, 0.1
"""Of the chosen tokens: how many stay as they are, and how many become any token instead of the mask."""
MASKS = 256
"""Masks that a text's rows draw from (RetroMAE's code)."""


def chosen(ids: Ids, words: Words, share: float, draw: np.random.Generator, *, whole: bool) -> Places:
    """Return the places of a share of a text's tokens, at least one unless all are special, in order.

    whole: words are taken until the share is reached, never a part of one. Where the share is no whole number
    of tokens it is met on average.
    """
    if whole:
        return np.flatnonzero(_words_chosen(ids, words, share, draw, 1)[0])
    able = np.flatnonzero(~words.special[ids])
    wanted = max(1, math.floor(share * len(able) + draw.random()))
    return np.sort(draw.permutation(able)[:wanted])


def _words_chosen(ids: Ids, words: Words, share: float, draw: np.random.Generator, times: int) -> Hidden:
    """Return which tokens are chosen, so many times anew, (times, n): words until the share is reached."""
    able = np.flatnonzero(~words.special[ids])
    wanted = np.maximum(1, np.floor(share * len(able) + draw.random(times)))
    before = words.special[ids[able - 1]] | (able == 0)
    word = np.cumsum(words.starts[ids[able]] | before)
    sizes = np.bincount(word - word[:1])
    order = draw.random((times, len(sizes))).argsort(axis=1)
    ordered = sizes[order]
    taken = np.zeros(order.shape, bool)
    np.put_along_axis(taken, order, ordered.cumsum(axis=1) - ordered < wanted[:, None], axis=1)
    found = np.zeros((times, len(ids)), bool)
    found[:, able] = taken[:, word - word[:1]]
    return found


def masked(ids: Ids, places: Places, words: Words, draw: np.random.Generator) -> Ids:
    """Return a copy in which these places are hidden: 8 of 10 by the mask, 1 by any token, 1 by nothing."""
    kind = draw.random(len(places))
    tokens = np.where(kind < OTHER, draw.choice(words.plain, len(places)), words.mask)
    found = ids.copy()
    found[places] = np.where(kind >= 1 - KEPT, ids[places], tokens)
    return found


def rows_hidden(ids: Ids, words: Words, share: float, draw: np.random.Generator) -> Hidden:
    """Return what each row of a text's decoder may not see, (n, n): a draw of whole words, and itself.

    Special tokens, the first among them, stay visible to every row but their own.
    """
    count = len(ids)
    masks = _words_chosen(ids, words, share, draw, min(count, MASKS))
    hidden: Hidden = masks[draw.integers(len(masks), size=count)]
    np.fill_diagonal(hidden, True)
    return hidden
