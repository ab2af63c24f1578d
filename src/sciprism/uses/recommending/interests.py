"""The interests of a library: groups of near papers, found by spherical k-means with a number that fits."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, pairwise
from math import ceil, log

import numpy as np

from sciprism.arrays import Doubles, Floats, Rows, normalize_rows
from sciprism.papers.records import Paper
from sciprism.seeding import derive_seed, sample

MAX_INTERESTS = 10
MAX_ROUNDS = 50
RANDOM_STARTS = 8
SORTED = 8  # numbers of a vector by which papers are put in an order of their own
MAX_COMPARED = 1000  # papers of a large library by which the number of interests is chosen, a random sample
MAX_NAMED = 500  # papers of an interest by which it is named, a random sample
TERMS = 3
MIN_LETTERS = 3
LENGTH_WEIGHTS = (0.0, 1.0, 2.0, 2.4, 2.6)
"""Words of a phrase -> how much more it says than a word of the same frequency."""
MAX_WORDS = len(LENGTH_WEIGHTS) - 1
WHOLE_SHARE = 0.6
"""Share of a phrase's papers in which it is a part of one longer phrase, from which that is named in its place."""
NOUN_SHARE = 0.3  # of a word's places in titles, those at which a stretch ends, from which it is taken for a noun
MIN_SHARED, SHARED_PART = 4, 0.6
"""Letters at the beginning of two words, and the part of the shorter one, from which they are near-doubles."""
MAX_ACRONYM = 8
_TOKEN = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*|[^\w\s]")
_STOP_WORDS = """
about above according across affect affects after again against all allow allows along already also although among and
any apart are based became because become becomes been before being below best better between beyond both but can
cause causes compare compared contain contains could depend depends described did different does doing down due during
each either enable enables enough etc even every explain explains few find finds follow follows for found from further
get give given gives had has have having help helps here how however important improve improved include including
increases into introduce introduced investigate its itself key known later lead leads less let like made main make
makes making many may mean might more most much must need needs neither new non nor not novel now obtained occur
occurs off often one only order other others our out over own part particular per perform possible predict predicts
present presented presents propose proposed proposes provide provided provides recent recently reduce reduces related
require requires reveal reveals same seem seems set several shall should show showed shown shows significant
significantly similar since some still studied such suggest suggests than that the their them then there therefore
these they this those through thus together too toward towards under understanding until upon use used useful uses
using various versus very via was well were what when where whether which while who whose why wide will with within
without would yet you your
"""
_EMPTY_NOUNS = """
approach article author case condition data effect example method model paper performance problem research result review
study system technique time type user way work year
"""
_OTHER_LANGUAGES = """
als auf aus bei das dem den der des die ein eine einem einen einer eines für mit nach oder und vom von zum zur über
aux avec dans des les par pour sur une con del las los para por una degli dei della delle gli nel nella per das dos uma
"""
EMPTY_NOUNS = frozenset(_EMPTY_NOUNS.split())
"""Nouns that say nothing of a subject; what is before them may be an adjective."""
STOP_WORDS = EMPTY_NOUNS | frozenset((_STOP_WORDS + _OTHER_LANGUAGES).split())
GOES_ON = EMPTY_NOUNS | {"and", "or", "&", ",", "/"}  # what may follow an adjective
_GENERIC = """
ability activity aim algorithm amount analysis application area background behavior category cause challenge change
communication comparison complexity component concept conclusion condition connection content context control design
detection development distance distribution effect element environment evaluation evidence evolution experience
experiment factor feature field form formation framework function goal group idea identification impact improvement
increase information insight instance interaction issue level limit management mass measure measurement mechanism
nature number object objective observation operation order overview pair paradigm pattern people perspective phase
phenomenon placebo power prediction principle probability procedure process program property purpose quality question
range rate reduction region relation relationship report representation requirement response risk role rule sample
scheme science selection sequence set similarity size solution source space state step strategy structure subject
survey task test theory tool treatment trend trial understanding unit value variation weight world
"""
GENERIC = frozenset(_GENERIC.split())  # nouns that say little alone


@dataclass(frozen=True, slots=True)
class Interest:
    """A group of own papers: its number (from 1), typical terms, most central paper, and size."""

    number: int
    terms: tuple[str, ...]
    central: str
    papers: int

    @property
    def name(self) -> str:
        """Return its terms, or where it has none the title of its most central paper."""
        return ", ".join(self.terms) or self.central


