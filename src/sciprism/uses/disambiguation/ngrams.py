"""Bags (multisets) of n-grams, names and ids, and their Jaccard similarity."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.errors import MissingExtraError
from sciprism.uses.disambiguation.names import normalize

Column = NDArray[np.float32]
CHARACTER_SIZES = (2, 3, 4)
WORD_SIZES = (1, 2, 3)
_STOP_WORDS = """
a an and are as at be by for from has in into is it its of on or over that the their this to towards
under upon using via was we were which with within without
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def character_ngrams(text: str) -> list[str]:
    """Return the n-grams of 2 to 4 characters of a normalised text, spaces between words included."""
    plain = normalize(text)
    return [plain[i : i + n] for n in CHARACTER_SIZES for i in range(len(plain) - n + 1)]


def word_ngrams(text: str) -> list[str]:
    """Return the n-grams of 1 to 3 words of a normalised text, without stop words."""
    words = [word for word in normalize(text).split() if word not in STOP_WORDS]
    return [" ".join(words[i : i + n]) for n in WORD_SIZES for i in range(len(words) - n + 1)]


class BagMatrix:
    """A sparse matrix with one bag per row."""

    def __init__(self, bags: Iterable[Iterable[str]]) -> None:
        try:
            from scipy.sparse import csr_matrix
        except ModuleNotFoundError:
            raise MissingExtraError("bench", "author disambiguation") from None
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__
        columns: list[int] = []
        counts: list[int] = []
        ends = [0]
        for bag in bags:
            counted = sorted((numbers[member], count) for member, count in Counter(bag).items())
            columns += [column for column, _ in counted]
            counts += [count for _, count in counted]
            ends.append(len(columns))
        self._counts = csr_matrix(
            (np.array(counts, np.float32), np.array(columns, np.int32), np.array(ends)),
            shape=(len(ends) - 1, max(1, len(numbers))),
        )
        self._sizes = np.asarray(self._counts.sum(axis=1), np.float32).ravel()

    def jaccard(self, left: Rows, right: Rows, cap: float = np.inf) -> Column:
        """Return the multiset Jaccard similarity of pairs of rows (n,), at most 1; NaN where a bag is empty.

        The sum of minima divided by the sum of maxima; the latter is capped at `cap`.
        """
        shared = np.full(len(left), np.nan, np.float32)
        full = np.flatnonzero((self._sizes[left] > 0) & (self._sizes[right] > 0))
        if len(full):
            one, other = left[full], right[full]
            both = self._counts[one].minimum(self._counts[other])
            minima = np.asarray(both.sum(axis=1), np.float32).ravel()
            union = np.minimum(self._sizes[one] + self._sizes[other] - minima, cap)
            shared[full] = np.minimum(minima / union, 1.0)
        return shared


def build_set_bags(bags: Sequence[Iterable[str]]) -> BagMatrix:
    """Return bags in which every member counts once."""
    return BagMatrix(set(bag) for bag in bags)
