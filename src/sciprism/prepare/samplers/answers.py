"""Classes and numbers to predict from a paper (SciRepEval), and stratified samples of them."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.sampling import Sampling
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

SEED = 42  # of the published sample


def sample_stratified(classes: Sequence[int] | NDArray[np.int64], size: int, seed: int = SEED) -> Rows:
    """Return `size` rows, ascending, with each class in its share; all if there are no more, or for 0.

    classes: one number of each row. Row for row the sample of scikit-learn's `train_test_split` with this
    seed and `stratify`: the published data give the published sample.
    """
    numbers = np.asarray(classes, np.int64)
    if not size or len(numbers) <= size:
        return np.arange(len(numbers))
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(inverse, kind="stable"), np.cumsum(counts)[:-1])
    random = np.random.RandomState(seed)
    quotas = _quotas(counts, size, random)
    _quotas(counts - quotas, len(numbers) - size, random)  # scikit-learn samples the other part in between
    selected = [rows[random.permutation(len(rows))][:quota] for rows, quota in zip(members, quotas, strict=True)]
    return np.sort(np.concatenate(selected))


def _quotas(counts: Rows, wanted: int, random: np.random.RandomState) -> Rows:
    """Divide `wanted` rows in proportion to counts, remainders to the largest fractions (ties at random)."""
    exact = counts / counts.sum() * wanted
    quotas: NDArray[np.float64] = np.floor(exact)
    missing = int(wanted - quotas.sum())
    for value in np.unique(exact - quotas)[::-1]:
        if missing == 0:
            break
        (equal,) = np.where(exact - np.floor(exact) == value)
        chosen = random.choice(equal, size=min(len(equal), missing), replace=False)
        quotas[chosen] += 1
        missing -= len(chosen)
    return quotas.astype(np.int64)


def sample_iteratively_stratified(labels: Sequence[Sequence[int]], size: int, seed: int = SEED) -> Rows:
    """Return `size` rows, ascending, with each of several labels in its share; all if there are no more.

    labels: label numbers of each row. Iterative stratification of order 1 (Sechidis et al., 2011): the label
    with the fewest unassigned rows comes first; each of its rows goes to the part that lacks the label most,
    then to the one with more room, then by hash. A full part takes no more, so the size is exact.
    """
    total = len(labels)
    if not size or total <= size:
        return np.arange(total)
    order = sorted(range(total), key=lambda row: random_fraction(seed, row))
    holders: dict[int, list[int]] = defaultdict(list)
    for row in order:
        for label in {*labels[row]}:
            holders[label].append(row)
    split = _IterativeSplit(size, total, {label: len(rows) for label, rows in holders.items()}, seed)
    while any(split.unassigned.values()):
        label = min((count, label) for label, count in split.unassigned.items() if count)[1]
        for row in holders[label]:
            if row not in split.part_of:
                split.assign(row, {*labels[row]}, label)
    rest = [row for row in order if row not in split.part_of]
    selected = [row for row, part in split.part_of.items() if part == 0]
    return np.sort(np.array([*selected, *rest[: split.room[0]]], np.int64))


class _IterativeSplit:
    """The part that is selected (0) and the other one: the part of each row, and what each part lacks."""

    def __init__(self, size: int, total: int, counts: dict[int, int], seed: int) -> None:
        self.part_of: dict[int, int] = {}
        self.room = [size, total - size]
        self.unassigned = dict(counts)
        self._lacks = [{label: n * room / total for label, n in counts.items()} for room in self.room]
        self._seed = seed

    def assign(self, row: int, labels: set[int], by: int) -> None:
        """Assign one row to a part because of one of its labels."""

        def priority(part: int) -> tuple[float, int, float]:
            return self._lacks[part][by], self.room[part], random_fraction(self._seed, row, part)

        part = max((part for part in (0, 1) if self.room[part]), key=priority)
        self.part_of[row] = part
        self.room[part] -= 1
        for label in labels:
            self.unassigned[label] -= 1
            self._lacks[part][label] -= 1


MAX_FIELDS = 3  # a venue of more fields says too little about a paper
MAX_DESCRIPTORS = 30
Heading = tuple[str, str]
"""A MeSH descriptor and one of its qualifiers, or ""."""


def normalize_venue(venue: str) -> str:
    """Return a venue's name in lower case, white space folded."""
    return " ".join(venue.casefold().split())


