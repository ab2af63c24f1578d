"""Examples from links of papers, from labels, lists of scored candidates, classes and numbers."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, cycle, islice
from random import Random

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.drop_report import DropReport
from sciprism.papers.records import Label, Paper
from sciprism.prepare.samplers.sampling import (
    NONE,
    RANDOM,
    QuerySample,
    Sampling,
    seeded_random,
)
from sciprism.prepare.sources.citation_corpus import CitationGraph, rows_of
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

NO_LINK = "no link to another paper"
CITED_BY_CITED = "cited by a cited paper"
CO_AUTHOR = "by a co-author, not by an author"
POSITIVES = 5
HARD_SHARE = 0.4  # of the negatives of links, as far as there are enough of them; the rest is random


class SharedAttributeLinks:
    """Papers by row, linked if they share an attribute. attributes: of each paper, such as authors' ids."""

    def __init__(self, attributes: Sequence[Iterable[str]]) -> None:
        holders: dict[str, list[int]] = defaultdict(list)
        for row, names in enumerate(attributes):
            for name in sorted({*names} - {""}):
                holders[name].append(row)
        self._members = [rows for rows in holders.values() if len(rows) > 1]
        self._groups: list[list[int]] = [[] for _ in attributes]
        for group, rows in enumerate(self._members):
            for row in rows:
                self._groups[row].append(group)

    def targets(self, row: int) -> list[int]:
        """Return the other papers that share an attribute with the paper, ascending."""
        return sorted(self.linked(row) - {row})

    def linked(self, row: int) -> set[int]:
        """Return the paper itself and those that share an attribute with it."""
        return self._rows(self._groups[row]) | {row}

    def two_steps_away(self, row: int) -> set[int]:
        """Return the papers that share an attribute with a paper linked to this one."""
        return self._rows({group for other in self.linked(row) for group in self._groups[other]})

    def sample_one(self, random: Random, row: int) -> int | None:
        """Sample one of the paper's attributes, then another paper that has it; None if there is none."""
        if not self._groups[row]:
            return None
        rows = self._members[random.choice(self._groups[row])]
        other = random.randrange(len(rows) - 1)
        return rows[other + (other >= bisect_left(rows, row))]

    def _rows(self, groups: Iterable[int]) -> set[int]:
        return set(chain.from_iterable(self._members[group] for group in groups))


Links = CitationGraph | SharedAttributeLinks


def sample_citation_triplets(
    papers: Sequence[Paper],
    edges: Iterable[tuple[str, str]],
    sampling: Sampling,
    *,
    queries: Iterable[str] | None = None,
) -> Iterator[Example]:
    """Yield, for each paper that cites others, papers that it cites, each with one that it does not cite.

    Hard negatives are cited by a cited paper, and neither cite the query nor are cited by it (SciMult, 3.4;
    SPECTER, 3.2). The published data have about 5 positives a query and 0.4 hard negatives.

    edges: (citing id, cited id). queries: ids of the papers that may be queries, None for all; every paper may be a
    candidate.
    """
    papers = list(filter(sampling.has_text, papers))
    links = CitationGraph.from_edges([paper.id for paper in papers], edges, sampling.report.dropped)
    sampler = _LinkSampler([paper.id for paper in papers], links, CITED_BY_CITED, POSITIVES, sampling.seed)
    return sampler.examples(papers, queries, sampling)


def sample_same_author(
    papers: Sequence[Paper],
    authors: Sequence[Iterable[str]],
    sampling: Sampling,
    *,
    queries: Iterable[str] | None = None,
    positives: int = POSITIVES,
) -> Iterator[Example]:
    """Yield, for each paper, papers by its authors, and as many by none of them.

    Hard negatives are papers of those who wrote with the query's authors on other papers. authors: identifiers
    of each paper's authors; names would merge different people. positives: of one query at most.
    """
    rows_of(paper.id for paper in papers)
    rows = [row for row, paper in enumerate(papers) if sampling.has_text(paper)]
    papers, links = [papers[row] for row in rows], SharedAttributeLinks([authors[row] for row in rows])
    sampler = _LinkSampler([paper.id for paper in papers], links, CO_AUTHOR, positives, sampling.seed)
    return sampler.examples(papers, queries, sampling)


