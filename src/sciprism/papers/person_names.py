"""Parse persons' names and normalise them for comparison."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

# letters that Unicode does not decompose into a base letter and a mark
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "ŋ": "ng"}
)
_APOSTROPHES = re.compile("['’‘`´ʻʼ]")
_OTHER = re.compile(r"[\W\d_]+")


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