def find_interests(vectors: Floats, count: int | None = None) -> Rows:
    """Return the interest of each own paper, numbered from 0 by falling size: (n, d) of length 1 -> (n,).

    count: how many; None: the number from 1 to 10 whose grouping has the highest mean silhouette (Rousseeuw 1987)
    with cosine distance; at least two papers an interest on average, and a paper that is alone joins the nearest
    interest. The same papers, in any order, give the same interests.
    """
    order = np.lexsort(vectors.T[:SORTED])  # by value, so that the order of the papers does not count
    groups = np.empty(len(vectors), np.int64)
    groups[order] = _choose_groups(vectors[order]) if count is None else _group_as_asked(vectors[order], count)
    _, first, numbers, sizes = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    ranks = np.argsort(np.lexsort((first, -sizes)))  # by falling size, equal ones by their first paper
    return ranks[numbers]


def _choose_groups(vectors: Floats) -> Rows:
    rows = np.array(sample(range(len(vectors)), MAX_COMPARED, "interests"), np.int64)
    compared = vectors[rows]
    distances = 1.0 - compared.astype(np.float64) @ compared.T.astype(np.float64)
    best, chosen = 0.0, np.zeros(len(vectors), np.int64)
    for number in range(2, min(MAX_INTERESTS, len(rows) // 2) + 1):
        for start in STARTS:
            groups = _join_lone(compared, _group(compared, start(compared, number)))
            fit = measure_silhouette(distances, groups)
            if fit > best:
                whole = len(rows) == len(vectors)
                best, chosen = fit, groups if whole else _join_lone(vectors, _group(vectors, start(vectors, number)))
    return chosen


def _group_as_asked(vectors: Floats, count: int) -> Rows:
    """Return the grouping of the start whose papers are nearest to their centres."""
    number = min(count, len(vectors))
    groupings = [_group(vectors, start(vectors, number)) for start in STARTS]
    return max(groupings, key=lambda groups: _measure_cohesion(vectors, groups))


def measure_silhouette(distances: Doubles, groups: Rows) -> float:
    """Return the mean silhouette of papers with distances (n, n) in groups (n,), 0 of one group.

    A paper that is alone in its group counts 0.
    """
    if len(np.unique(groups)) < 2:
        return 0.0
    members = np.equal.outer(groups, np.unique(groups)).astype(np.int64)
    sizes = members.sum(axis=0)
    sums = distances @ members
    group_of = members.argmax(axis=1)
    rows = np.arange(len(groups))
    inside = sums[rows, group_of] / np.maximum(sizes[group_of] - 1, 1)
    means = sums / sizes
    means[rows, group_of] = np.inf
    outside = means.min(axis=1)
    values = np.where(sizes[group_of] > 1, (outside - inside) / np.maximum(np.maximum(inside, outside), 1e-12), 0.0)
    return float(values.mean())


def describe_interests(papers: Sequence[Paper], vectors: Floats, groups: Rows) -> list[Interest]:
    """Return every interest with the terms that are typical of its papers, compared with all own papers."""
    numbers = range(int(groups.max()) + 1)
    rows = [np.flatnonzero(groups == number) for number in numbers]
    terms = find_typical_terms(papers, rows)
    central = [int(members[(vectors[members] @ vectors[members].sum(axis=0)).argmax()]) for members in rows]
    interests: list[Interest] = []
    for number in numbers:
        named = () if terms[number] in terms[:number] else terms[number]  # names differ
        interests.append(Interest(number + 1, named, papers[central[number]].title, len(rows[number])))
    return interests


def _group(vectors: Floats, centres: Floats) -> Rows:
    """Group unit vectors (n, d) by spherical k-means (Dhillon and Modha 2001) from centres (k, d) -> (n,)."""
    groups = np.full(len(vectors), -1)
    for _ in range(MAX_ROUNDS):
        nearest = (vectors @ centres.T).argmax(axis=1)
        if np.array_equal(nearest, groups):
            break
        groups, old = nearest, centres
        centres = _find_centres(vectors, groups, len(centres))
        lost = np.bincount(groups, minlength=len(centres)) == 0
        centres[lost] = old[lost]  # a centre without papers stays
    return groups


def _start_far(vectors: Floats, count: int) -> Floats:
    """Return a central paper and those farthest from all before: they find small groups far from the others."""
    nearest = vectors @ vectors[(vectors @ vectors.mean(axis=0)).argmax()]
    chosen = [int(nearest.argmax())]
    for _ in range(count - 1):
        chosen.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, vectors @ vectors[chosen[-1]])
    return vectors[chosen]


def _start_spread(vectors: Floats, count: int) -> Floats:
    """Return the best of several random starts (k-means++): they find groups of even sizes."""
    best, chosen = -np.inf, vectors[:count]
    for seed in range(RANDOM_STARTS):
        random = np.random.default_rng(derive_seed("interests", count, seed))
        rows = [int(random.integers(len(vectors)))]
        nearest = vectors @ vectors[rows[0]]
        for _ in range(count - 1):
            far = np.maximum(1.0 - nearest.astype(np.float64), 0.0)
            rows.append(int(random.choice(len(vectors), p=far / far.sum() if far.any() else None)))
            nearest = np.maximum(nearest, vectors @ vectors[rows[-1]])
        fit = _measure_cohesion(vectors, _group(vectors, vectors[rows]))
        if fit > best:
            best, chosen = fit, vectors[rows]
    return chosen


STARTS = (_start_far, _start_spread)
"""Functions that return the first centres; one of each is tried for every number of interests."""


def _find_centres(vectors: Floats, groups: Rows, count: int) -> Floats:
    sums = np.zeros((count, vectors.shape[1]), np.float32)
    np.add.at(sums, groups, vectors)
    return normalize_rows(sums)


def _measure_cohesion(vectors: Floats, groups: Rows) -> float:
    """Return the sum of the cosines of papers with the centres of their groups."""
    centres = _find_centres(vectors, groups, int(groups.max()) + 1)
    return float((vectors * centres[groups]).sum(dtype=np.float64))


def _join_lone(vectors: Floats, groups: Rows) -> Rows:
    """Let each paper that is alone in its group join the nearest of the others."""
    sizes = np.bincount(groups)
    shared = np.flatnonzero(sizes > 1)
    if not len(shared) or not (sizes == 1).any():
        return groups
    centres = _find_centres(vectors, groups, len(sizes))[shared]
    lone = np.flatnonzero(sizes[groups] == 1)
    joined = groups.copy()
    joined[lone] = shared[(vectors[lone] @ centres.T).argmax(axis=1)]
    return joined


def find_typical_terms(papers: Sequence[Paper], groups: Sequence[Rows]) -> list[tuple[str, ...]]:
    """Return up to three phrases of each group's titles, the most typical first, no two of which share a word.

    A phrase ends a stretch of a title between stop words, verbs and punctuation, where noun phrases end. Its weight
    is the share of the group's papers that have it, times log((n + 1) / number of all n papers that have it), times
    more for two and three words. A phrase of one paper alone counts only in groups of up to two. Of several groups, a
    phrase counts where it is more frequent than in all papers.
    """
    rows_of = [sample(rows.tolist(), MAX_NAMED, "names") for rows in groups]
    papers = [papers[row] for rows in rows_of for row in rows]
    starts = np.cumsum([0, *map(len, rows_of)])
    phrases = _Phrases(papers)
    everywhere = Counter(phrase for of_paper in phrases.of_texts for phrase in of_paper)
    typical = []
    for rows in (range(first, end) for first, end in pairwise(starts.tolist())):
        here = Counter(phrase for row in rows for phrase in phrases.of_texts[row])
        titled = {phrase for row in rows for phrase in phrases.of_titles[row]}
        needed = 2 if len(rows) > 2 else 1
        weights = {
            phrase: here[phrase] / len(rows) * log((len(papers) + 1) / everywhere[phrase]) * LENGTH_WEIGHTS[len(phrase)]
            for phrase in titled
            if here[phrase] >= needed
            and not (len(phrase) == 1 and phrase[0] in GENERIC)
            and (len(groups) == 1 or here[phrase] * len(papers) > everywhere[phrase] * len(rows))
        }
        parts = {
            part for phrase in weights for part in (phrase[1:], phrase[:-1]) if here[phrase] >= WHOLE_SHARE * here[part]
        }
        weights = {phrase: weight for phrase, weight in weights.items() if phrase not in parts}
        chosen = _choose_phrases(sorted(weights, key=lambda phrase: (-weights[phrase], phrase)))
        typical.append(tuple(map(phrases.spell, chosen)))
    return typical


Phrase = tuple[str, ...]  # the lemmas of a phrase's words


class _Phrases:
    """The phrases of some papers that may be names. of_titles: of their titles; of_texts: of abstracts too."""

    def __init__(self, papers: Sequence[Paper]) -> None:
        titles = [_TOKEN.findall(paper.title.lower() if paper.title.isupper() else paper.title) for paper in papers]
        abstracts = [_TOKEN.findall(paper.abstract) for paper in papers]
        self._read_roles((*titles, *abstracts))
        self.of_titles = [self._list_phrases(title) for title in titles]
        named = set[Phrase]().union(*self.of_titles)
        self.of_texts = [
            title | (self._list_phrases(text) & named) for title, text in zip(self.of_titles, abstracts, strict=True)
        ]
        self._words = Counter(chain.from_iterable((*titles, *abstracts)))
        self._spellings: dict[Phrase, Counter[str]] = defaultdict(Counter)
        for words in chain.from_iterable(map(self._split, titles)):
            for start, end in combinations(range(len(words) + 1), 2):
                self._spellings[tuple(map(_find_lemma, words[start:end]))][" ".join(words[start:end])] += 1

    def _list_phrases(self, tokens: Sequence[str]) -> set[Phrase]:
        """Return the phrases of one to four words that end with a noun."""
        stretches = ([_find_lemma(word) for word in words] for words in self._split(tokens))
        return {
            tuple(words[start : end + 1])
            for words in stretches
            for end, word in enumerate(words)
            if self._is_noun(word)
            for start in range(max(end + 1 - MAX_WORDS, 0), end + 1)
        }

    def _read_roles(self, titles: Iterable[Sequence[str]]) -> None:
        """Count how often each word of the titles is there, and how often a stretch ends with it."""
        self._counts, self._ends = Counter[str](), Counter[str]()
        for title in titles:
            for word, following in pairwise((*title, ".")):
                self._counts[_find_lemma(word)] += 1
                ends = not _says_something(following) and _find_lemma(following) not in GOES_ON
                self._ends[_find_lemma(word)] += ends

    def _split(self, tokens: Iterable[str]) -> Iterator[list[str]]:
        """Yield the stretches of words between stop words, verbs, adverbs, numbers and punctuation."""
        words: list[str] = []
        for token in (*tokens, "."):
            if _says_something(token) and not (token.casefold().endswith("ing") and not self._is_noun(token)):
                words.append(token)
            elif words:
                yield words
                words = []

    def _is_noun(self, word: str) -> bool:
        """Return whether a word ends stretches of titles often enough: adjectives and verbs are followed by others."""
        lemma = _find_lemma(word)
        return self._ends[lemma] >= NOUN_SHARE * self._counts[lemma] > 0 and not lemma.endswith(("ed", "ly"))

    def spell(self, phrase: Phrase) -> str:
        """Return a phrase as most titles spell it, in small letters but for acronyms."""
        spellings = self._spellings[phrase]
        words = max(spellings, key=lambda words: (spellings[words], words)).split()
        acronyms = {word for word in words if word[1:] != word[1:].lower() and len(word) <= MAX_ACRONYM}
        acronyms = {word for word in acronyms if self._words[word] > self._words[word.lower()]}
        return " ".join(word if word in acronyms else word.lower() for word in words)


@lru_cache(maxsize=1 << 16)
def _find_lemma(word: str) -> str:
    """Return an English word without case, plural and British spelling."""
    word = word.casefold().replace("isation", "ization")
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is", "ics")) else word


def _choose_phrases(ranked: Iterable[Phrase]) -> list[Phrase]:
    """Return the first three of which no word of one is nearly a word of another."""
    chosen: list[Phrase] = []
    for phrase in ranked:
        if not any(_is_near(word, other) for word in phrase for other in chain.from_iterable(chosen)):
            chosen.append(phrase)
        if len(chosen) == TERMS:
            break
    return chosen


def _is_near(word: str, other: str) -> bool:
    """Return whether two words have one beginning, as "visual" and "visualization" have."""
    shared = max(MIN_SHARED, ceil(SHARED_PART * min(len(word), len(other))))
    return word == other or word[:shared] == other[:shared]


@lru_cache(maxsize=1 << 16)
def _says_something(token: str) -> bool:
    word = token.casefold()
    empty = word in STOP_WORDS or _find_lemma(word) in STOP_WORDS
    return len(word) >= MIN_LETTERS and not empty and not word.isdigit()
