"""What two mentions of an author share: the 39 pairwise features of S2AND, in its order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.papers.languages import guess_language
from sciprism.papers.records import Paper
from sciprism.papers.signatures import Signatures
from sciprism.uses.disambiguation.grams import Bags, character_grams, set_bags, word_grams
from sciprism.uses.disambiguation.names import Name, advanced_similarity, name_similarity, parse_name

Table = NDArray[np.float32]
Column = NDArray[np.float32]
CHUNK = 20_000  # pairs at once: n-gram rows of more would not stay in memory that is cheap to reach
CAP = 5000  # of the union of long lists (coauthors, references)
FAR = 50  # years or positions
UNKNOWN = ("Latin script", "none")  # guesses of a language that say nothing


@dataclass(frozen=True, slots=True)
class Feature:
    """One column: its name, its group, and whether more of it may only raise (1) or lower (-1) sameness."""

    name: str
    group: str
    monotone: int


def _group(group: str, columns: str) -> list[Feature]:
    signs = {"+": 1, "-": -1, "0": 0}
    return [Feature(column[1:], group, signs[column[0]]) for column in columns.split()]


FEATURES: tuple[Feature, ...] = (
    *_group(
        "name", "+first-equal +middle-initials +middle-equal 0middle-missing 0first-initial 0middle-initial"
    ),
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
NAME_GROUPS = frozenset({"name", "counts", "advanced"})
"""Groups that the second, "nameless" model does without."""


def columns_of(groups: Iterable[str]) -> Rows:
    """Return the column numbers of some groups."""
    wanted = set(groups)
    return np.array([i for i, feature in enumerate(FEATURES) if feature.group in wanted], np.int64)


class PairFeatures:
    """Compare mentions of authors by all that is known but the papers' vectors.

    What the data do not have (emails, journals) stays NaN, and so does what either side lacks. Name counts
    are those of the author lists of the data's papers, train, dev and test alike: they need no true persons.
    """

    def __init__(self, data: Signatures) -> None:
        signatures = data.signatures
        self._papers = np.array([signature.paper for signature in signatures], np.int64)
        self._positions = np.array([signature.position for signature in signatures], np.float32)
        self._names = [parse_name(signature.name) for signature in signatures]
        self._emails = [signature.email.casefold().partition("@")[::2] for signature in signatures]
        self._counts = _name_counts(self._names, data.papers)
        coauthors = [[parse_name(name) for name in signature.coauthors] for signature in signatures]
        self._affiliations = Bags(
            [gram for place in signature.affiliations for gram in character_grams(place)]
            for signature in signatures
        )
        self._coauthor_blocks = set_bags([[name.block for name in names] for names in coauthors])
        self._coauthor_names = set_bags([[name.whole for name in names] for names in coauthors])
        self._coauthor_grams = Bags(
            [gram for name in names for gram in character_grams(name.whole)] for names in coauthors
        )
        self._about = _PaperBags(data.papers, np.unique(self._papers))

    @property
    def english(self) -> NDArray[np.bool_]:
        """Say of each paper whether it is in English, as far as one can tell."""
        return self._about.english

    def table(self, left: Rows, right: Rows) -> Table:
        """Return all features of pairs of mentions: (n,) and (n,) -> (n, 39), the embedding left NaN."""
        table = np.full((len(left), len(FEATURES)), np.nan, np.float32)
        for start in range(0, len(left), CHUNK):
            part = slice(start, start + CHUNK)
            self._fill(table[part], left[part], right[part])
        return table

    def _fill(self, table: Table, left: Rows, right: Rows) -> None:
        table[:, columns_of(["name", "advanced"])] = self._name_features(left, right)
        table[:, columns_of(["email"])] = self._email_features(left, right)
        table[:, columns_of(["counts"])] = _count_features(self._counts[left], self._counts[right])
        columns = {
            "affiliation": self._affiliations.jaccard(left, right),
            "coauthor-blocks": self._coauthor_blocks.jaccard(left, right),
            "coauthor-grams": self._coauthor_grams.jaccard(left, right, CAP),
            "coauthor-names": self._coauthor_names.jaccard(left, right),
            "position": np.minimum(np.abs(self._positions[left] - self._positions[right]), FAR),
            **self._about.columns(self._papers[left], self._papers[right]),
        }
        for number, feature in enumerate(FEATURES):
            if feature.name in columns:
                table[:, number] = columns[feature.name]

    def _name_features(self, left: Rows, right: Rows) -> Table:
        """Compare names; in a block few differ, so each pair of names is compared once."""
        known: dict[tuple[Name, Name], tuple[float, ...]] = {}
        rows = []
        for i, j in zip(left.tolist(), right.tolist(), strict=True):
            pair = self._names[i], self._names[j]
            if pair not in known:
                known[pair] = name_similarity(*pair) + advanced_similarity(pair[0].first, pair[1].first)
            rows.append(known[pair])
        return np.array(rows, np.float32)

    def _email_features(self, left: Rows, right: Rows) -> Table:
        pairs = ((self._emails[i], self._emails[j]) for i, j in zip(left, right, strict=True))
        rows = [
            [float(a == b) if a and b else np.nan for a, b in zip(one, other, strict=True)]
            for one, other in pairs
        ]
        return np.array(rows, np.float32).reshape(-1, 2)


def similarity_column(vectors: Table, usable: NDArray[np.bool_], left: Rows, right: Rows) -> Column:
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


class _PaperBags:
    """What is compared of papers: words of titles and venues, references, years, languages.

    used: rows of the papers that mentions stand on; the others are there as references only.
    """

    def __init__(self, papers: Sequence[Paper], used: Rows) -> None:
        kept = set(used.tolist())
        by_id = {paper.id: paper for paper in papers}
        self._references = [frozenset(paper.references) for paper in papers]
        self._ids = [paper.id for paper in papers]
        self._years = np.array([np.nan if p.year is None else p.year for p in papers], np.float32)
        self._abstracts = np.array([bool(paper.abstract) for paper in papers], np.float32)
        guesses = ["none"] * len(papers)
        for row in kept:
            guesses[row] = guess_language(f"{papers[row].title} {papers[row].abstract}")
        languages = {name: number for number, name in enumerate(dict.fromkeys(guesses))}
        self._languages = np.array([languages[guess] for guess in guesses])
        self._certain = np.array([guess not in UNKNOWN for guess in guesses])
        self.english = np.array([guess in ("English", *UNKNOWN) for guess in guesses])

        def own(bag: Callable[[Paper], Iterable[str]]) -> Iterator[Iterable[str]]:
            return (bag(paper) if row in kept else () for row, paper in enumerate(papers))

        def cited(bag: Callable[[Paper], Iterable[str]]) -> Bags:
            return Bags(own(lambda paper: [x for r in paper.references if r in by_id for x in bag(by_id[r])]))

        self._bags = {
            "venue": (Bags(own(lambda paper: character_grams(paper.venue))), np.inf),
            "title-words": (Bags(own(lambda paper: word_grams(paper.title))), np.inf),
            "title-characters": (Bags(own(lambda paper: character_grams(paper.title))), np.inf),
            "reference-authors": (
                cited(lambda p: [g for name in p.authors for g in character_grams(name)]),
                CAP,
            ),
            "reference-titles": (cited(lambda paper: word_grams(paper.title)), np.inf),
            "reference-venues": (cited(lambda paper: character_grams(paper.venue)), np.inf),
            "reference-blocks": (cited(lambda p: [parse_name(name).block for name in p.authors]), np.inf),
            "references": (Bags(own(lambda paper: set(paper.references))), np.inf),
        }

    def columns(self, left: Rows, right: Rows) -> dict[str, Column]:
        """Return the columns that pairs of papers (rows) give, by name."""
        certain = self._certain[left].astype(np.float32) + self._certain[right]
        found = {name: bags.jaccard(left, right, cap) for name, (bags, cap) in self._bags.items()}
        return found | {
            "year": np.minimum(np.abs(self._years[left] - self._years[right]), FAR),
            "self-citation": self._self_citations(left, right),
            "abstracts": self._abstracts[left] + self._abstracts[right],
            "english": self.english[left].astype(np.float32) + self.english[right],
            "same-language": (self._languages[left] == self._languages[right]).astype(np.float32),
            "certain-languages": certain,
        }

    def _self_citations(self, left: Rows, right: Rows) -> Column:
        found = [
            float(self._ids[i] in self._references[j] or self._ids[j] in self._references[i])
            if self._references[i] and self._references[j]
            else np.nan
            for i, j in zip(left.tolist(), right.tolist(), strict=True)
        ]
        return np.array(found, np.float32)


def _name_counts(names: Sequence[Name], papers: Sequence[Paper]) -> Table:
    """Count in the papers' author lists each mention's first name, whole, surname and block. -> (n, 4).

    What needs a first name is NaN where that is an initial or missing; whole is first name and surname.
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
        for name in names
    ]
    return np.array(rows, np.float32).reshape(-1, 4)


def _count_features(left: Table, right: Table) -> Table:
    """Return the minima of all four counts and the maxima of first and whole; NaN where a side is."""
    return np.concatenate([np.minimum(left, right), np.maximum(left, right)[:, :2]], axis=1)
