"""The pairwise features of S2AND's own code, for its published numbers (Subramanian et al., JCDL 2021).

They differ from `features` in the words and n-grams that are compared, in what counts as missing, and in the counts of
names. Those are over the author lists of the papers at hand: the authors' table of all of Semantic Scholar is a pickle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from rapidfuzz.distance import Jaro

from sciprism.arrays import Floats
from sciprism.papers.bibliographic_fields import APOSTROPHES, Name, normalize
from sciprism.papers.records import Paper, Signature
from sciprism.uses.disambiguation.features import CHARACTER_SIZES, STOP_WORDS, WORD_SIZES, Bag, PairFeatures, take_runs

PUBLISHED_STOP_WORDS = STOP_WORDS["published"]
AFFILIATION_STOP_WORDS = PUBLISHED_STOP_WORDS | STOP_WORDS["institutes"]
VENUE_STOP_WORDS = PUBLISHED_STOP_WORDS | STOP_WORDS["journals"]
MIDDLE_EQUAL = 2  # its place among the features of given names
WINKLER_FROM, WINKLER_LENGTH = 0.7, 3  # the prefix counts above these, in jellyfish 0.8.2


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower-case letters; all else, apostrophes and digits too, divides words."""
    return normalize(APOSTROPHES.sub(" ", text)).split()


def word_ngrams(text: str, stop_words: frozenset[str] = PUBLISHED_STOP_WORDS) -> list[str]:
    """Return the n-grams of 1 to 3 words, without stop words and words of one letter."""
    words = [word for word in split_words(text) if word not in stop_words and len(word) > 1]
    return list(map(" ".join, take_runs(words, WORD_SIZES)))


def character_ngrams(text: str, stop_words: frozenset[str] | None = PUBLISHED_STOP_WORDS) -> list[str]:
    """Return the n-grams of 2 to 4 letters within words. With stop words, words of one or two letters go too."""
    words = split_words(text)
    if stop_words is not None:
        words = [word for word in words if word not in stop_words and len(word) > 2]
    return [gram for word in words for gram in take_runs(word, CHARACTER_SIZES)]


def write_name(name: str) -> str:
    """Return a name in reading order, in plain words: `Lee, Ann B.` as `ann b lee`."""
    last, comma, given = name.partition(",")
    return " ".join(split_words(f"{given} {last}" if comma else name))


def find_block(name: str) -> str:
    """Return the first letter and the last word of a name, or its only word."""
    words = write_name(name).split()
    return f"{words[0][0]} {words[-1]}" if len(words) > 1 else "".join(words)


class PublishedPairFeatures(PairFeatures):
    """The features of S2AND's code; its guess of the language needs two models, ours is of letters and words."""

    _lesser = staticmethod(np.fmin)
    _uncited = 0.0

    def _of_signatures(self) -> dict[str, Callable[[Signature], Iterable[str]]]:
        return {
            "affiliation": lambda signature: word_ngrams(" ".join(signature.affiliations), AFFILIATION_STOP_WORDS),
            "coauthor-blocks": lambda signature: set(map(find_block, signature.coauthors)),
            "coauthor-names": lambda signature: set(map(write_name, signature.coauthors)),
            "coauthor-grams": lambda signature: character_ngrams(" ".join(map(write_name, signature.coauthors)), None),
        }

    def _of_papers(self, by_id: Mapping[str, Paper], journals: Mapping[str, str]) -> dict[str, Bag]:
        def cited(paper: Paper) -> list[Paper]:
            return [by_id[name] for name in paper.references if name in by_id]

        def names(paper: Paper) -> list[str]:
            return [name for one in cited(paper) for name in one.authors]

        def venues(paper: Paper) -> str:
            printed = " ".join(filter(None, (one.venue for one in cited(paper))))
            published = " ".join(filter(None, (journals.get(one.id, "") for one in cited(paper))))
            return printed if printed == published else f"{printed} {published}"

        return {
            "venue": lambda paper: character_ngrams(paper.venue, VENUE_STOP_WORDS),
            "journal": lambda paper: character_ngrams(journals.get(paper.id, ""), VENUE_STOP_WORDS),
            "title-words": lambda paper: word_ngrams(paper.title),
            "title-characters": lambda paper: character_ngrams(paper.title),
            "reference-authors": lambda paper: character_ngrams(" ".join(map(write_name, names(paper))), None),
            "reference-titles": lambda paper: character_ngrams(" ".join(one.title for one in cited(paper))),
            "reference-venues": lambda paper: character_ngrams(venues(paper), VENUE_STOP_WORDS),
            "reference-blocks": lambda paper: map(find_block, names(paper)),
            "references": lambda paper: set(paper.references),
        }

    def _count_names(self, papers: Sequence[Paper]) -> Floats:
        """Count at least 1; a block is looked up by the whole first name, so it is found for initials alone."""
        counts = np.maximum(super()._count_names(papers), 1.0)
        counts[[len(name.first) > 1 for name in self._names], -1] = 1.0
        return counts

    def _compare_given(self, one: Name, other: Name) -> tuple[float, ...]:
        """Compare middle names as one text; an initial equals what begins with it. Winkler's prefix is conditional."""
        features = list(super()._compare_given(one, other))
        if one.middles and other.middles:
            a, b = " ".join(one.middles), " ".join(other.middles)
            features[MIDDLE_EQUAL] = float(a[0] == b[0] if 1 in (len(a), len(b)) else a == b)
        if min(len(one.first), len(other.first)) > 1:
            jaro = Jaro.similarity(one.first, other.first)
            if jaro <= WINKLER_FROM or min(len(one.first), len(other.first)) <= WINKLER_LENGTH:
                features[-1] = jaro
        return tuple(features)
