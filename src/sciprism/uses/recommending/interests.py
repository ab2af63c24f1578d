"""The interests of a library: groups of near papers, by k-means with a number that fits, and what groups are called."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from sciprism.arrays import Floats, Rows, normalize_rows
from sciprism.papers.records import Paper
from sciprism.seeding import sample

MAX_INTERESTS = 10
STARTS = 10  # of k-means++; the best is taken
SORTED = 8  # numbers of a vector by which papers are put in an order of their own
MAX_COMPARED = 1000  # papers of a large library that are grouped, a random sample; the others join the nearest group
MAX_NAMED = 500  # papers of an interest by which it is named, a random sample
TERMS = 3
LENGTH_WEIGHTS = np.array([1.0, 2.0, 2.4])
"""How much more a phrase of one, two or three words says than a word of the same frequency."""
MIN_LETTERS = 3
SHARED = 5  # letters at the beginning of two words of which a name has one alone, as "visual" and "visualization"
TOKEN = r"[^\W_]+(?:[-'’][^\W_]+)*|[^\w\s]"
EMPTY_WORDS = frozenset((files(__package__) / "empty_words.txt").read_text(encoding="utf-8").split())
"""Words that say nothing of a subject, besides scikit-learn's English stop words; the commonest of other languages."""


@dataclass(frozen=True, slots=True)
class Interest:
    """A group of own papers: its typical terms, most central paper, and size."""

    terms: tuple[str, ...]
    central: str
    papers: int

    @property
    def name(self) -> str:
        """Return its terms, or where it has none the title of its most central paper."""
        return ", ".join(self.terms) or self.central


def find_interests(vectors: Floats) -> Rows:
    """Return the interest of each own paper, numbered from 0 by falling size: (n, d) of length 1 -> (n,).

    Their number is that from 1 to 10 whose grouping has the highest mean silhouette (Rousseeuw 1987) with cosine
    distance; at least two papers an interest on average, and a paper that is alone joins the nearest interest. The same
    papers, in any order, give the same interests.
    """
    from threadpoolctl import threadpool_limits

    order = np.lexsort(vectors.T[:SORTED])  # by value, so that the order of the papers does not count
    groups = np.empty(len(vectors), np.int64)
    with threadpool_limits(1):  # threads add in any order
        groups[order] = _group(vectors[order])
    _, first, numbers, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    ranks = np.argsort(np.lexsort((first, -sizes)))  # by falling size, equal ones by their first paper
    return ranks[numbers]


