"""Terms that are typical of a group of papers: words and pairs of words, frequent in it and rare elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import log

from sciprism.arrays import Rows
from sciprism.papers.identity import normalise_words
from sciprism.papers.records import Paper

TERMS = 3
MIN_LETTERS = 3
PAIR_WEIGHT = 1.5
"""How much more a pair of words says than a word of the same frequency."""
_STOP_WORDS = """
about above across after again against all along already also although among and any apart approach approaches are
article author authors based because been before being below best better between both but can case cases compared
could data described different does doing down due during each effect effects either enough etc even every example
examples few first for from further get give given gives had has have having here high how however important improve
improved include including into introduce introduced investigate its itself key known large later less like made main
make makes making many may mean method methods might model models more most much must need needs neither new non nor
not novel now number obtained off often one only open order other others our out over own paper papers part particular
per perform performance possible present presented presents problem problems propose proposed proposes provide
provided provides recent recently related research result results review same set several should show showed shown
shows significant significantly similar since single small some still studied studies study such system systems
technique techniques than that the their them then there therefore these they third this those three through thus
time together too toward towards two type types under understanding until upon use used useful user users uses using
various very via was way ways well were what when where whether which while who whose why wide will with within
without work works would yet you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def find_typical_terms(papers: Sequence[Paper], groups: Sequence[Rows]) -> list[tuple[str, ...]]:
    """Return up to three terms of each group of papers, the most typical first, no two of which share a word.

    A term's weight is the share of the group's papers that have it, times log((n + 1) / number of all n papers that
    have it). A term of one paper alone counts only in groups of up to two. Of several groups, a term counts where it
    is more frequent than in all papers.
    """
    terms = [_list_terms(paper) for paper in papers]
    everywhere = Counter(term for found in terms for term in found)
    typical = []
    for rows in groups:
        here = Counter(term for row in rows.tolist() for term in terms[row])
        needed = 2 if len(rows) > 2 else 1
        weights = {
            term: count / len(rows) * log((len(papers) + 1) / everywhere[term]) * (PAIR_WEIGHT if " " in term else 1)
            for term, count in here.items()
            if count >= needed and (len(groups) == 1 or count * len(papers) > everywhere[term] * len(rows))
        }
        typical.append(_choose_terms(sorted(weights, key=lambda term: (-weights[term], term))))
    return typical


def _choose_terms(ranked: Iterable[str]) -> tuple[str, ...]:
    chosen: list[str] = []
    stems: set[str] = set()
    for term in ranked:
        found = {word.rstrip("s") for word in term.split()}
        if not found & stems:
            chosen.append(term)
            stems |= found
        if len(chosen) == TERMS:
            break
    return tuple(chosen)


def _list_terms(paper: Paper) -> set[str]:
    """Return the words and pairs of neighbouring words of title and abstract, without stop words."""
    terms: set[str] = set()
    for text in (paper.title, paper.abstract):
        words = [word if _says_something(word) else "" for word in normalise_words(text)]
        terms |= {word for word in words if word}
        terms |= {f"{one} {two}" for one, two in pairwise(words) if one and two}
    return terms


def _says_something(word: str) -> bool:
    return len(word) >= MIN_LETTERS and word not in STOP_WORDS and not word.isdigit()
