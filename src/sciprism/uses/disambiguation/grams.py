"""Bags of n-grams, names and ids, and how much two bags share."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.errors import MissingExtraError
from sciprism.uses.disambiguation.names import normalize

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Column = NDArray[np.float32]
CHARACTERS = (2, 3, 4)
WORDS = (1, 2, 3)
_STOP_WORDS = """
a an and are as at be by for from has in into is it its of on or over that the their this to towards
under upon using via was we were which with within without
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def character_grams(text: str) -> list[str]:
    """Return the runs of 2 to 4 characters of a normalised text, the spaces between words included."""
    plain = normalize(text)
    return [plain[i : i + n] for n in CHARACTERS for i in range(len(plain) - n + 1)]


def word_grams(text: str) -> list[str]:
    """Return the runs of 1 to 3 words of a normalised text without stop words."""
    words = [word for word in normalize(text).split() if word not in STOP_WORDS]
    return [" ".join(words[i : i + n]) for n in WORDS for i in range(len(words) - n + 1)]


class Bags:
    """Multisets in rows, ready to be compared pair by pair."""

    def __init__(self, bags: Iterable[Iterable[str]]) -> None:
        self._counts = _count_matrix(bags)
        self._sizes = np.asarray(self._counts.sum(axis=1), np.float32).ravel()

    def jaccard(self, left: Rows, right: Rows, cap: float = np.inf) -> Column:
        """Return the multiset Jaccard of pairs of rows (n,), at most 1; NaN where a bag is empty.

        The sum of minima over the sum of maxima; the latter counts as `cap` at most.
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


def set_bags(bags: Sequence[Iterable[str]]) -> Bags:
    """Return bags where every member counts once."""
    return Bags(set(bag) for bag in bags)


def _count_matrix(bags: Iterable[Iterable[str]]) -> csr_matrix:
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
    shape = (len(ends) - 1, max(1, len(numbers)))
    return csr_matrix(
        (np.array(counts, np.float32), np.array(columns, np.int32), np.array(ends)), shape=shape
    )
