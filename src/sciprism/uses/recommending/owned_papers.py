"""Papers that a person has already, found again under other ids: by DOI, by title, by nearly the same text."""

from __future__ import annotations

from collections.abc import Iterable

from sciprism.papers.duplicates import MIN_TITLE_WORDS, SHINGLE_WORDS, hash_first_author
from sciprism.papers.identity import GENERIC_TITLES, MIN_TEXT_WORDS, identify, is_same_paper, normalise_words
from sciprism.papers.links import find_doi
from sciprism.papers.records import PAPER_ID_SYSTEMS, Paper

NEAR_COSINE = 0.85
"""Similarity from which two papers' texts are compared: vectors alone do not tell a copy from a sequel."""
MIN_SHARED_TEXT = 0.5
"""Jaccard similarity of the word 3-grams of two texts of one paper: its preprint, or a corrected abstract."""
MIN_SHARED_TITLE = 0.8
"""Jaccard similarity of the words of two titles of one paper, where an abstract is missing."""
_ARXIV_DOI = "10.48550/arxiv."


class OwnedPapers:
    """Papers by id, ids of other systems and title."""

    def __init__(self, papers: Iterable[Paper] = ()) -> None:
        self._by_key: dict[tuple[str, str], list[Paper]] = {}
        for paper in papers:
            self.add(paper)

    def add(self, paper: Paper) -> None:
        """Add one paper."""
        for key in _list_keys(paper):
            self._by_key.setdefault(key, []).append(paper)

    def find_reason(self, paper: Paper) -> str | None:
        """Return by what a paper is owned: `id`, a system such as `doi`, `title`; None where it is not.

        An id counts where nothing tells the two papers apart, a title as in `find_duplicates`, but a preprint may be
        years older than the paper if the first authors agree.
        """
        for key in _list_keys(paper):
            kind = key[0]
            for other in self._by_key.get(key, ()):
                if (
                    kind in PAPER_ID_SYSTEMS
                    or (kind == "id" and is_same_paper(identify(paper), identify(other)))
                    or (kind == "title" and _has_same_source(paper, other))
                ):
                    return kind
        return None


def is_near_copy(paper: Paper, other: Paper) -> bool:
    """Return whether two papers with near vectors have nearly the same text, or title where an abstract is missing."""
    texts = [normalise_words(each.abstract) for each in (paper, other)]
    if min(map(len, texts)) >= MIN_TEXT_WORDS:
        return _jaccard(*map(_find_shingles, texts)) >= MIN_SHARED_TEXT
    titles = [normalise_words(each.title) for each in (paper, other)]
    if min(map(len, titles)) < MIN_TITLE_WORDS or not _may_share_author(paper, other):
        return False
    return _jaccard(*map(set, titles)) >= MIN_SHARED_TITLE


def _list_keys(paper: Paper) -> list[tuple[str, str]]:
    """Return the names by which a paper can be found again: ids of other systems, its id, its title's letters."""
    keys = [(system, id.lower()) for system, id in paper.ids.items() if id and system in PAPER_ID_SYSTEMS]
    doi = find_doi(paper).lower()
    if doi and "doi" not in paper.ids:
        keys.append(("doi", doi))
    if doi.startswith(_ARXIV_DOI):
        keys.append(("arxiv", doi.removeprefix(_ARXIV_DOI)))
    keys.append(("id", paper.id))
    title = "".join(normalise_words(paper.title))
    if title and title not in GENERIC_TITLES:
        keys.append(("title", title))
    return keys


def _has_same_source(paper: Paper, other: Paper) -> bool:
    """Return whether two papers of one title are one: by first author, year and length of the title."""
    named = bool(hash_first_author(paper) and hash_first_author(other))
    if not _may_share_author(paper, other):
        return False
    near = not (paper.year and other.year) or abs(paper.year - other.year) <= 1
    if len(normalise_words(paper.title)) >= MIN_TITLE_WORDS:
        return named or near
    return named and near and bool(paper.year and other.year)


def _may_share_author(paper: Paper, other: Paper) -> bool:
    one, two = hash_first_author(paper), hash_first_author(other)
    return bool(one & two) or not (one and two)


def _find_shingles(words: list[str]) -> set[tuple[str, ...]]:
    return set(zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False))


def _jaccard(one: set[str] | set[tuple[str, ...]], other: set[str] | set[tuple[str, ...]]) -> float:
    return len(one & other) / len(one | other) if one or other else 0.0
