"""Find nearly equal texts, by hashes of their words."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from zlib import crc32

import numpy as np

from sciprism.papers.identity import MIN_TEXT_WORDS, WORD_PATTERN, find_equal_runs

SHINGLE_WORDS = 3
HASH_COUNT = 128  # standard error of a similarity of 0.8: 0.035
NEIGHBOURS = 8  # texts compared with each one in a bucket


class MinHashSignatures:
    """MinHash signatures of texts: the share of equal entries estimates the Jaccard similarity (Broder 1997).

    Only the low 16 bits of each minimum are kept (Li and König 2010): 256 bytes a text, and unequal minima
    look equal with probability 1 / 65,536.
    """

    def __init__(self, seed: int = 0) -> None:
        draw = np.random.default_rng(seed)
        self._factors = draw.integers(0, 1 << 32, (HASH_COUNT, 1), dtype=np.uint32) | np.uint32(1)
        self._shifts = draw.integers(0, 1 << 32, (HASH_COUNT, 1), dtype=np.uint32)
        self._positions = array("q")
        self._signatures = bytearray()

    def add(self, position: int, text: str) -> None:
        """Add the text of the paper at `position`; a short one is ignored."""
        words = " ".join(WORD_PATTERN.findall(text.casefold())).encode("utf-8", "replace").split()
        if len(words) < MIN_TEXT_WORDS:
            return
        codes = np.fromiter(map(crc32, words), np.uint32)
        shingles = np.zeros(len(codes) - SHINGLE_WORDS + 1, np.uint32)
        for step in range(SHINGLE_WORDS):
            shingles += codes[step : step + len(shingles)]
            for factor, shift in ((0x9E3779B1, 15), (0x85EBCA77, 13)):
                shingles *= np.uint32(factor)
                shingles ^= shingles >> np.uint32(shift)
        self._positions.append(position)
        self._signatures += (shingles * self._factors + self._shifts).min(axis=1).astype(np.uint16).tobytes()

    def pairs(self, min_similarity: float) -> Iterator[tuple[int, int]]:
        """Yield pairs of positions of texts with at least this estimated similarity.

        Texts share a bucket if all hashes of a band are equal. Bands are as long as possible while 99 % of
        the pairs at `min_similarity` share a bucket. Each text is compared with its next neighbours in the
        bucket.
        """
        signatures = np.frombuffer(self._signatures, np.uint16).reshape(-1, HASH_COUNT)
        positions = np.frombuffer(self._positions, dtype=np.int64)
        # rows of a band -> probability that such texts share all hashes of at least one band
        shared = {n: 1.0 - (1.0 - min_similarity**n) ** (HASH_COUNT // n) for n in range(2, HASH_COUNT + 1)}
        rows = max((n for n, probability in shared.items() if probability >= 0.99), default=1)
        for start in range(0, HASH_COUNT - rows + 1, rows):
            keys = np.zeros(len(signatures), np.uint64)
            for column in signatures[:, start : start + rows].T:
                keys = (keys + column) * np.uint64(0x9E3779B97F4A7C15)
                keys ^= keys >> np.uint64(29)
            for run in find_equal_runs(keys):
                for step in range(1, min(len(run), NEIGHBOURS + 1)):
                    left, right = np.array(run[:-step]), np.array(run[step:])
                    similar = (signatures[left] == signatures[right]).mean(axis=1) >= min_similarity
                    yield from zip(positions[left[similar]].tolist(), positions[right[similar]].tolist(), strict=True)
