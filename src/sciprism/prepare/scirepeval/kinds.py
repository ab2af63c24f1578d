"""SciRepEval's eight kinds of training data, made from one's own papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean

from sciprism.datasets.sources import Part
from sciprism.prepare.open.making import Desk
from sciprism.prepare.open.writing import LEAST_DEV
from sciprism.prepare.samplers.citation import CitationTriplets
from sciprism.prepare.samplers.classes import FIELDS, OneHeading, VenueFields, frequent, one_qualified
from sciprism.prepare.samplers.influential import Influential
from sciprism.prepare.samplers.quantities import LogCitations, ScaledYears, most_cited_year, span_after
from sciprism.prepare.samplers.same_author import SameAuthor
from sciprism.prepare.samplers.scored_lists import ScoredTriplets
from sciprism.prepare.scirepeval.corpus import Corpus, LackingError
from sciprism.prepare.scirepeval.source import Form, Taken, TrainingSource, lists_for
from sciprism.training.examples import Example, key_of

UNPAIRED = "pair without a negative"


@dataclass(frozen=True, slots=True)
class _OfPapers:
    """What the forms share. corpus: the papers, and what is known about them."""

    corpus: Corpus

    @property
    def data(self) -> str:
        """Return what stands for the data in the record."""
        return "own papers"


@dataclass(frozen=True, slots=True)
class InfluentialCitations(_OfPapers):
    """Cited papers with those that name them often, and seldom."""

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield triplets; a dev query's candidates are train papers too."""
        corpus, sampler = self.corpus, Influential(most=lists_for(desk.most), seed=desk.seed)
        papers, queries = corpus.around(part), corpus.names(part)
        return sampler.sample(papers, corpus.citations(), queries=queries, report=report)


@dataclass(frozen=True, slots=True)
class CitedPapers(_OfPapers):
    """Papers with those that they cite: of five negatives three are easy and two hard."""

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield triplets; a dev query's candidates are train papers too."""
        corpus, sampler = self.corpus, CitationTriplets(most=lists_for(desk.most), seed=desk.seed)
        edges = ((citing, cited) for citing, cited, count in corpus.citations() if count)
        found = sampler.sample(
            corpus.around(part),
            edges,
            queries=corpus.names(part),
            workers=desk.workers,
            report=report,
        )
        return each_pair(found, report)


@dataclass(frozen=True, slots=True)
class WrittenTogether(_OfPapers):
    """Papers with others by their authors."""

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield triplets; a dev query's candidates are train papers too."""
        corpus, authors = self.corpus, self.corpus.authors()
        papers = []
        for paper in corpus.around(part):
            if paper.id in authors:
                papers.append(paper)
            elif corpus.part(paper.id) == part:
                report.dropped.add("no author", paper.id)
        found = SameAuthor(most=lists_for(desk.most), seed=desk.seed).sample(
            papers,
            [authors[paper.id] for paper in papers],
            queries=corpus.names(part),
            workers=desk.workers,
            report=report,
        )
        return each_pair(found, report)


@dataclass(frozen=True, slots=True)
class FieldsOfVenues(_OfPapers):
    """Papers with the fields that their venues stand for."""

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield papers with one to three classes."""
        sampler = VenueFields(most=desk.most, seed=desk.seed)
        return sampler.sample(self.corpus.of(part), self.corpus.venues, report=report)


@dataclass(frozen=True, slots=True)
class MeshHeadings(_OfPapers):
    """Papers with their one qualified heading. descriptors: those that are classes."""

    descriptors: tuple[str, ...]

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield papers with one class."""
        sampler = OneHeading(descriptors=self.descriptors, most=desk.most, seed=desk.seed)
        return sampler.sample(self.corpus.of(part), self.corpus.headings, report=report)


@dataclass(frozen=True, slots=True)
class Citations(_OfPapers):
    """Papers of one year with the logarithm of how often they are cited."""

    year: int

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield papers with a number."""
        sampler = LogCitations(year=self.year, most=desk.most, seed=desk.seed)
        return sampler.sample(self.corpus.of(part), self.corpus.counts, report=report)


@dataclass(frozen=True, slots=True)
class Years(_OfPapers):
    """Papers with the year in which they came out, scaled."""

    first: int
    last: int
    factor: float

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield papers with a number."""
        sampler = ScaledYears(
            first=self.first, last=self.last, factor=self.factor, most=desk.most, seed=desk.seed
        )
        return sampler.sample(self.corpus.of(part), report=report)


