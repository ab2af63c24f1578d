"""Parse names, years and lists as bibliographies of any format write them; normalise names for comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sciprism.papers.cleaning import fold_text

_YEAR = re.compile(r"(?<!\d)(?:1[4-9]|20)\d\d(?!\d)")
_INITIALS = r"(?:[^\W\d_a-z]\.?-?\s?){1,4}"
_INITIALS_FIRST = re.compile(rf"{_INITIALS}(?<=[\s.])\S*[^\W\d_]{{2}}.*")
_INITIALS_LAST = re.compile(rf"(.*[^\W\d_]{{2}}\.?)\s({_INITIALS})")
# Notes of Zotero hold variables without a field of their own as "PMID: 123".
_NOTED = re.compile(r"^\s*(DOI|PMID|PMCID|arXiv|ISBN)\s*:\s*(\S*\d\S*)", re.IGNORECASE | re.MULTILINE)


def is_medline(*names: str) -> bool:
    """Return whether the names of a database say that its accession numbers are PMIDs."""
    return re.search("pubmed|medline|nlm", " ".join(names), re.IGNORECASE) is not None


def reorder_name(name: str) -> str:
    """Return `First Last Suffix` of `Last, First, Suffix`; other names unchanged."""
    last, given, *suffix = (*(part.strip() for part in name.split(",")), "")
    return " ".join(filter(None, (given, last, *suffix)))


def find_year(text: str) -> int | None:
    """Return the first year from 1400 to 2099 in a date of any notation."""
    match = _YEAR.search(text)
    return int(match[0]) if match else None


def find_noted_ids(note: str) -> dict[str, str]:
    """Return the ids in the lines of a note such as "PMID: 123", by system; the first of each."""
    ids: dict[str, str] = {}
    for system, value in _NOTED.findall(note):
        ids.setdefault(system.lower(), value)
    return ids


def split_list(text: str, separators: str = ";|\n") -> tuple[str, ...]:
    """Return the distinct items of a list in one text, without empty ones."""
    items = re.split(f"[{re.escape(separators)}]", text)
    return tuple(dict.fromkeys(filter(None, (item.strip() for item in items))))


def split_keywords(text: str) -> tuple[str, ...]:
    """Split keywords at semicolons, bars and line ends, else at commas."""
    items = split_list(text)
    return items if len(items) != 1 else split_list(text, ",;|\n")


def split_names(text: str) -> tuple[str, ...]:
    """Return the authors of one text, given names first.

    A comma separates authors only where each part is a whole name (`A Einstein, B Podolsky, N Rosen`);
    else it separates the last name from the given ones.
    """
    items = split_list(text)
    if len(items) == 1 and "," in items[0]:
        parts = [part.strip() for part in items[0].split(",")]
        whole = all(_INITIALS_FIRST.fullmatch(part) or _INITIALS_LAST.fullmatch(part) for part in parts)
        if all(_INITIALS_LAST.fullmatch(part) for part in parts):
            return tuple(_INITIALS_LAST.sub(r"\2 \1", part) for part in parts)
        if whole or (len(parts) > 2 and all(" " in part for part in parts)):
            return tuple(parts)
    return tuple(map(reorder_name, items))


# ---- names of persons, for comparison ----


_APOSTROPHES = re.compile("['’‘`´ʻʼ]")
_OTHER = re.compile(r"[\W\d_]+")
_JOINED_INITIALS = re.compile(r"\b[A-Z]{2,3}\b")


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
    return _OTHER.sub(" ", fold_text(_APOSTROPHES.sub("", text))).strip()


def has_name(person: str, name: str) -> bool:
    """Return whether a person may have a name: all its words, in any order; an initial stands for a word.

    At least one word of two letters is equal: `A. Lee` meets `Lee, Ann` and `Lee AB`, not `A. Ng`.
    """
    parts = normalize(_split_initials(name)).split()
    words = normalize(f"{person} {_split_initials(person)}").split()
    if not any(len(part) > 1 and part in words for part in parts):
        return False
    return all(
        part in words or any(min(len(part), len(word)) == 1 and part[0] == word[0] for word in words) for part in parts
    )


def _split_initials(name: str) -> str:
    """Return `Lee AB` as `Lee A B`."""
    return name if name.isupper() else _JOINED_INITIALS.sub(lambda letters: " ".join(letters[0]), name)


def parse_name(name: str) -> Name:
    """Parse a name: `Ann B. Lee`, where the last word is the surname, or `Lee, Ann B.`."""
    if "," in name:
        last, _, given = name.partition(",")
    else:
        given, _, last = name.strip().rpartition(" ")
    parts = normalize(given).split()
    return Name(parts[0] if parts else "", tuple(parts[1:]), normalize(last))
