"""Words of texts and names, in one form: lower case, without accents, plural forms as singular."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
MIN_STEMMED = 4
"""Shorter words are left as they are: "gas", "DNAs"."""


class TextWord(NamedTuple):
    """A word of a text: its form for comparison, and where it is."""

    stem: str
    start: int
    stop: int


def split_words(text: str) -> list[TextWord]:
    """Return the words of a text; each Chinese or Japanese character is one."""
    return [TextWord(stem(found[0]), found.start(), found.end()) for found in _WORD.finditer(text)]


def stems_of(text: str) -> list[str]:
    """Return the words of a text in the form in which they are compared."""
    return [stem(word) for word in _WORD.findall(text)]


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Return a word in lower case, without accents, in the singular (Harman's S stemmer, 1991)."""
    if not word.isascii():
        word = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
    word = word.casefold()
    if len(word) < MIN_STEMMED or not word.endswith("s"):
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        return word[:-3] + "y"
    if word.endswith("es") and word[-3] not in "aeo":
        return word[:-1]
    return word if word.endswith(("us", "ss", "is")) else word[:-1]
