"""Names, ids and e-mail addresses of persons in one normal form, and the indexes that find a person by any of them."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from sciprism.papers.bibliographic_fields import normalize
from sciprism.papers.cleaning import normalize_unicode

_ADDRESS = re.compile(r"(?<![^\s<>;,:()\"'*])[^\s<>;,:()\"'*]+@[^\s<>;,()\"'*]+")
_PAGE = re.compile(r"https?://(?:www\.)?(?:orcid\.org/|openreview\.net/profile\?(?:id|email)=)", re.IGNORECASE)
NUMBERED = re.compile(r"~(.*?)(\d+)")  # an id of OpenReview: a name, and a number that tells its bearers apart
_TITLES = frozenset(["dr", "prof", "professor", "mr", "mrs", "ms", "phd", "md", "msc", "jr", "sr", "ii", "iii"])
"""Words of names that belong to no name."""
_IN_IDS = "author authors chair committee expert id member paper papers pc person profile referee reviewer rev user"
_ROLES = frozenset(_IN_IDS.split())  # words of ids that are no names
_INITIALS_LAST = re.compile(r"(.*[^\W\d_]{2}.*?)\s((?:[A-Z]\.?-?\s?){1,3})")
_MAX_NAME = 500  # characters of what may be a name
_CAPITALS = re.compile(r"\b[A-Z]{2,3}\b")


def normalize_id(text: str) -> str:
    """Return an id as one sequence of characters (NFC), without space at its ends; of a profile's address, the id.

    >>> normalize_id("https://openreview.net/profile?id=%7EAnn_Lee1 ")
    '~Ann_Lee1'
    """
    if not text.isascii():
        text = "".join(c for c in text if unicodedata.category(c) != "Cf")  # marks that cannot be seen
    page = _PAGE.match(text.strip())
    return normalize_unicode("NFC", unquote(text.strip()[page.end() :]) if page else text.strip())


def fold_id(text: str) -> str:
    """Return an id without case and compatibility forms, for comparison; of an address, also without its +tag."""
    text = normalize_unicode("NFKC", normalize_unicode("NFKC", normalize_id(text)).casefold())
    local, at, domain = " ".join(text.split()).rpartition("@")
    if not at:
        return domain
    local = local.partition("+")[0] or local
    if domain in ("gmail.com", "googlemail.com"):
        local, domain = local.replace(".", ""), "gmail.com"
    return f"{local}@{domain}"


def find_addresses(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the e-mail addresses in some texts such as "Ann Lee <ann@x.org>*"; of "****@x.org" the domain alone."""
    addresses: list[str] = []
    for text in texts:
        masked = re.sub(r"(?<!\*)\*+@", "@", text).strip()
        addresses += [f"@{masked.rpartition('@')[2].strip()}"] if masked.startswith("@") else _ADDRESS.findall(text)
    return tuple(addresses)


