"""Numbers to predict from a paper: its citation count, its year (SciRepEval, regression)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.links import papers_with_text
from sciprism.prepare.samplers.sampling import SampleReport, check_numbers, select_by_hash
from sciprism.training.examples import Example


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCitationSampler:
    """Take the natural logarithm of the citation count of papers of one year, cited at least once.

    year: papers of the same age had the same time to be cited (published: 2016). max_papers: 0 for all,
    selected by hash.
    """

    year: int
    max_papers: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self)

    def sample(
        self, papers: Sequence[Paper], counts: Mapping[str, int], *, report: SampleReport | None = None
    ) -> Iterator[Example]:
        """Yield an example with one number for each such paper, in their order. counts: id -> citations."""
        report = SampleReport() if report is None else report
        known = []
        for paper in papers_with_text(papers, report.dropped):
            if paper.year != self.year:
                report.dropped.add("of another year" if paper.year else "no year", paper.id)
            elif counts.get(paper.id, 0) < 1:
                report.dropped.add("not cited", paper.id)
            else:
                known.append((paper, math.log(counts[paper.id])))
        yield from _examples(known, self.max_papers, self.seed, report)


def most_cited_year(papers: Iterable[Paper], counts: Mapping[str, int]) -> int | None:
    """Return the year with the most cited papers, the latest if several; None if no paper is cited."""
    years = Counter(paper.year for paper in papers if paper.year and counts.get(paper.id, 0) > 0)
    return max(years, key=lambda year: (years[year], year)) if years else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaledYearSampler:
    """Take the year of papers, scaled: `first` becomes 0, `last` becomes `factor`.

    factor: the mean of the citation targets, which gives both regressions the same scale. max_papers: 0 for
    all, selected by hash.
    """

    first: int
    last: int
    factor: float = 1.0
    max_papers: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.last <= self.first:
            raise InputError(f"years {self.first} to {self.last} cannot be scaled; give two different years")

    def sample(self, papers: Sequence[Paper], *, report: SampleReport | None = None) -> Iterator[Example]:
        """Yield an example with one number for each paper of these years, in their order."""
        report = SampleReport() if report is None else report
        known = []
        for paper in papers_with_text(papers, report.dropped):
            if paper.year and self.first <= paper.year <= self.last:
                known.append((paper, (paper.year - self.first) / (self.last - self.first) * self.factor))
            else:
                reason = f"not of {self.first} to {self.last}" if paper.year else "no year"
                report.dropped.add(reason, paper.id)
        yield from _examples(known, self.max_papers, self.seed, report)


def year_range_after(papers: Iterable[Paper], after: int = 2005) -> tuple[int, int] | None:
    """Return the first and the last year later than `after`; None if there are not two."""
    years = {paper.year for paper in papers if paper.year and paper.year > after}
    return (min(years), max(years)) if len(years) > 1 else None


def _examples(known: Sequence[tuple[Paper, float]], limit: int, seed: int, report: SampleReport) -> Iterator[Example]:
    for row in select_by_hash([paper.id for paper, _ in known], limit, seed, report.dropped):
        paper, target = known[row]
        yield Example(paper, (), answers=(target,))