@dataclass(frozen=True, slots=True)
class _LinkSampler:
    """Samples the triplets of one row; pickled for other processes. kind: of a negative two steps away."""

    names: Sequence[str]
    links: Links
    kind: str
    positives: int
    seed: int

    def examples(self, papers: Sequence[Paper], queries: Iterable[str] | None, sampling: Sampling) -> Iterator[Example]:
        """Yield an example for each paper that has links, in their order."""
        allowed, linked = {*(self.names if queries is None else queries)}, list[int]()
        for row, name in enumerate(self.names):
            if name in allowed and self.links.targets(row):
                linked.append(row)
            elif name in allowed:
                sampling.drop(NO_LINK, name)
        return sampling.examples(self, sampling.select(self.names, linked), papers, papers)

    def __call__(self, row: int) -> QuerySample:
        """Return the sample of a row; it depends on the row's name and the seed alone."""
        random = seeded_random(self.seed, self.names[row])
        targets = self.links.targets(row)
        count = min(self.positives, len(targets))
        positives = random.sample(targets, count)
        linked = self.links.linked(row)
        near = sorted(self.links.two_steps_away(row) - linked)
        hard_count = int(HARD_SHARE * count + random.random())  # the share holds on average
        hard = random.sample(near, min(hard_count, len(near)))
        easy = sample_outside(random, len(self.names), linked.union(hard), count - len(hard))
        negatives = [(self.kind, other) for other in hard] + [(RANDOM, other) for other in easy]
        random.shuffle(negatives)
        kinds = [kind for kind, _ in negatives] + [NONE] * (count - len(negatives))
        return QuerySample(tuple(positives), tuple(other for _, other in negatives), tuple(kinds))


def sample_outside(random: Random, size: int, excluded: set[int], count: int) -> list[int]:
    """Sample `count` different numbers below `size` that are not excluded; fewer if there are not enough."""
    sampled: list[int] = []
    skipped = sorted(excluded)
    for _ in range(min(count, size - len(skipped))):
        number = random.randrange(size - len(skipped))
        for other in skipped:  # the number-th of the remaining ones
            number += other <= number
        insort(skipped, number)
        sampled.append(number)
    return sampled


MAX_PER_LABEL = 100  # pairs of one label at most (SciMult, section 4.1)
TRIES = 10  # related papers of one kind that are tried before the next kind
BEYOND_LABEL_LIMIT = "pair beyond the maximum of its label"


