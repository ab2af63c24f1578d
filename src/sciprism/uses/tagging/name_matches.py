"""Find the names of labels in titles and abstracts: words in lower case, without accents, in the singular."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from sciprism.papers.cleaning import fold_text
from sciprism.papers.records import Label

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
MIN_STEMMED = 4
"""Shorter words are left as they are: "gas", "DNAs"."""


class TextWord(NamedTuple):
    """A word of a text in the form that is compared, and its first and last character + 1."""

    stem: str
    start: int
    stop: int


def split_words(text: str) -> list[TextWord]:
    """Return the words of a text; each Chinese or Japanese character is one."""
    return [TextWord(stem(word[0]), word.start(), word.end()) for word in _WORD.finditer(text)]


def stems_of(text: str) -> list[str]:
    """Return the words of a text in the form in which they are compared."""
    return [stem(word) for word in _WORD.findall(text)]


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Return a word in lower case, without accents, in the singular (Harman's S stemmer, 1991)."""
    word = fold_text(word)
    if len(word) < MIN_STEMMED or not word.endswith("s"):
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        return word[:-3] + "y"
    if word.endswith("es") and word[-3] not in "aeo":
        return word[:-1]
    return word if word.endswith(("us", "ss", "is")) else word[:-1]


MAX_WORDS = 12  # names of more words are not looked for
PREFERRED, ALTERNATIVE, DERIVED = 0, 1, 2
"""Kinds of names: the label's own; an alternative one; one without the qualifier, or turned round at the comma."""
_QUALIFIER = re.compile(r"\s*[(\[][^()\[\]]*[)\]]\s*$")


class Match(NamedTuple):
    """Where the names of one label are in one paper.

    kind: of the best name. title: the times in the title; abstract: in the abstract. place: words before the
    first, as a share of the text. words: of the longest name found. inside: whether each place is part of a longer
    name of another label. exact: whether letters agree, plural and all. text: as it is printed.
    """

    kind: int
    title: int
    abstract: int
    place: float
    words: int
    inside: bool
    exact: bool
    text: str

    @property
    def where(self) -> str:
        """Return where it is: title or abstract."""
        return "title" if self.title else "abstract"


class _Name(NamedTuple):
    stems: tuple[str, ...]
    row: int
    kind: int
    name: str


@dataclass(slots=True)
class _Found:
    name: _Name
    start: int
    stop: int
    in_title: bool
    text: str
    inside: bool = False


class NameMatcher:
    """An index of the names of labels, which finds them word by word."""

    def __init__(self, labels: Sequence[Label]) -> None:
        self._names: defaultdict[str, list[_Name]] = defaultdict(list)
        for row, label in enumerate(labels):
            seen = set[tuple[str, ...]]()
            for kind, name in list_names(label):
                stems = tuple(stems_of(name))
                is_letter = len("".join(stems)) == 1 and stems[0].isascii()  # one is found in nearly every text
                if 0 < len(stems) <= MAX_WORDS and stems not in seen and not is_letter:
                    seen.add(stems)
                    self._names[stems[0]].append(_Name(stems, row, kind, name.casefold()))
        for names in self._names.values():
            names.sort(key=lambda name: -len(name.stems))

    def find(self, title: str, abstract: str) -> dict[int, Match]:
        """Return the row of each label whose name is in a paper -> its matches."""
        titles, abstracts = split_words(title), split_words(abstract)
        by_row: defaultdict[int, list[_Found]] = defaultdict(list)
        for place in (*self._scan(title, titles, in_title=True), *self._scan(abstract, abstracts, in_title=False)):
            by_row[place.name.row].append(place)
        total = max(1, len(titles) + len(abstracts))
        return {row: _describe(places, len(titles), total) for row, places in by_row.items()}

    def _scan(self, text: str, words: list[TextWord], *, in_title: bool) -> Iterator[_Found]:
        """Yield every name at every place; one inside a longer one is marked."""
        stems = [word.stem for word in words]
        longest = 0  # end of the longest names that began before this word
        for start, first in enumerate(stems):
            end = longest
            for name in self._names.get(first, ()):
                stop = start + len(name.stems)
                if name.stems == tuple(stems[start:stop]):
                    printed = text[words[start].start : words[stop - 1].stop]
                    yield _Found(name, start, stop, in_title, printed, inside=stop <= longest or stop < end)
                    end = max(end, stop)
            longest = max(longest, end)


def list_names(label: Label) -> Iterator[tuple[int, str]]:
    """Yield kind and text of every name of a label: "Pain, Low Back" also as "Low Back Pain"."""
    yield PREFERRED, label.name
    for name in label.synonyms:
        yield ALTERNATIVE, name
    for name in (label.name, *label.synonyms):
        yield from ((DERIVED, other) for other in _derive_names(name))


def _derive_names(name: str) -> Iterator[str]:
    plain = _QUALIFIER.sub("", name)
    if plain and plain != name:
        yield plain
    parts = [part.strip() for part in plain.split(", ")]
    if len(parts) > 1 and all(parts):
        yield " ".join(reversed(parts))


def _describe(places: list[_Found], title_words: int, total: int) -> Match:
    best = min(places, key=lambda place: (not place.in_title, place.name.kind, -len(place.name.stems), place.start))
    title = sum(place.in_title for place in places)
    return Match(
        kind=min(place.name.kind for place in places),
        title=title,
        abstract=len(places) - title,
        place=min(place.start + (0 if place.in_title else title_words) for place in places) / total,
        words=max(len(place.name.stems) for place in places),
        inside=all(place.inside for place in places),
        exact=any(place.text.casefold() == place.name.name for place in places),
        text=best.text,
    )
