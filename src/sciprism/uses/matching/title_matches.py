"""Find titles that are nearly equal, among many: those that share rare words are compared."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from rapidfuzz import fuzz

from sciprism.papers.identity import GENERIC_TITLES, normalise_words

MIN_RATIO = 90.0
"""Similarity of titles (0 to 100, rapidfuzz) from which they are one paper's."""
RARE_WORDS = 4
"""Rarest words of a title by which others are found; of nearly equal ones at least one is shared."""
MAX_SHARED = 2000
"""Titles with a word, above which it finds none."""


def match_titles(titles: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Yield positions in both lists, and the similarity, of titles that are nearly equal; generic ones match none."""
    words = [normalise_words(title) for title in titles]
    other_words = [normalise_words(title) for title in others]
    counts = Counter(word for title in (*words, *other_words) for word in set(title))
    by_word: dict[str, list[int]] = defaultdict(list)
    for row, title in enumerate(words):
        for word in _find_rarest(title, counts):
            by_word[word].append(row)
    joined = [" ".join(title) for title in words]
    for other, title in enumerate(other_words):
        if len(title) < 2 or "".join(title) in GENERIC_TITLES:
            continue
        text = " ".join(title)
        near = {row for word in _find_rarest(title, counts) for row in by_word.get(word, ())[:MAX_SHARED]}
        for row in sorted(near):
            ratio = fuzz.ratio(joined[row], text, score_cutoff=MIN_RATIO)
            if ratio:
                yield row, other, ratio


def _find_rarest(words: Sequence[str], counts: Counter[str]) -> list[str]:
    return sorted(set(words), key=lambda word: (counts[word], word))[:RARE_WORDS]
