"""The 39 pairwise features of two author mentions, in S2AND's order."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Jaro, LCSseq, Levenshtein, Prefix

from sciprism.arrays import Floats, Rows
from sciprism.papers.bibliographic_fields import Name, normalize, parse_name
from sciprism.papers.languages import guess_language
from sciprism.papers.records import Paper, Signature

CHUNK = 20_000  # pairs at once: the n-gram rows of more would exceed the cache
CAPS = {"coauthor-grams": 5000, "reference-authors": 5000}  # of the union of long lists
MAX_DISTANCE = 50  # of years or positions
CHARACTER_SIZES = (2, 3, 4)
WORD_SIZES = (1, 2, 3)
_WORDS = tomllib.loads(Path(__file__).with_name("stop_words.toml").read_text(encoding="utf-8"))
STOP_WORDS = {kind: frozenset(words.split()) for kind, words in _WORDS.items()}
PREFIX_SCALE = 0.1  # Winkler's weight of each letter of the common prefix, four at most
UNKNOWN_LANGUAGES = ("Latin script", "none")  # guesses that name no language


Bag = Callable[[Paper], Iterable[str]]
Run = TypeVar("Run", str, list[str])


@dataclass(frozen=True, slots=True)
class Feature:
    """One column: name, group, and monotone constraint: 1 or -1 if it may only raise or lower the score."""

    name: str
    group: str
    monotone: int


def _group(group: str, columns: str) -> list[Feature]:
    signs = {"+": 1, "-": -1, "0": 0}
    return [Feature(column[1:], group, signs[column[0]]) for column in columns.split()]


FEATURES: tuple[Feature, ...] = (
    *_group("name", "+first-equal +middle-initials +middle-equal 0middle-missing 0first-initial 0middle-initial"),
    *_group("affiliation", "0affiliation"),
    *_group("email", "+email-prefix +email-suffix"),
    *_group("coauthors", "+coauthor-blocks 0coauthor-grams +coauthor-names"),
    *_group("venue", "0venue"),
    *_group("year", "-year"),
    *_group("title", "+title-words +title-characters"),
    *_group(
        "references",
        "+reference-authors +reference-titles +reference-venues +reference-blocks +self-citation +references",
    ),
    *_group("misc", "0position 0abstracts 0english 0same-language 0certain-languages"),
    *_group("counts", "0min-first -min-whole -min-last -min-block 0max-first -max-whole"),
    *_group("embedding", "0embedding"),
    *_group("journal", "0journal"),
    *_group("advanced", "0levenshtein 0prefix 0subsequence 0jaro-winkler"),
)
COLUMNS = {feature.name: number for number, feature in enumerate(FEATURES)}
NAME_GROUPS = frozenset({"name", "counts", "advanced"})
"""Groups that the second, "nameless" model does not use."""


def find_columns(groups: Iterable[str]) -> Rows:
    """Return the column numbers of some groups."""
    wanted = set(groups)
    return np.array([i for i, feature in enumerate(FEATURES) if feature.group in wanted], np.int64)


class PairFeatures:
    """All features of author mentions except those of the papers' vectors.

    A feature is NaN where either side, or the data set, has no value (emails, journals). Name counts are over
    the author lists of all papers, train, dev and test: they need no true persons. english: of each paper, whether the
    language guessed from its text is English or unknown (papers,). journals: of papers, by their ids.
    """

    _lesser: Callable[..., Floats] = staticmethod(np.minimum)  # of two counts
    _uncited = np.nan  # self-citation where one side's references are unknown

    def __init__(
        self, papers: Sequence[Paper], signatures: Sequence[Signature], journals: Mapping[str, str] | None = None
    ) -> None:
        self._papers = np.array([signature.paper for signature in signatures], np.int64)
        self._positions = np.array([signature.position for signature in signatures], np.float32)
        self._names = [parse_name(signature.name) for signature in signatures]
        self._emails = [signature.email.casefold().partition("@")[::2] for signature in signatures]
        self._counts = self._count_names(papers)
        self._bags = {name: BagMatrix(map(bag, signatures)) for name, bag in self._of_signatures().items()}

        used = {signature.paper for signature in signatures}  # the others serve as references only
        self._references = [frozenset(paper.references) for paper in papers]
        self._ids = [paper.id for paper in papers]
        self._years = np.array([np.nan if p.year is None else p.year for p in papers], np.float32)
        self._abstracts = np.array([bool(paper.abstract) for paper in papers], np.float32)
        guesses = [guess_language(f"{p.title} {p.abstract}") if row in used else "none" for row, p in enumerate(papers)]
        self._languages = np.unique(guesses, return_inverse=True)[1]
        self._certain = np.array([guess not in UNKNOWN_LANGUAGES for guess in guesses])
        self.english = np.array([guess in ("English", *UNKNOWN_LANGUAGES) for guess in guesses])
        self._paper_bags = {
            name: BagMatrix(bag(paper) if row in used else () for row, paper in enumerate(papers))
            for name, bag in self._of_papers({paper.id: paper for paper in papers}, journals or {}).items()
        }

    def _of_signatures(self) -> dict[str, Callable[[Signature], Iterable[str]]]:
        """Return the bags of words and n-grams that mentions are compared by."""

        def coauthors(signature: Signature) -> list[Name]:
            return [parse_name(name) for name in signature.coauthors]

        return {
            "affiliation": lambda signature: [gram for x in signature.affiliations for gram in character_ngrams(x)],
            "coauthor-blocks": lambda signature: {name.block for name in coauthors(signature)},
            "coauthor-names": lambda signature: {name.whole for name in coauthors(signature)},
            "coauthor-grams": lambda signature: [x for n in coauthors(signature) for x in character_ngrams(n.whole)],
        }

    def _of_papers(self, by_id: Mapping[str, Paper], journals: Mapping[str, str]) -> dict[str, Bag]:  # noqa: ARG002
        """Return the bags of words and n-grams that papers are compared by."""

        def cited(bag: Bag) -> Bag:
            return lambda paper: [x for r in paper.references if r in by_id for x in bag(by_id[r])]

        return {
            "venue": lambda paper: character_ngrams(paper.venue),
            "title-words": lambda paper: word_ngrams(paper.title),
            "title-characters": lambda paper: character_ngrams(paper.title),
            "reference-authors": cited(lambda p: [gram for name in p.authors for gram in character_ngrams(name)]),
            "reference-titles": cited(lambda paper: word_ngrams(paper.title)),
            "reference-venues": cited(lambda paper: character_ngrams(paper.venue)),
            "reference-blocks": cited(lambda paper: [parse_name(name).block for name in paper.authors]),
            "references": lambda paper: set(paper.references),
        }

    def _count_names(self, papers: Sequence[Paper]) -> Floats:
        """Count each mention's first name, full name, surname and block in the papers' author lists -> (n, 4).

        Full name: first name and surname. Counts of first and full names are NaN for an initial or no first name.
        """
        listed = [parse_name(name) for paper in papers for name in paper.authors]
        firsts = Counter(name.first for name in listed)
        wholes = Counter((name.first, name.last) for name in listed)
        lasts = Counter(name.last for name in listed)
        blocks = Counter(name.block for name in listed)
        rows = [
            (
                firsts[name.first] if len(name.first) > 1 else np.nan,
                wholes[name.first, name.last] if len(name.first) > 1 else np.nan,
                lasts[name.last],
                blocks[name.block],
            )
            for name in self._names
        ]
        return np.array(rows, np.float32).reshape(-1, 4)

    def table(self, left: Rows, right: Rows) -> Floats:
        """Return all features of pairs of mentions: (n,), (n,) -> (n, 39); the embedding's is NaN."""
        table = np.full((len(left), len(FEATURES)), np.nan, np.float32)
        for start in range(0, len(left), CHUNK):
            part = slice(start, start + CHUNK)
            self._fill(table[part], left[part], right[part])
        return table

    def _fill(self, table: Floats, left: Rows, right: Rows) -> None:
        names = [(self._names[i], self._names[j]) for i, j in zip(left.tolist(), right.tolist(), strict=True)]
        compared = {pair: self._compare_given(*pair) for pair in set(names)}  # each once: a block has few
        table[:, find_columns(["name", "advanced"])] = np.array([compared[pair] for pair in names], np.float32)
        emails = ((self._emails[i], self._emails[j]) for i, j in zip(left, right, strict=True))
        equal = [[float(a == b) if a and b else np.nan for a, b in zip(*pair, strict=True)] for pair in emails]
        table[:, find_columns(["email"])] = np.array(equal, np.float32).reshape(-1, 2)
        one, other = self._counts[left], self._counts[right]
        counts = self._lesser(one, other), np.maximum(one, other)[:, :2]  # NaN where either side is
        table[:, find_columns(["counts"])] = np.concatenate(counts, axis=1)
        columns: dict[str, Floats] = {
            "position": np.minimum(np.abs(self._positions[left] - self._positions[right]), MAX_DISTANCE)
        }
        ours, theirs = self._papers[left], self._papers[right]
        for matrices, rows in ((self._bags, (left, right)), (self._paper_bags, (ours, theirs))):
            columns |= {name: bags.jaccard(*rows, CAPS.get(name, np.inf)) for name, bags in matrices.items()}
        columns["year"] = np.minimum(np.abs(self._years[ours] - self._years[theirs]), MAX_DISTANCE)
        cites = [
            float(self._ids[i] in self._references[j] or self._ids[j] in self._references[i])
            if self._references[i] and self._references[j]
            else self._uncited
            for i, j in zip(ours.tolist(), theirs.tolist(), strict=True)
        ]
        columns["self-citation"] = np.array(cites, np.float32)
        columns["same-language"] = (self._languages[ours] == self._languages[theirs]).astype(np.float32)
        for name, facts in (
            ("abstracts", self._abstracts),
            ("english", self.english.astype(np.float32)),
            ("certain-languages", self._certain.astype(np.float32)),
        ):
            columns[name] = facts[ours] + facts[theirs]
        for name, values in columns.items():
            table[:, COLUMNS[name]] = values

    def _compare_given(self, one: Name, other: Name) -> tuple[float, ...]:
        return name_similarity(one, other) + advanced_similarity(one.first, other.first)


