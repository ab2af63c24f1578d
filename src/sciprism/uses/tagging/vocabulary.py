"""A vocabulary to tag with: its labels, the ways to name them, their hierarchy."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from sciprism.errors import InputError
from sciprism.papers.cleaning import clean_name, fold_text, is_missing
from sciprism.papers.readers.vocabularies import bare_uri, link_tree_numbers
from sciprism.papers.records import Label

_MAX_SHOWN = 5


class Vocabulary:
    """Labels, numbered from 0 in their order; parents: of each label the rows directly above it.

    notes: what was repaired: links of the hierarchy that close a circle, or lead to no label; names of several labels.
    Raises InputError for a vocabulary without labels, or two labels of one id.
    """

    def __init__(self, labels: Iterable[Label]) -> None:
        self.labels = _distinct(labels)
        if not self.labels:
            raise InputError("the vocabulary has no labels; name another file")
        self.rows = {label.id: row for row, label in enumerate(self.labels)}
        self.notes: list[str] = []
        has_links = any(label.broader for label in self.labels)
        self.parents = self._link(self.labels if has_links else link_tree_numbers(self.labels))
        if homonyms := [rows for rows in self._preferred.values() if len(rows) > 1]:
            shown = [" and ".join(map(self.describe, sorted(rows))) for rows in homonyms[:_MAX_SHOWN]]
            names = "1 name is" if len(homonyms) == 1 else f"{len(homonyms):,} names are"
            self.notes.append(f"{names} of several labels: {'; '.join(shown)}")

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def children(self) -> list[list[int]]:
        """Return of each label the rows directly below it."""
        below: list[list[int]] = [[] for _ in self.labels]
        for row, above in enumerate(self.parents):
            for parent in above:
                below[parent].append(row)
        return below

    def find_all(self, name: str) -> list[int]:
        """Return the rows of the labels of a name: by id, else by notation, by preferred or by another name."""
        written = clean_name(name)
        name = bare_uri(written)
        if (row := self.rows.get(written, self.rows.get(name))) is not None:
            return [row]
        found = (rows.get(key(name)) for key, rows in self._names)
        return sorted(next(filter(None, found), ()))

    def describe(self, row: int) -> str:
        """Return the name of a label, with its id where other labels have this name too."""
        label = self.labels[row]
        return label.name if len(self._preferred[_exact(label.name)]) == 1 else f"{label.name} [{label.id}]"

    def find_named(self, name: str, option: str) -> int:
        """Return the row of a label that an option names; InputError where there is none, or several."""
        from sciprism.registry import most_similar

        rows = self.find_all(name)
        if len(rows) == 1:
            return rows[0]
        if rows:
            listed = ", ".join(self.labels[row].id for row in rows[:_MAX_SHOWN])
            raise InputError(f"{option} {name!r} is a name of {len(rows)} labels; name one by its id: {listed}")
        near = ", ".join(map(repr, most_similar(name, [label.name for label in self.labels])))
        raise InputError(
            f"{option} {name!r} is not an id, notation or name of one label of the vocabulary; the nearest: {near}"
        )

    @cached_property
    def _names(self) -> list[tuple[Callable[[str], str], dict[str, set[int]]]]:
        """Return notations, preferred names, other names, and all of them by stems: how each is written -> its rows."""
        kinds: list[tuple[Callable[[str], str], Callable[[Label], Sequence[str]]]] = [
            (str, lambda label: label.codes),
            (_exact, lambda label: (label.name,)),
            (_exact, lambda label: label.synonyms),
            (_fold, lambda label: (label.name, *label.synonyms)),
        ]
        tables = []
        for key, names in kinds:
            rows: defaultdict[str, set[int]] = defaultdict(set)
            for row, label in enumerate(self.labels):
                for name in names(label):
                    rows[key(name)].add(row)
            tables.append((key, dict(rows)))
        return tables

    @property
    def _preferred(self) -> dict[str, set[int]]:
        return self._names[1][1]

    def _link(self, labels: Sequence[Label]) -> list[list[int]]:
        """Return the parents of each label; links that lead nowhere or in a circle are noted and left out."""
        parents = [[self.rows[id] for id in label.broader if id in self.rows] for label in labels]
        lost = sum(id not in self.rows and not is_missing(id) for label in labels for id in label.broader)
        if lost:
            self.notes.append(f"{lost:,} broader labels are not in the vocabulary; they are ignored")
        while True:
            try:
                TopologicalSorter(dict(enumerate(parents))).prepare()
                return parents
            except CycleError as error:
                circle: list[int] = error.args[1]
                above, row = circle[0], circle[1]  # graphlib: each is a predecessor of the next
                parents[row] = [parent for parent in parents[row] if parent != above]
                names = " < ".join(self.labels[row].name for row in circle[: _MAX_SHOWN + 1])
                self.notes.append(
                    f"the hierarchy has a circle: {names}; {self.labels[above].name!r} above "
                    f"{self.labels[row].name!r} is ignored"
                )


def _distinct(labels: Iterable[Label]) -> tuple[Label, ...]:
    """Return the labels, an equal one of two files once. Raises InputError for two labels of one id."""
    by_id: dict[str, Label] = {}
    for label in labels:
        first = by_id.setdefault(label.id, label)
        if first.name.casefold() != label.name.casefold():
            raise InputError(
                f"two labels have the id {label.id}: {first.name!r} and {label.name!r}; give each its own, or name "
                "one vocabulary"
            )
        if first != label:  # one concept, described in two files
            by_id[label.id] = replace(
                first,
                synonyms=tuple(dict.fromkeys((*first.synonyms, *label.synonyms))),
                definition=first.definition or label.definition,
                broader=tuple(dict.fromkeys((*first.broader, *label.broader))),
                codes=tuple(dict.fromkeys((*first.codes, *label.codes))),
            )
    return tuple(by_id.values())


def find_reached(row: int, links: Sequence[Sequence[int]]) -> set[int]:
    """Return all rows that are reached by links, such as `parents`, from a label, directly or through others."""
    reached, waiting = set[int](), list(links[row])
    while waiting:
        if (next_row := waiting.pop()) not in reached:
            reached.add(next_row)
            waiting += links[next_row]
    return reached


def _exact(name: str) -> str:
    return " ".join(name.split()).casefold()


def _fold(name: str) -> str:
    return " ".join(stems_of(name)) or name.casefold()


_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
MIN_STEMMED = 4
"""Shorter words are left as they are: "gas", "DNAs"."""


def stems_of(text: str) -> list[str]:
    """Return the words of a text in the form in which they are compared; each Chinese or Japanese character is one."""
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


class _Name(NamedTuple):
    stems: tuple[str, ...]
    row: int
    kind: int
    name: str


class _Found(NamedTuple):
    name: _Name
    start: int
    in_title: bool
    text: str
    inside: bool


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
        by_row: defaultdict[int, list[_Found]] = defaultdict(list)
        lengths = []
        for text, in_title in ((title, True), (abstract, False)):
            words = list(_WORD.finditer(text))
            lengths.append(len(words))
            for place in self._scan(text, words, in_title=in_title):
                by_row[place.name.row].append(place)
        total = max(1, sum(lengths))
        return {row: _describe(places, lengths[0], total) for row, places in by_row.items()}

    def _scan(self, text: str, words: list[re.Match[str]], *, in_title: bool) -> Iterator[_Found]:
        """Yield every name at every place; one inside a longer one is marked."""
        stems = [stem(word[0]) for word in words]
        longest = 0  # end of the longest names that began before this word
        for start, first in enumerate(stems):
            end = longest
            for name in self._names.get(first, ()):
                stop = start + len(name.stems)
                if name.stems == tuple(stems[start:stop]):
                    printed = text[words[start].start() : words[stop - 1].end()]
                    yield _Found(name, start, in_title, printed, inside=stop <= longest or stop < end)
                    end = max(end, stop)
            longest = max(longest, end)


def list_names(label: Label) -> Iterator[tuple[int, str]]:
    """Yield kind and text of every name of a label: "Pain, Low Back" also as "Low Back Pain"."""
    yield PREFERRED, label.name
    for name in label.synonyms:
        yield ALTERNATIVE, name
    for name in (label.name, *label.synonyms):
        plain = _QUALIFIER.sub("", name)
        if plain and plain != name:
            yield DERIVED, plain
        parts = [part.strip() for part in plain.split(", ")]
        if len(parts) > 1 and all(parts):
            yield DERIVED, " ".join(reversed(parts))


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
