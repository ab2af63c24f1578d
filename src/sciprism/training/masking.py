"""Sampling of masked tokens: single tokens or whole words (RoBERTa), or for each row (RetroMAE)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sciprism.text.token_classes import TokenClasses

Ids = NDArray[np.int64]
Positions = NDArray[np.int64]
Hidden = NDArray[np.bool_]

KEEP_SHARE, RANDOM_SHARE = 0.1, 0.1
"""Of the chosen tokens: the fraction that is unchanged, and that becomes a random token, not the mask."""
MAX_ROW_MASKS = 256
"""Masks of a text from which its rows are sampled (RetroMAE's code)."""


def choose_tokens(
    ids: Ids, classes: TokenClasses, probability: float, rng: np.random.Generator, *, whole_words: bool
) -> Positions:
    """Return the sorted positions of a fraction of a text's tokens, at least one unless all are special.

    whole_words: words are chosen until the fraction is reached, never a part of one. The fraction is met on
    average where it is no whole number of tokens.
    """
    if whole_words:
        return np.flatnonzero(_choose_words(ids, classes, probability, rng, 1)[0])
    able = np.flatnonzero(~classes.special[ids])
    wanted = max(1, math.floor(probability * len(able) + rng.random()))
    return np.sort(rng.permutation(able)[:wanted])


def _choose_words(ids: Ids, classes: TokenClasses, probability: float, rng: np.random.Generator, times: int) -> Hidden:
    """Return which tokens are chosen in each of so many samples of whole words, (times, n)."""
    able = np.flatnonzero(~classes.special[ids])
    wanted = np.maximum(1, np.floor(probability * len(able) + rng.random(times)))
    before = classes.special[ids[able - 1]] | (able == 0)
    word = np.cumsum(classes.word_starts[ids[able]] | before)
    sizes = np.bincount(word - word[:1])
    order = rng.random((times, len(sizes))).argsort(axis=1)
    ordered = sizes[order]
    chosen = np.zeros(order.shape, bool)
    np.put_along_axis(chosen, order, ordered.cumsum(axis=1) - ordered < wanted[:, None], axis=1)
    found = np.zeros((times, len(ids)), bool)
    found[:, able] = chosen[:, word - word[:1]]
    return found


def mask_tokens(ids: Ids, positions: Positions, classes: TokenClasses, rng: np.random.Generator) -> Ids:
    """Return a copy with 8 of 10 of the positions masked, 1 replaced by a random token, 1 unchanged."""
    kind = rng.random(len(positions))
    tokens = np.where(kind < RANDOM_SHARE, rng.choice(classes.regular_ids, len(positions)), classes.mask_id)
    found = ids.copy()
    found[positions] = np.where(kind >= 1 - KEEP_SHARE, ids[positions], tokens)
    return found


def sample_row_masks(ids: Ids, classes: TokenClasses, probability: float, rng: np.random.Generator) -> Hidden:
    """Return what each row of a text's decoder may not see, (n, n): sampled whole words, and itself.

    Special tokens, the first among them, are visible to every row but their own.
    """
    count = len(ids)
    masks = _choose_words(ids, classes, probability, rng, min(count, MAX_ROW_MASKS))
    hidden: Hidden = masks[rng.integers(len(masks), size=count)]
    np.fill_diagonal(hidden, True)
    return hidden
