"""Numbers to predict from a paper: how often it is cited, when it came out (SciRepEval, regression)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.drawing import Sampled, check_numbers, lowest
from sciprism.prepare.samplers.ties import with_text
from sciprism.training.examples import Example

AFTER = 2005


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCitations:
    """Take the natural logarithm of the citations of papers of one year that are cited at least once.

    year: papers of one age have had the same time to be cited (published: 2016). most: papers, 0 for all,
    drawn by hash.
    """

    year: int
    most: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self, whole=("year", "most", "seed"))

    def sample(
        self, papers: Sequence[Paper], counts: Mapping[str, int], *, report: Sampled | None = None
    ) -> Iterator[Example]:
        """Yield an example with one number for each such paper, in their order. counts: id -> citations."""
        report = Sampled() if report is None else report
        known = []
        for row in with_text(papers, report.dropped):
            paper = papers[row]
            if paper.year != self.year:
                report.dropped.add("of another year" if paper.year else "no year", paper.id)
            elif counts.get(paper.id, 0) < 1:
                report.dropped.add("not cited", paper.id)
            else:
                known.append(paper)
        for row in lowest([paper.id for paper in known], self.most, self.seed, report.dropped):
            yield Example(known[row], (), answers=(math.log(counts[known[row].id]),))


def most_cited_year(papers: Iterable[Paper], counts: Mapping[str, int]) -> int | None:
    """Return the year with the most papers that are cited, the latest of several; None without any."""
    years = Counter(paper.year for paper in papers if paper.year and counts.get(paper.id, 0) > 0)
    return max(years, key=lambda year: (years[year], year)) if years else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledYears:
    """Take the year of papers after 2005, scaled: `first` becomes 0, `last` becomes `factor`.

    factor: the mean of the citation labels, which brings both regressions to one scale. most: papers, 0 for
    all, drawn by hash.
    """

    first: int
    last: int
    factor: float = 1.0
    most: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self, whole=("first", "last", "most", "seed"), other=("factor",))
        if self.last <= self.first:
            raise InputError(f"years from {self.first} to {self.last} cannot be scaled; two are needed")

    def sample(self, papers: Sequence[Paper], *, report: Sampled | None = None) -> Iterator[Example]:
        """Yield an example with one number for each paper of these years, in their order."""
        report = Sampled() if report is None else report
        known = []
        for row in with_text(papers, report.dropped):
            paper = papers[row]
            if paper.year and self.first <= paper.year <= self.last:
                known.append((paper, (paper.year - self.first) / (self.last - self.first)))
            else:
                reason = f"not of {self.first} to {self.last}" if paper.year else "no year"
                report.dropped.add(reason, paper.id)
        for row in lowest([paper.id for paper, _ in known], self.most, self.seed, report.dropped):
            paper, share = known[row]
            yield Example(paper, (), answers=(share * self.factor,))


def span_after(papers: Iterable[Paper], after: int = AFTER) -> tuple[int, int] | None:
    """Return the first and the last year later than `after`; None where there are not two."""
    years = {paper.year for paper in papers if paper.year and paper.year > after}
    return (min(years), max(years)) if len(years) > 1 else None