@dataclass(frozen=True, slots=True)
class Clicks(_OfPapers):
    """Words that were searched for, with papers that were clicked and papers that were not."""

    def examples(self, desk: Desk, part: Part, report: Taken) -> Iterator[Example]:
        """Yield the triplets of the first lists."""
        lists = self.corpus.clicks(part, report, lists_for(desk.most))
        return ScoredTriplets().sample(lists, report=report)


def each_pair(examples: Iterable[Example], report: Taken) -> Iterator[Example]:
    """Yield an example of each positive with the negative drawn for it; pairs without one are counted."""
    for example in examples:
        for positive, negative in zip(example.positives, example.negatives, strict=False):
            yield Example(example.query, (positive,), (negative,))
        for positive in example.positives[len(example.negatives) :]:
            report.dropped.add(UNPAIRED, f"{key_of(example.query)}, {key_of(positive)}")


def kinds_of(corpus: Corpus) -> tuple[list[TrainingSource], dict[str, str]]:
    """Return the sources that a corpus gives, and the reason for each that it does not give."""
    sources, left_out = [], {}
    for name, build in KINDS.items():
        try:
            sources.append(build(name, corpus))
        except LackingError as reason:
            left_out[name] = str(reason)
    return sources, left_out


def _triplets(name: str, form: Form) -> TrainingSource:
    return TrainingSource(name=name, type="triplet", format="proximity", form=form, least=LEAST_DEV)


def _influential(name: str, corpus: Corpus) -> TrainingSource:
    corpus.need_column("citations", "mentions")
    return _triplets(name, InfluentialCitations(corpus))


def _citation_triplets(name: str, corpus: Corpus) -> TrainingSource:
    if not any(paper.references for paper in corpus.papers):
        corpus.need("citations")
    return _triplets(name, CitedPapers(corpus))


def _same_author(name: str, corpus: Corpus) -> TrainingSource:
    corpus.need("authors")
    return _triplets(name, WrittenTogether(corpus))


def _venue_fields(name: str, corpus: Corpus) -> TrainingSource:
    corpus.need("venues")
    few = (fields for fields in corpus.venues.values() if len({*fields}) <= FIELDS)
    return TrainingSource(
        name=name,
        type="classification",
        format="classification",
        form=FieldsOfVenues(corpus),
        labels=tuple(sorted({field for fields in few for field in fields})),
        multi_label=True,
        least=LEAST_DEV,
    )


def _mesh(name: str, corpus: Corpus) -> TrainingSource:
    corpus.need("mesh")
    labels = frequent(one_qualified(corpus.headings.get(paper.id, ())) for paper in corpus.papers)
    form = MeshHeadings(corpus, labels)
    return TrainingSource(
        name=name,
        type="classification",
        format="classification",
        form=form,
        labels=labels,
        least=LEAST_DEV,
    )


def _citation_count(name: str, corpus: Corpus) -> TrainingSource:
    year = corpus.year or most_cited_year(corpus.papers, corpus.counts)
    if year is None:
        raise LackingError("no paper with a year is cited")
    told = {"year": year, "counted": "by the table" if corpus.table("counts") else "citations known here"}
    form = Citations(corpus, year)
    return TrainingSource(
        name=name, type="regression", format="regression", form=form, told=told, least=LEAST_DEV
    )


def _year(name: str, corpus: Corpus) -> TrainingSource:
    span = span_after(corpus.papers)
    if span is None:
        raise LackingError("papers of two years after 2005 at least are needed")
    year = corpus.year or most_cited_year(corpus.papers, corpus.counts)
    counted = LogCitations(year=year).sample(corpus.papers, corpus.counts) if year else ()
    labels = [float(example.answers[0]) for example in counted]
    factor = fmean(labels) if any(labels) else 1.0
    told = {"first": span[0], "last": span[1], "factor": factor}
    form = Years(corpus, *span, factor)
    return TrainingSource(
        name=name, type="regression", format="regression", form=form, told=told, least=LEAST_DEV
    )


def _search(name: str, corpus: Corpus) -> TrainingSource:
    corpus.need("clicks")
    return TrainingSource(
        name=name, type="ir", format="search", query="query", form=Clicks(corpus), least=LEAST_DEV
    )


KINDS: dict[str, Callable[[str, Corpus], TrainingSource]] = {
    "cite_context": _influential,
    "s2and": _same_author,
    "fos": _venue_fields,
    "cite_pred": _citation_count,
    "year_pred": _year,
    "mesh": _mesh,
    "specter": _citation_triplets,
    "search": _search,
}
"""Under the names that the published sources have, for the recipes read these."""