def sample_venue_fields(
    papers: Iterable[Paper], fields: Mapping[str, Sequence[str]], sampling: Sampling
) -> Iterator[Example]:
    """Yield papers with the one to `MAX_FIELDS` fields of their venues as classes (silver labels), in their order.

    fields: a venue's name after `normalize_venue` -> its fields. The limit keeps the shares of the fields.
    """
    labelled: list[tuple[Paper, list[str]]] = []
    for paper in sampling.papers_with_text(papers):
        names = sorted({*fields.get(normalize_venue(paper.venue), ())})
        if not paper.venue or not names:
            sampling.drop("venue without a field" if paper.venue else "no venue", paper.id)
        elif len(names) > MAX_FIELDS:
            sampling.drop(f"venue of more than {MAX_FIELDS} fields", paper.id)
        else:
            labelled.append((paper, names))
    numbers = {name: number for number, name in enumerate(sorted({n for _, names in labelled for n in names}))}
    classes = [[numbers[name] for name in names] for _, names in labelled]
    for row in sample_iteratively_stratified(classes, sampling.limit, sampling.seed).tolist():
        yield Example(labelled[row][0], (), answers=tuple(labelled[row][1]))


def sample_single_headings(
    papers: Iterable[Paper],
    headings: Mapping[str, Sequence[Heading]],
    sampling: Sampling,
    *,
    descriptors: Sequence[str],
) -> Iterator[Example]:
    """Yield papers with exactly one qualified MeSH heading, and its descriptor as their class, in their order.

    headings: of each paper id. descriptors: the classes, such as `most_frequent(...)`; "top-level" in the paper
    means that they have qualifiers. The limit keeps the shares of the classes.
    """
    numbers = {name: number for number, name in enumerate(descriptors)}
    labelled: list[tuple[Paper, str]] = []
    for paper in sampling.papers_with_text(papers):
        name = single_qualified_descriptor(headings.get(paper.id, ()))
        if name in numbers:
            labelled.append((paper, name))
        else:
            sampling.drop("heading that is not frequent" if name else "not exactly one qualifier", paper.id)
    classes = [numbers[name] for _, name in labelled]
    for row in sample_stratified(classes, sampling.limit, sampling.seed).tolist():
        yield Example(labelled[row][0], (), answers=(labelled[row][1],))


def single_qualified_descriptor(headings: Iterable[Heading]) -> str:
    """Return the descriptor of the only heading with a qualifier; "" if there is none, or more than one."""
    qualified = {heading for heading in headings if heading[1]}
    return next(iter(qualified))[0] if len(qualified) == 1 else ""


def most_frequent(names: Iterable[str], count: int = MAX_DESCRIPTORS) -> tuple[str, ...]:
    """Return the `count` most frequent names, the most frequent first, then by name; "" is ignored."""
    counts = Counter(filter(None, names))
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:count])


def sample_log_citations(
    papers: Iterable[Paper], counts: Mapping[str, int], sampling: Sampling, *, year: int
) -> Iterator[Example]:
    """Yield papers of one year with the natural logarithm of their citation count, at least 1, in their order.

    counts: id -> citations. year: papers of the same age had the same time to be cited (published: 2016).
    """
    numbered: list[tuple[Paper, float]] = []
    for paper in sampling.papers_with_text(papers):
        if paper.year != year:
            sampling.drop("of another year" if paper.year else "no year", paper.id)
        elif counts.get(paper.id, 0) < 1:
            sampling.drop("not cited", paper.id)
        else:
            numbered.append((paper, math.log(counts[paper.id])))
    return _select_numbers(numbered, sampling)


def most_cited_year(papers: Iterable[Paper], counts: Mapping[str, int]) -> int | None:
    """Return the year with the most cited papers, the latest if several; None if no paper is cited."""
    years = Counter(paper.year for paper in papers if paper.year and counts.get(paper.id, 0) > 0)
    return max(years, key=lambda year: (years[year], year)) if years else None


def sample_scaled_years(
    papers: Iterable[Paper], sampling: Sampling, *, first: int, last: int, factor: float = 1.0
) -> Iterator[Example]:
    """Yield papers of these years with their year scaled: `first` is 0, `last` is `factor`, in their order.

    factor: the mean of the citation targets, which gives both regressions the same scale.
    """
    if last <= first:
        raise InputError(f"years {first} to {last} cannot be scaled; give two different years")
    numbered: list[tuple[Paper, float]] = []
    for paper in sampling.papers_with_text(papers):
        if paper.year and first <= paper.year <= last:
            numbered.append((paper, (paper.year - first) / (last - first) * factor))
        else:
            sampling.drop(f"not of {first} to {last}" if paper.year else "no year", paper.id)
    return _select_numbers(numbered, sampling)


def year_range_after(papers: Iterable[Paper], after: int = 2005) -> tuple[int, int] | None:
    """Return the first and the last year later than `after`; None if there are not two."""
    years = {paper.year for paper in papers if paper.year and paper.year > after}
    return (min(years), max(years)) if len(years) > 1 else None


def _select_numbers(numbered: Sequence[tuple[Paper, float]], sampling: Sampling) -> Iterator[Example]:
    rows = sampling.select([paper.id for paper, _ in numbered])
    return (Example(numbered[row][0], (), answers=(numbered[row][1],)) for row in rows)