def embedding_similarity(vectors: Floats, usable: NDArray[np.bool_], left: Rows, right: Rows) -> Floats:
    """Return cosine + 1 of pairs of vectors, NaN where either is zero or not usable. vectors: (m, d)."""
    lengths = np.linalg.norm(vectors, axis=1)
    good = usable & (lengths > 0)
    unit = vectors / np.where(lengths > 0, lengths, 1.0)[:, None]
    column = np.full(len(left), np.nan, np.float32)
    for start in range(0, len(left), CHUNK):
        one, other = left[start : start + CHUNK], right[start : start + CHUNK]
        cosine = np.einsum("nd,nd->n", unit[one], unit[other])
        column[start : start + CHUNK] = np.where(good[one] & good[other], cosine + 1.0, np.nan)
    return column


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
    """Return Levenshtein, prefix and LCS distance and Jaro-Winkler similarity (Winkler 1990) of two first names.

    All are NaN unless both names are longer than one letter.
    """
    if min(len(one), len(other)) < 2:
        return (float("nan"),) * 4
    longest = max(len(one), len(other))
    prefix = Prefix.similarity(one, other)
    jaro = Jaro.similarity(one, other)
    return (
        Levenshtein.distance(one, other) / longest,
        1.0 - prefix / min(len(one), len(other)),
        1.0 - LCSseq.similarity(one, other) / longest,
        jaro + PREFIX_SCALE * min(4, prefix) * (1.0 - jaro),
    )