class IdIndex:
    """Finds items by ids in any form: as written, else without case where that is unambiguous."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._exact: dict[str, set[int]] = defaultdict(set)
        self._folded: dict[str, set[int]] = defaultdict(set)
        for number, id in enumerate(ids):
            self.add(id, number)

    def add(self, id: str, number: int) -> None:
        """Add an id of the item with a number."""
        self._exact[normalize_id(id)].add(number)
        self._folded[fold_id(id)].add(number)

    def find(self, text: str) -> int | None:
        """Return the item that has an id, None where none has it, or several."""
        number = only(self._exact.get(normalize_id(text), ()))
        return only(self.find_all(text)) if number is None else number

    def find_all(self, text: str) -> set[int]:
        """Return all items that have an id in any form."""
        return self._folded.get(fold_id(text), set())


def only(items: Iterable[int]) -> int | None:
    """Return the one number, None of none or several."""
    numbers = set(items)
    return numbers.pop() if len(numbers) == 1 else None


@dataclass(frozen=True, slots=True)
class PersonName:
    """The words of a name, given names first, without case, accents, titles and punctuation."""

    words: tuple[str, ...]

    @property
    def joined(self) -> str:
        """Return the letters of the name: `Xiao-Ming Li` and `Xiaoming Li` have the same."""
        return "".join(self.words)

    @property
    def is_whole(self) -> bool:
        """Return whether it has given and family name; a script without spaces writes both as one word."""
        return len(self.words) > 1 or (len(self.joined) > 1 and not self.joined.isascii())

    def rotate(self) -> PersonName:
        """Return the name read as family name first."""
        return PersonName((*self.words[1:], *self.words[:1]))

    def list_keys(self) -> set[str]:
        """Return keys of which names that may be equal share at least one: initial and family name, all letters."""
        first, *others = self.words or ("",)
        return {self.joined, self.rotate().joined, *(f"{first[:1]} {word}" for word in others if len(word) > 1)}


@lru_cache(maxsize=1 << 18)
def parse_person(text: str) -> tuple[PersonName, ...]:
    """Return the readings of a name such as `Ann B. Lee`, `Lee, Ann B.`, `Lee AB` or `Dr. Ann Lee (Uni X)*`.

    Two capitals or three may be initials or a name in capitals. Names of one word are no readings where letters are
    Latin: a name is part of it.

    >>> parse_person("Müller-Lüdenscheidt, Jürgen")
    (PersonName(words=('jurgen', 'muller', 'ludenscheidt')),)
    """
    text = re.sub(r"\([^()]*\)", " ", normalize_unicode("NFC", text[:_MAX_NAME])).strip(" *")
    parts = [part for part in map(str.strip, text.split(",")) if not _TITLES.issuperset(normalize(part).split())]
    texts = [" ".join((*parts[1:], *parts[:1]))]
    if any(map(str.islower, texts[0])):  # else initials are no different from words
        initials = _INITIALS_LAST.fullmatch(texts[0]) if len(parts) == 1 else None
        other = f"{initials[2]} {initials[1]}" if initials else texts[0]
        texts.append(_CAPITALS.sub(lambda match: " ".join(match[0]), other))
    names = (PersonName(tuple(w for w in _fold(text).split() if w not in _TITLES)) for text in texts)
    return tuple(dict.fromkeys(name for name in names if name.is_whole and "anonymous" not in name.words))


def _fold(text: str) -> str:
    """Return a text in plain letters, in which ü, ue and u are the same."""
    return re.sub("([aou])e", r"\1", normalize(text))


def name_in_id(id: str) -> str:
    """Return the name in an id such as `~Ann_Lee1`, `lee, ann` or `ann.lee@x.org`, "" where it holds none.

    >>> [name_in_id(id) for id in ("~Ann_Lee1", "Lee, Ann", "ann.lee@x.org", "AnnLee", "reviewer_12", "r7")]
    ['Ann Lee', 'Lee, Ann', 'ann lee', 'Ann Lee', '', '']
    """
    text = normalize_id(id)[:_MAX_NAME]
    numbered = NUMBERED.fullmatch(text)
    text = numbered[1] if numbered else text.partition("@")[0]
    if re.fullmatch(r"[^\W\d_]+", text):  # AnnLee
        text = re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])", " ", text)
    text = re.sub(r"[_.]+|(?<=\w)-(?=\w)", " ", re.sub(r"[\s_(]*\d{1,2}\)?$", "", text)).strip()
    words = normalize(text).split()
    is_name = any(len(word) > 1 for word in words) and _ROLES.isdisjoint(words) and not re.search(r"\d", text)
    return text if is_name and parse_person(text) else ""


def may_be_same(one: PersonName, other: PersonName) -> bool:
    """Return whether two names may be one person's: initials, middle names and one of two surnames may be missing.

    The family name may come first where no name is abbreviated.
    """
    short, long = sorted((one.words, other.words), key=len)
    if other.joined in (one.joined, one.rotate().joined) or one.joined == other.rotate().joined:
        return True
    if len(short) < 2 or not _agree(short[0], long[0]):
        return False
    if short[-1] == long[-1]:
        left = iter(long[1:-1])  # the words agree with some of the others, in order
        within = all(any(_agree(word, other) for other in left) for word in short[1:-1])
        return within or "".join(short[:-1]) == "".join(long[:-1])
    return len(short[0]) > 1 and short[0] == long[0] and set(short) < set(long)


def _agree(one: str, other: str) -> bool:
    return one == other or (1 in (len(one), len(other)) and one[:1] == other[:1])


class NameIndex:
    """Finds items by names that may be one person's. items: those that have a name."""

    def __init__(self) -> None:
        self._names: dict[str, list[tuple[int, PersonName]]] = defaultdict(list)
        self.items: set[int] = set()

    def add(self, text: str, number: int, *, any_order: bool = False) -> None:
        """Add a name of the item with a number; a part of one is ignored. any_order: the family name may be first."""
        for name in parse_person(text):
            self.items.add(number)
            for reading in (name, name.rotate()) if any_order else (name,):
                for key in reading.list_keys():
                    self._names[key].append((number, reading))

    def find(self, text: str) -> set[int]:
        """Return the items whose names may be this person's."""
        return {
            number
            for name in parse_person(text)
            for key in name.list_keys()
            for number, other in self._names.get(key, ())
            if may_be_same(name, other)
        }
