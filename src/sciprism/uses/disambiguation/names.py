"""Parse persons' names and compute the similarity of two names (S2AND)."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

# letters that Unicode does not decompose into a base letter and a mark
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "ŋ": "ng"}
)
_APOSTROPHES = re.compile("['’‘`´ʻʼ]")
_OTHER = re.compile(r"[\W\d_]+")
PREFIX_SCALE = 0.1  # Winkler's weight of each letter of the common prefix, four at most


@dataclass(frozen=True, slots=True)
class Name:
    """A normalised name: first name, middle names, surname; each may be empty."""

    first: str
    middles: tuple[str, ...]
    last: str

    @property
    def whole(self) -> str:
        """Return the full name: all parts in reading order."""
        return " ".join(filter(None, (self.first, *self.middles, self.last)))

    @property
    def block(self) -> str:
        """Return first initial and surname."""
        return f"{self.first[:1]} {self.last}".strip()


def normalize(text: str) -> str:
    """Return a text in lower-case ASCII letters and single spaces, apostrophes removed.

    Letters of scripts without an ASCII base stay, or such a name would be empty.
    """
    lower = _APOSTROPHES.sub("", text.casefold().translate(_PLAIN))
    bare = "".join(c for c in unicodedata.normalize("NFKD", lower) if not unicodedata.combining(c))
    return _OTHER.sub(" ", bare).strip()


def parse_name(name: str) -> Name:
    """Parse a name: `Ann B. Lee`, where the last word is the surname, or `Lee, Ann B.`."""
    if "," in name:
        last, _, given = name.partition(",")
    else:
        given, _, last = name.strip().rpartition(" ")
    parts = normalize(given).split()
    return Name(parts[0] if parts else "", tuple(parts[1:]), normalize(last))


def name_similarity(one: Name, other: Name) -> tuple[float, ...]:
    """Return six features of the given names; NaN where a side is empty.

    First names equal; multiset Jaccard of middle initials; middle names equal (an initial matches its name);
    exactly one side without middle names; a first name of one letter; a middle name of one letter.
    """
    nan = float("nan")
    has_first = bool(one.first and other.first)
    has_middle = bool(one.middles and other.middles)
    a, b = (Counter(part[0] for part in name.middles) for name in (one, other))
    same_middles = len(one.middles) == len(other.middles) and all(
        x == y or (1 in (len(x), len(y)) and x[0] == y[0]) for x, y in zip(one.middles, other.middles, strict=True)
    )
    return (
        float(one.first == other.first) if has_first else nan,
        (a & b).total() / (a | b).total() if has_middle else nan,
        float(same_middles) if has_middle else nan,
        float(bool(one.middles) != bool(other.middles)),
        float(1 in (len(one.first), len(other.first))),
        float(any(len(part) == 1 for part in (*one.middles, *other.middles))),
    )


def advanced_similarity(one: str, other: str) -> tuple[float, ...]:
    """Return Levenshtein, prefix and LCS distance and Jaro-Winkler similarity of two first names.

    All are NaN unless both names are longer than one letter.
    """
    if min(len(one), len(other)) < 2:
        return (float("nan"),) * 4
    longest = max(len(one), len(other))
    return (
        levenshtein(one, other) / longest,
        prefix_distance(one, other),
        1.0 - common_subsequence(one, other) / longest,
        jaro_winkler(one, other),
    )


def levenshtein(one: str, other: str) -> int:
    """Count the insertions, deletions and substitutions that turn one text into the other."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        diagonal, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (a != b))
    return row[-1]


def common_subsequence(one: str, other: str) -> int:
    """Return the length of the longest common subsequence."""
    row = [0] * (len(other) + 1)
    for a in one:
        diagonal = 0
        for j, b in enumerate(other, 1):
            diagonal, row[j] = row[j], diagonal + 1 if a == b else max(row[j], row[j - 1])
    return row[-1]


def prefix_distance(one: str, other: str) -> float:
    """Return 1 - common prefix / length of the shorter text; 0 where one text is a prefix of the other."""
    shorter = min(len(one), len(other))
    return 1.0 - _common_prefix(one, other) / shorter if shorter else 1.0


def jaro_winkler(one: str, other: str) -> float:
    """Return the Jaro-Winkler similarity (Winkler 1990): 1 for equal texts, 0 for no common letter."""
    jaro = _jaro(one, other)
    return jaro + PREFIX_SCALE * min(4, _common_prefix(one, other)) * (1.0 - jaro)


def _jaro(one: str, other: str) -> float:
    reach = max(0, max(len(one), len(other)) // 2 - 1)
    free = list(other)
    partners: list[int] = []  # position in `other` of each matched letter of `one`
    letters: list[str] = []
    for i, letter in enumerate(one):
        for j in range(max(0, i - reach), min(len(other), i + reach + 1)):
            if free[j] == letter:
                free[j] = ""
                partners.append(j)
                letters.append(letter)
                break
    if not letters:
        return 0.0
    swapped = sum(a != other[j] for a, j in zip(letters, sorted(partners), strict=True)) // 2
    matched = len(letters)
    return (matched / len(one) + matched / len(other) + (matched - swapped) / matched) / 3


def _common_prefix(one: str, other: str) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