def take_runs(items: Run, sizes: Iterable[int]) -> Iterator[Run]:
    """Yield the runs of neighbours of a text's letters or of words, of these sizes."""
    return (items[i : i + n] for n in sizes for i in range(len(items) - n + 1))


def character_ngrams(text: str) -> list[str]:
    """Return the n-grams of 2 to 4 characters of a normalized text, spaces between words included."""
    return list(take_runs(normalize(text), CHARACTER_SIZES))


def word_ngrams(text: str) -> list[str]:
    """Return the n-grams of 1 to 3 words of a normalized text, without stop words."""
    words = [word for word in normalize(text).split() if word not in STOP_WORDS["ours"]]
    return list(map(" ".join, take_runs(words, WORD_SIZES)))


class BagMatrix:
    """Multisets of words, n-grams or ids, each a row of counts in a sparse matrix."""

    def __init__(self, bags: Iterable[Iterable[str]]) -> None:
        from sklearn.feature_extraction import DictVectorizer

        counted = [{"": 0}, *map(Counter, bags)]  # without a member there is no column
        self._counts = DictVectorizer(dtype=np.float32, sort=False).fit_transform(counted)[1:]
        self._sizes = np.asarray(self._counts.sum(axis=1), np.float32).ravel()

    def jaccard(self, left: Rows, right: Rows, cap: float = np.inf) -> Floats:
        """Return the multiset Jaccard similarity of pairs of rows (n,), at most 1; NaN where a bag is empty.

        The sum of minima divided by the sum of maxima; the latter is capped at `cap`.
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
