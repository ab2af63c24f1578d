"""Classes to predict from a paper: fields that its venue stands for, its one MeSH heading (SciRepEval)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sciprism.papers.records import Paper
from sciprism.prepare.samplers.drawing import Sampled, check_numbers
from sciprism.prepare.samplers.strata import SEED, iteratively_stratified, stratified
from sciprism.prepare.samplers.ties import with_text
from sciprism.training.examples import Example

FIELDS = 3
"""A venue of more fields says too little of a paper."""
DESCRIPTORS = 30
Heading = tuple[str, str]
"""A MeSH descriptor and one qualifier of it, or ""."""


def one_form(venue: str) -> str:
    """Return a venue's name without case and outer or double white space."""
    return " ".join(venue.casefold().split())


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueFields:
    """Take the fields that a paper's venue stands for as its classes (silver labels).

    most: papers, 0 for all, drawn by iterative stratification.
    """

    most: int = 0
    seed: int = SEED

    def __post_init__(self) -> None:
        check_numbers(self, whole=("most", "seed"))

    def sample(
        self, papers: Sequence[Paper], fields: Mapping[str, Sequence[str]], *, report: Sampled | None = None
    ) -> Iterator[Example]:
        """Yield an example with one to `FIELDS` classes for each paper of a known venue, in their order.

        fields: `one_form` of a venue's name -> its fields.
        """
        report = Sampled() if report is None else report
        known: list[tuple[Paper, Sequence[str]]] = []
        for row in with_text(papers, report.dropped):
            paper = papers[row]
            found = sorted({*fields.get(one_form(paper.venue), ())})
            if not paper.venue or not found:
                report.dropped.add("venue without a field" if paper.venue else "no venue", paper.id)
            elif len(found) > FIELDS:
                report.dropped.add(f"venue of more than {FIELDS} fields", paper.id)
            else:
                known.append((paper, found))
        numbers = {name: number for number, name in enumerate(sorted({n for _, each in known for n in each}))}
        carried = [[numbers[name] for name in each] for _, each in known]
        for row in iteratively_stratified(carried, self.most, self.seed).tolist():
            yield Example(known[row][0], (), answers=tuple(known[row][1]))


@dataclass(frozen=True, slots=True, kw_only=True)
class OneHeading:
    """Take the descriptor of papers that have exactly one heading with a qualifier, and one qualifier there.

    descriptors: those that count, such as `frequent(...)`; "top-level" in the paper means that qualifiers
    stand below them. most: papers, 0 for all, drawn in the shares of the classes.
    """

    descriptors: Sequence[str]
    most: int = 0
    seed: int = SEED

    def __post_init__(self) -> None:
        check_numbers(self, whole=("most", "seed"))

    def sample(
        self,
        papers: Sequence[Paper],
        headings: Mapping[str, Sequence[Heading]],
        *,
        report: Sampled | None = None,
    ) -> Iterator[Example]:
        """Yield an example with one class for each such paper, in their order. headings: by paper id."""
        report = Sampled() if report is None else report
        numbers = {name: number for number, name in enumerate(self.descriptors)}
        known: list[tuple[Paper, str]] = []
        for row in with_text(papers, report.dropped):
            paper = papers[row]
            name = one_qualified(headings.get(paper.id, ()))
            if name in numbers:
                known.append((paper, name))
            else:
                report.dropped.add(
                    "heading that is not frequent" if name else "not exactly one qualifier", paper.id
                )
        for row in stratified([numbers[name] for _, name in known], self.most, self.seed).tolist():
            yield Example(known[row][0], (), answers=(known[row][1],))


def one_qualified(headings: Iterable[Heading]) -> str:
    """Return the descriptor of the one heading with a qualifier; "" where there is none, or more than one."""
    found = {heading for heading in headings if heading[1]}
    return next(iter(found))[0] if len(found) == 1 else ""


def frequent(names: Iterable[str], most: int = DESCRIPTORS) -> tuple[str, ...]:
    """Return the most frequent names, the most frequent first; equals by name, "" never."""
    counts = Counter(filter(None, names))
    return tuple(sorted(counts, key=lambda name: (-counts[name], name))[:most])