def _group(vectors: Floats) -> Rows:
    from sklearn.metrics import silhouette_score

    compared = vectors[sample(range(len(vectors)), MAX_COMPARED, "interests")]
    best, chosen = 0.0, np.zeros(len(vectors), np.int64)
    far = [(compared @ compared.mean(axis=0)).argmax()]  # a central paper, and those farthest from all before
    for number in range(2, min(MAX_INTERESTS, len(compared) // 2) + 1):
        far.append((compared @ compared[far].T).max(axis=1).argmin())
        for start in ("k-means++", compared[far]):  # the latter finds small groups far from the others
            centres = _find_centres(compared, number, start)
            groups = _join_nearest(compared, centres)
            fit = silhouette_score(compared, groups, metric="cosine") if len(np.unique(groups)) > 1 else 0.0
            if fit > best:
                best, chosen = fit, _join_nearest(vectors, centres)
    return chosen


def _find_centres(vectors: Floats, count: int, start: str | Floats) -> Floats:
    """Return the centres of groups (k, d) that have two papers at least, or of all papers (1, d)."""
    from sklearn.cluster import KMeans

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fewer distinct papers than groups, and of a start that is tried once
        found = KMeans(count, init=start, n_init=STARTS, random_state=0).fit(vectors)
    large = np.bincount(found.labels_, minlength=count) >= 2
    return normalize_rows(found.cluster_centers_[large] if large.any() else vectors.mean(axis=0, keepdims=True))


def _join_nearest(vectors: Floats, centres: Floats) -> Rows:
    return np.asarray((vectors @ centres.T).argmax(axis=1))


def describe_interests(papers: Sequence[Paper], vectors: Floats, groups: Rows) -> list[Interest]:
    """Return every interest with the terms that are typical of its papers, compared with all own papers."""
    rows = [np.flatnonzero(groups == number) for number in range(int(groups.max()) + 1)]
    terms = find_typical_terms(papers, rows)
    interests: list[Interest] = []
    for number, members in enumerate(rows):
        named = () if terms[number] in terms[:number] else terms[number]  # names differ
        central = members[(vectors[members] @ vectors[members].sum(axis=0)).argmax()]
        interests.append(Interest(named, papers[central].title, len(members)))
    return interests


def find_typical_terms(papers: Sequence[Paper], groups: Sequence[Rows]) -> list[tuple[str, ...]]:
    """Return up to three phrases of each group's titles, the most typical first, no two of which share a word.

    A phrase is one to three words without a stop word. Its weight is that of class-based TF-IDF (Grootendorst 2022):
    the share of the group's papers that have it, times log(1 + mean phrases of a group / papers that have it), times
    more for two and three words. A phrase of one paper alone counts only in groups of up to two. Of several groups, a
    phrase counts where it is more frequent than in all papers.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    empty = EMPTY_WORDS | ENGLISH_STOP_WORDS

    def says_something(word: str) -> bool:
        return len(word) >= MIN_LETTERS and not word.isdigit() and word not in empty

    rows_of = [sample(rows.tolist(), MAX_NAMED, "names") for rows in groups]
    papers = [papers[row] for rows in rows_of for row in rows]
    options = {"ngram_range": (1, len(LENGTH_WEIGHTS)), "token_pattern": TOKEN, "binary": True}
    titled = CountVectorizer(**options).fit([".", *(paper.title for paper in papers)])
    phrases = np.array([name for name in titled.get_feature_names_out() if all(map(says_something, name.split()))])
    if not len(phrases):
        return [()] * len(groups)
    counter = CountVectorizer(vocabulary=phrases, **options)
    found = counter.transform([f"{paper.title}. {paper.abstract}" for paper in papers])
    everywhere = np.asarray(found.sum(axis=0)).ravel()
    lengths = LENGTH_WEIGHTS[[phrase.count(" ") for phrase in phrases]]
    rarity = np.log(1 + everywhere.sum() / len(groups) / everywhere) * lengths
    ends = np.cumsum([len(rows) for rows in rows_of])
    typical = []
    for rows, end in zip(rows_of, ends.tolist(), strict=True):
        here = np.asarray(found[end - len(rows) : end].sum(axis=0)).ravel()
        usable = here >= (2 if len(rows) > 2 else 1)
        if len(groups) > 1:
            usable &= here * len(papers) > everywhere * len(rows)
        weights = np.where(usable, here / len(rows) * rarity, 0)
        best = np.argsort(-weights, kind="stable")[: usable.sum()]
        text = " ".join(f". {paper.title}. {paper.abstract}" for paper in papers[end - len(rows) : end])
        chosen = _choose_phrases(phrases[best].tolist())
        typical.append(tuple(_restore_capitals(phrase, " ".join(text.split())) for phrase in chosen))
    return typical


def _restore_capitals(phrase: str, text: str) -> str:
    """Return a phrase in its most frequent spelling; a capital at the beginning of a sentence says nothing."""
    inside = re.findall(rf"(?i)(?<![.?!:] )\b{re.escape(phrase)}\b", text)
    first = re.findall(rf"(?i)\b{re.escape(phrase)}\b", text)  # at the beginning alone: DNA has its capitals everywhere
    spelled = Counter(inside or [each if each[1].isupper() else each[0].lower() + each[1:] for each in first])
    return max(spelled, key=lambda each: (spelled[each], each.islower()), default=phrase)


def _choose_phrases(ranked: Sequence[str]) -> tuple[str, ...]:
    """Return the first three of which no word of one is nearly a word of another."""
    chosen, seen = list[str](), set[str]()
    for phrase in ranked:
        beginnings = {word[:SHARED] for word in phrase.split()}
        if not beginnings & seen:
            chosen.append(phrase)
            seen |= beginnings
        if len(chosen) == TERMS:
            break
    return tuple(chosen)
