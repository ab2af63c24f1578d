"""Classes to predict from a paper: the fields of its venue, its single MeSH heading (SciRepEval)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciprism.papers.records import Paper
from sciprism.prepare.samplers.links import papers_with_text
from sciprism.prepare.samplers.sampling import SampleReport, check_numbers
from sciprism.prepare.samplers.stratification import SEED, sample_iteratively_stratified, sample_stratified
from sciprism.training.examples import Example

MAX_FIELDS = 3
"""A venue of more fields says too little about a paper."""
MAX_DESCRIPTORS = 30
Heading = tuple[str, str]
"""A MeSH descriptor and one of its qualifiers, or ""."""


def normalize_venue(venue: str) -> str:
    """Return a venue's name in lower case, white space folded."""
    return " ".join(venue.casefold().split())


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueFieldSampler:
    """Take the fields of a paper's venue as its classes (silver labels).

    max_papers: 0 for all, sampled by iterative stratification.
    """

    max_papers: int = 0
    seed: int = SEED

    def __post_init__(self) -> None:
        check_numbers(self)

    def sample(
        self,
        papers: Sequence[Paper],
        fields: Mapping[str, Sequence[str]],
        *,
        report: SampleReport | None = None,
    ) -> Iterator[Example]:
        """Yield an example with one to `MAX_FIELDS` classes for each paper of a known venue, in their order.

        fields: a venue's name after `normalize_venue` -> its fields.
        """
        report = SampleReport() if report is None else report
        known: list[tuple[Paper, Sequence[str]]] = []
        for paper in papers_with_text(papers, report.dropped):
            found = sorted({*fields.get(normalize_venue(paper.venue), ())})
            if not paper.venue or not found:
                report.dropped.add("venue without a field" if paper.venue else "no venue", paper.id)
            elif len(found) > MAX_FIELDS:
                report.dropped.add(f"venue of more than {MAX_FIELDS} fields", paper.id)
            else:
                known.append((paper, found))
        numbers = {name: number for number, name in enumerate(sorted({n for _, each in known for n in each}))}
        classes = [[numbers[name] for name in each] for _, each in known]
        for row in sample_iteratively_stratified(classes, self.max_papers, self.seed).tolist():
            yield Example(known[row][0], (), answers=tuple(known[row][1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleHeadingSampler:
    """Take the MeSH descriptor of papers with exactly one qualified heading, and one qualifier of it.

    descriptors: the classes, such as `most_frequent(...)`; "top-level" in the paper means that they have
    qualifiers. max_papers: 0 for all, sampled in the shares of the classes.
    """

    descriptors: Sequence[str]
    max_papers: int = 0
    seed: int = SEED

    def __post_init__(self) -> None:
        check_numbers(self)

    def sample(
        self,
        papers: Sequence[Paper],
        headings: Mapping[str, Sequence[Heading]],
        *,
        report: SampleReport | None = None,
    ) -> Iterator[Example]:
        """Yield an example with one class for each such paper, in their order. headings: by paper id."""
        report = SampleReport() if report is None else report
        numbers = {name: number for number, name in enumerate(self.descriptors)}
        known: list[tuple[Paper, str]] = []
        for paper in papers_with_text(papers, report.dropped):
            name = single_qualified_descriptor(headings.get(paper.id, ()))
            if name in numbers:
                known.append((paper, name))
            else:
                reason = "heading that is not frequent" if name else "not exactly one qualifier"
                report.dropped.add(reason, paper.id)
        classes = [numbers[name] for _, name in known]
        for row in sample_stratified(classes, self.max_papers, self.seed).tolist():
            yield Example(known[row][0], (), answers=(known[row][1],))


def single_qualified_descriptor(headings: Iterable[Heading]) -> str:
    """Return the descriptor of the only heading with a qualifier; "" if there is none, or more than one."""
    found = {heading for heading in headings if heading[1]}
    return next(iter(found))[0] if len(found) == 1 else ""


def most_frequent(names: Iterable[str], count: int = MAX_DESCRIPTORS) -> tuple[str, ...]:
    """Return the `count` most frequent names, the most frequent first, then by name; "" is ignored."""
    counts = Counter(filter(None, names))
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:count])