def sample_label_pairs(
    papers: Sequence[Paper],
    labels: Sequence[Label],
    paper_labels: Sequence[Iterable[int]],
    sampling: Sampling,
    *,
    max_per_label: int = MAX_PER_LABEL,
) -> Iterator[Example]:
    """Yield the labels of each paper in random order, each with a label that the paper does not have.

    The negative is a label of a paper that it cites, or that shares an author or the venue with it: these are the
    papers' own; authors are compared as written, so give identifiers where there are any. paper_labels: label
    rows of each paper. max_per_label: pairs of one label, selected by hash, 0 for all; the limit of papers
    applies after that.
    """
    rows_of(paper.id for paper in papers)
    rows = [row for row, paper in enumerate(papers) if sampling.has_text(paper)]
    papers = [papers[row] for row in rows]
    all_labels = [frozenset(paper_labels[row]) for row in rows]
    names = {paper.id for paper in papers}
    holders: dict[int, list[int]] = defaultdict(list)
    for row, label_rows in enumerate(all_labels):
        if not label_rows:
            sampling.drop("no label", papers[row].id)
        for label in label_rows:
            holders[label].append(row)
    positives: list[list[int]] = [[] for _ in papers]
    limit = max_per_label or len(papers)
    for label, holding in sorted(holders.items()):
        if len(holding) > limit:
            name = labels[label].id
            holding.sort(key=lambda row: (random_fraction(sampling.seed, papers[row].id, name), row))
            for row in holding[limit:]:
                sampling.drop(BEYOND_LABEL_LIMIT, papers[row].id)
        for row in holding[:limit]:
            positives[row].append(label)
    inside = ((paper.id, cited) for paper in papers for cited in paper.references if cited in names)
    sampler = _LabelSampler(
        names=[paper.id for paper in papers],
        labels=all_labels,
        positives=list(map(tuple, positives)),
        related={
            "citation": CitationGraph.from_edges([paper.id for paper in papers], inside, DropReport()),
            "author": SharedAttributeLinks([paper.authors for paper in papers]),
            "venue": SharedAttributeLinks([(paper.venue,) for paper in papers]),
        },
        seed=sampling.seed,
    )
    labelled = [row for row, selected in enumerate(positives) if selected]
    return sampling.examples(sampler, sampling.select(sampler.names, labelled), papers, labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class _LabelSampler:
    """Samples one negative label for each positive of a paper; pickled for other processes.

    labels: all label rows of each paper. positives: those of them that are its positives. related: kind ->
    related papers. The kinds are tried in random order; a label is sampled at most once for a paper.
    """

    names: Sequence[str]
    labels: Sequence[frozenset[int]]
    positives: Sequence[tuple[int, ...]]
    related: Mapping[str, Links]
    seed: int

    def __call__(self, row: int) -> QuerySample:
        """Return the sample of a row; it depends on the row's name and the seed alone."""
        random = seeded_random(self.seed, self.names[row])
        positives = random.sample(self.positives[row], len(self.positives[row]))
        negatives: dict[int, str] = {}
        for _ in positives:
            label, kind = self._sample_one(random, row, self.labels[row].union(negatives))
            if label is not None:
                negatives[label] = kind
        missing = len(positives) - len(negatives)
        return QuerySample(tuple(positives), tuple(negatives), (*negatives.values(), *[NONE] * missing))

    def _sample_one(self, random: Random, row: int, excluded: frozenset[int]) -> tuple[int | None, str]:
        for kind in random.sample([*self.related], len(self.related)):
            for _ in range(TRIES):
                other = self.related[kind].sample_one(random, row)
                if other is None:
                    break
                if labels := sorted(self.labels[other] - excluded):
                    return random.choice(labels), kind
        return None, NONE


MAX_TRIPLETS = 5  # triplets of one list at most
SCORE_ZERO, NOT_CLICKED = "in the list, score 0", "shown, not clicked"
NO_WORDS = "query without words"


@dataclass(frozen=True, slots=True)
class ScoredList:
    """A query, words or a paper, and its candidates. scores: clicks or grades, one of each candidate."""

    query: Paper | str
    papers: Sequence[Paper]
    scores: Sequence[float]

    @property
    def name(self) -> str:
        """Return the query's words, or its id."""
        return self.query if isinstance(self.query, str) else self.query.id

    @property
    def has_words(self) -> bool:
        """Return whether the query has words, or the paper a title or abstract."""
        query = self.query
        return bool((query if isinstance(query, str) else query.title or query.abstract).strip())

    def divide(self, rows: Iterable[int]) -> tuple[list[int], tuple[tuple[str, str], ...]]:
        """Return those of the candidates that have a title or an abstract, and (reason, id) of the others."""
        with_text, dropped = [], []
        for row in rows:
            if self.papers[row].title or self.papers[row].abstract:
                with_text.append(row)
            else:
                dropped.append(("no text", self.papers[row].id))
        return with_text, tuple(dropped)


def sample_scored_triplets(lists: Iterable[ScoredList], sampling: Sampling) -> Iterator[Example]:
    """Yield an example of one positive and one negative for each triplet, list by list.

    By the order of a list alone, as SciRepEval's training code does (type `ir`): positives, with a score other
    than 0, come in the list's order, repeated from its start as needed; the i-th meets the i-th negative from the
    list's end, `MAX_TRIPLETS` times, or once a negative if there are fewer. Nothing is random.
    """
    for scored in lists:
        sample = _pair_scores(scored)
        sampling.report.add(sample)
        for positive, negative in zip(sample.positives, sample.negatives, strict=True):
            yield Example(scored.query, (scored.papers[positive],), (scored.papers[negative],))


def _pair_scores(scored: ScoredList) -> QuerySample:
    if not scored.has_words:
        return QuerySample(dropped=((NO_WORDS, scored.name),))
    rows, dropped = scored.divide(range(len(scored.papers)))
    positives = [row for row in rows if scored.scores[row] != 0]
    negatives = [row for row in rows if scored.scores[row] == 0][::-1][:MAX_TRIPLETS]
    if not positives or not negatives:
        reason = "no candidate with a score" if not positives else "no candidate with score 0"
        return QuerySample(dropped=(*dropped, (reason, scored.name)))
    repeated = tuple(islice(cycle(positives), len(negatives)))
    return QuerySample(repeated, tuple(negatives), (SCORE_ZERO,) * len(negatives), dropped)


def sample_clicks(lists: Iterable[ScoredList], sampling: Sampling, *, negatives: int = 10) -> Iterator[Example]:
    """Yield an example of each list with a positive; a paper that is in a list twice counts once (SciMult, 3.4).

    Papers with a score above 0 are positives, best first, the others hard negatives: `negatives` of one list at
    most, sampled at random, 0 for all.
    """
    for scored in lists:
        sample = _select_clicked(scored, negatives, sampling.seed)
        if sampling.report.add(sample):
            yield sample.to_example(scored.query, scored.papers)


def _select_clicked(scored: ScoredList, limit: int, seed: int) -> QuerySample:
    if not scored.has_words:
        return QuerySample(dropped=((NO_WORDS, scored.papers[0].id if scored.papers else ""),))
    best: dict[str, int] = {}
    for row in sorted(range(len(scored.papers)), key=lambda row: -scored.scores[row]):
        best.setdefault(scored.papers[row].id, row)
    rows, dropped = scored.divide(best.values())
    positives = tuple(row for row in rows if scored.scores[row] > 0)
    if not positives:
        return QuerySample(dropped=(*dropped, ("nothing clicked", scored.name)))
    others = sorted(row for row in rows if scored.scores[row] <= 0)
    negatives = tuple(seeded_random(seed, scored.name).sample(others, min(limit or len(others), len(others))))
    return QuerySample(positives, negatives, (NOT_CLICKED if negatives else NONE,) * len(positives), dropped)


def pair_texts(pairs: Iterable[tuple[str, Paper]], sampling: Sampling) -> Iterator[Example]:
    """Yield each text as a query that its paper answers, without hard negatives; both must have words."""
    complete = []
    for text, paper in pairs:
        if not text.strip():
            sampling.drop(NO_WORDS, paper.id)
        elif sampling.has_text(paper):
            complete.append((text, paper))
    for row in sampling.select([paper.id for _, paper in complete]):
        sampling.report.add(QuerySample((0,), (), (NONE,)))
        yield Example(complete[row][0], (complete[row][1],))


def count_lists(max_triplets: int) -> int:
    """Return the number of queries that give at most this many triplets; 0 for all."""
    return max(1, max_triplets // MAX_TRIPLETS) if max_triplets else 0


SEED = 42  # of the published sample


def sample_stratified(classes: Sequence[int] | NDArray[np.int64], size: int, seed: int = SEED) -> Rows:
    """Return `size` rows, ascending, with each class in its share; all if there are no more.

    classes: one number of each row. The sample is scikit-learn's: the published data give the published one. With a
    class of one row, or fewer rows than classes in a part, there are no shares to keep.
    """
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(classes))
    if len(rows) <= size:
        return rows
    try:
        selected, _ = train_test_split(rows, train_size=size, random_state=seed, stratify=classes)
    except ValueError:
        selected = np.random.RandomState(seed).permutation(rows)[:size]
    return np.sort(selected)


def sample_iteratively_stratified(labels: Sequence[Sequence[int]], size: int, seed: int = SEED) -> Rows:
    """Return `size` rows, ascending, with each of several labels in its share; all if there are no more.

    labels: label numbers of each row. Iterative stratification of order 1 (Sechidis et al., 2011): the label
    with the fewest unassigned rows comes first; each of its rows goes to the part that lacks the label most,
    then to the one with more room, then by hash. A full part takes no more, so the size is exact.
    """
    total = len(labels)
    if total <= size:
        return np.arange(total)
    order = sorted(range(total), key=lambda row: random_fraction(seed, row))
    holders: dict[int, list[int]] = defaultdict(list)
    for row in order:
        for label in {*labels[row]}:
            holders[label].append(row)
    part_of: dict[int, int] = {}  # row -> 0, the part that is selected, or 1
    room = [size, total - size]
    unassigned = {label: len(rows) for label, rows in holders.items()}
    lacks = [{label: n * rows / total for label, n in unassigned.items()} for rows in room]
    while any(unassigned.values()):
        label = min((count, label) for label, count in unassigned.items() if count)[1]
        for row in holders[label]:
            if row not in part_of:
                parts = (part for part in (0, 1) if room[part])
                *_, part = max(
                    (lacks[part][label], room[part], random_fraction(seed, row, part), part) for part in parts
                )
                part_of[row] = part
                room[part] -= 1
                for other in {*labels[row]}:
                    unassigned[other] -= 1
                    lacks[part][other] -= 1
    rest = [row for row in order if row not in part_of]
    selected = [row for row, part in part_of.items() if part == 0]
    return np.sort(np.array([*selected, *rest[: room[0]]], np.int64))


MAX_DESCRIPTORS = 30


def most_frequent(names: Iterable[str]) -> tuple[str, ...]:
    """Return the `MAX_DESCRIPTORS` most frequent names, the most frequent first, then by name; "" is ignored."""
    counts = Counter(filter(None, names))
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:MAX_DESCRIPTORS])
