"""Builders of SciRepEval's eight kinds of training data from user papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import fmean

from sciprism.datasets.open_data import Part
from sciprism.prepare.example_folder import MIN_DEV_EXAMPLES
from sciprism.prepare.open_builders import OpenPrepareContext
from sciprism.prepare.samplers.answers import (
    MAX_FIELDS,
    LogCitationSampler,
    ScaledYearSampler,
    SingleHeadingSampler,
    VenueFieldSampler,
    most_cited_year,
    most_frequent,
    single_qualified_descriptor,
    year_range_after,
)
from sciprism.prepare.samplers.links import CitationTripletSampler, SameAuthorSampler
from sciprism.prepare.samplers.scored_lists import InfluentialCitationSampler, ScoredListSampler
from sciprism.prepare.scirepeval.config import TYPES
from sciprism.prepare.scirepeval.source import SciRepEvalSource, SourceReport, count_lists
from sciprism.prepare.sources.user_corpus import MissingDataError, UserCorpus
from sciprism.registry import Registry
from sciprism.training.examples import Example, item_key

NO_NEGATIVE = "pair without a negative"


Sample = Callable[[OpenPrepareContext, Part, SourceReport], Iterator[Example]]


@dataclass(frozen=True, slots=True)
class UserExampleBuilder:
    """Builds examples from user papers. sample: yields the examples of one kind."""

    sample: Sample

    @property
    def data(self) -> str:
        """Return the name of the data in the record."""
        return "user papers"

    def examples(self, context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        """Yield the examples of one part; candidates of dev queries include train papers."""
        return self.sample(context, part, report)


source_builders: Registry[Callable[[str, UserCorpus], SciRepEvalSource]] = Registry("kind of source")
"""By the names of the published sources, which the recipes use."""


def build_user_sources(corpus: UserCorpus) -> tuple[list[SciRepEvalSource], dict[str, str]]:
    """Return the sources that can be built from a corpus, and the reason for each of the others."""
    sources, skipped = [], {}
    for name, build in source_builders.items():
        try:
            sources.append(build(name, corpus))
        except MissingDataError as reason:
            skipped[name] = str(reason)
    return sources, skipped


def split_pairs(examples: Iterable[Example], report: SourceReport) -> Iterator[Example]:
    """Yield an example of each positive with its negative; pairs without a negative are counted."""
    for example in examples:
        for positive, negative in zip(example.positives, example.negatives, strict=False):
            yield Example(example.query, (positive,), (negative,))
        for positive in example.positives[len(example.negatives) :]:
            report.dropped.add(NO_NEGATIVE, f"{item_key(example.query)}, {item_key(positive)}")


def _declare(name: str, type: str, sample: Sample) -> SciRepEvalSource:
    builder = UserExampleBuilder(sample)
    return SciRepEvalSource(
        name=name, type=type, format=TYPES[type], builder=builder, min_dev_examples=MIN_DEV_EXAMPLES
    )


@source_builders.register("cite_context")
def build_influential(name: str, corpus: UserCorpus) -> SciRepEvalSource:
    """Declare triplets of a cited paper, one that mentions it often, and one that mentions it rarely."""
    corpus.need_column("citations", "mentions")

    def sample(context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        sampler = InfluentialCitationSampler(max_queries=count_lists(context.max_queries), seed=context.seed)
        papers, queries = corpus.candidates(part), corpus.ids_of(part)
        return sampler.sample(papers, corpus.citations(), queries=queries, report=report)

    return _declare(name, "triplet", sample)


@source_builders.register("s2and")
def build_same_author(name: str, corpus: UserCorpus) -> SciRepEvalSource:
    """Declare triplets of a paper and another one by an author of it."""
    corpus.need("authors")

    def sample(context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        authors_of = corpus.authors()
        papers = []
        for paper in corpus.candidates(part):
            if paper.id in authors_of:
                papers.append(paper)
            elif corpus.part(paper.id) == part:
                report.dropped.add("no author", paper.id)
        sampler = SameAuthorSampler(max_queries=count_lists(context.max_queries), seed=context.seed)
        authors, queries = [authors_of[paper.id] for paper in papers], corpus.ids_of(part)
        found = sampler.sample(papers, authors, queries=queries, workers=context.workers, report=report)
        return split_pairs(found, report)

    return _declare(name, "triplet", sample)


@source_builders.register("fos")
def build_venue_fields(name: str, corpus: UserCorpus) -> SciRepEvalSource:
    """Declare papers with one to three fields of their venues."""
    corpus.need("venues")

    def sample(context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        sampler = VenueFieldSampler(max_papers=context.max_queries, seed=context.seed)
        return sampler.sample(corpus.papers_of(part), corpus.venues, report=report)

    few = (fields for fields in corpus.venues.values() if len({*fields}) <= MAX_FIELDS)
    labels = tuple(sorted({field for fields in few for field in fields}))
    return replace(_declare(name, "classification", sample), labels=labels, multi_label=True)


@source_builders.register("cite_pred")
def build_citation_count(name: str, corpus: UserCorpus) -> SciRepEvalSource:
    """Declare papers of one year with the logarithm of their number of citations."""
    year = corpus.year or most_cited_year(corpus.papers, corpus.counts)
    if year is None:
        raise MissingDataError("no cited paper has a year")

    def sample(context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        sampler = LogCitationSampler(year=year, max_papers=context.max_queries, seed=context.seed)
        return sampler.sample(corpus.papers_of(part), corpus.counts, report=report)

    facts = {"year": year, "counted": "by the table" if corpus.table("counts") else "citations known here"}
    return replace(_declare(name, "regression", sample), facts=facts)


@source_builders.register("year_pred")
def build_year(name: str, corpus: UserCorpus) -> SciRepEvalSource:
    """Declare papers with their publication year, scaled like the citation counts."""
    span = year_range_after(corpus.papers)
    if span is None:
        raise MissingDataError("papers of at least two years after 2005 are needed")
    year = corpus.year or most_cited_year(corpus.papers, corpus.counts)
    counted = LogCitationSampler(year=year).sample(corpus.papers, corpus.counts) if year else ()
    labels = [float(example.answers[0]) for example in counted]
    factor = fmean(labels) if any(labels) else 1.0
    whole = ScaledYearSampler(first=span[0], last=span[1], factor=factor)

    def sample(context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        sampler = replace(whole, max_papers=context.max_queries, seed=context.seed)
        return sampler.sample(corpus.papers_of(part), report=report)

    facts = {"first": span[0], "last": span[1], "factor": factor}
    return replace(_declare(name, "regression", sample), facts=facts)


@source_builders.register("mesh")
def build_mesh(name: str, corpus: UserCorpus) -> SciRepEvalSource:
    """Declare papers with their only qualified heading."""
    corpus.need("mesh")
    headings = (corpus.headings.get(paper.id, ()) for paper in corpus.papers)
    labels = most_frequent(map(single_qualified_descriptor, headings))

    def sample(context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        sampler = SingleHeadingSampler(descriptors=labels, max_papers=context.max_queries, seed=context.seed)
        return sampler.sample(corpus.papers_of(part), corpus.headings, report=report)

    return replace(_declare(name, "classification", sample), labels=labels)


@source_builders.register("specter")
def build_citation_triplets(name: str, corpus: UserCorpus) -> SciRepEvalSource:
    """Declare triplets of a paper and one that it cites; three of five negatives are easy, two hard."""
    if not any(paper.references for paper in corpus.papers):
        corpus.need("citations")

    def sample(context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        sampler = CitationTripletSampler(max_queries=count_lists(context.max_queries), seed=context.seed)
        papers, queries = corpus.candidates(part), corpus.ids_of(part)
        edges = ((citing, cited) for citing, cited, count in corpus.citations() if count)
        found = sampler.sample(papers, edges, queries=queries, workers=context.workers, report=report)
        return split_pairs(found, report)

    return _declare(name, "triplet", sample)


@source_builders.register("search")
def build_search(name: str, corpus: UserCorpus) -> SciRepEvalSource:
    """Declare triplets of a query, a clicked paper and one that was not clicked."""
    corpus.need("clicks")

    def sample(context: OpenPrepareContext, part: Part, report: SourceReport) -> Iterator[Example]:
        lists = corpus.clicks(part, report, count_lists(context.max_queries))
        return ScoredListSampler().sample(lists, report=report)

    return replace(_declare(name, "ir", sample), format="search", query="query")
