"""SciRepEval's eight kinds of training data from user papers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from statistics import fmean
from typing import Any

from sciprism.datasets.open_data import Part
from sciprism.prepare.example_folder import MIN_DEV_EXAMPLES, Build, TrainingSource
from sciprism.prepare.samplers.answers import (
    MAX_FIELDS,
    most_cited_year,
    most_frequent,
    sample_log_citations,
    sample_scaled_years,
    sample_single_headings,
    sample_venue_fields,
    single_qualified_descriptor,
    year_range_after,
)
from sciprism.prepare.samplers.links import sample_citation_triplets, sample_same_author
from sciprism.prepare.samplers.sampling import Sampling
from sciprism.prepare.samplers.scored_lists import limit_lists, sample_influential_citations, sample_scored_triplets
from sciprism.prepare.scirepeval.config import TYPES
from sciprism.prepare.sources.user_corpus import MissingDataError, UserCorpus
from sciprism.registry import Registry
from sciprism.training.examples import Example, item_key

NO_NEGATIVE = "pair without a negative"

source_builders: Registry[Callable[[str, UserCorpus], TrainingSource]] = Registry("kind of source")
"""By the names of the published sources, which the recipes use."""


def build_user_sources(corpus: UserCorpus) -> tuple[list[TrainingSource], dict[str, str]]:
    """Return the sources that can be built from a corpus, and the reason for each of the others.

    Candidates of dev queries include train papers.
    """
    sources, skipped = [], {}
    for name, declare in source_builders.items():
        try:
            sources.append(declare(name, corpus))
        except MissingDataError as reason:
            skipped[name] = str(reason)
    return sources, skipped


def split_pairs(examples: Iterable[Example], sampling: Sampling) -> Iterator[Example]:
    """Yield an example of each positive with its negative; pairs without a negative are counted."""
    for example in examples:
        for positive, negative in zip(example.positives, example.negatives, strict=False):
            yield Example(example.query, (positive,), (negative,))
        for positive in example.positives[len(example.negatives) :]:
            sampling.drop(NO_NEGATIVE, f"{item_key(example.query)}, {item_key(positive)}")


def _declare(name: str, type: str, build: Build, **more: Any) -> TrainingSource:
    declaration = {"format": TYPES[type], "data": "user papers", "min_dev_examples": MIN_DEV_EXAMPLES}
    return TrainingSource(name=name, type=type, build=build, **declaration | more)


@source_builders.register("cite_context")
def declare_influential(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a cited paper, one that mentions it often, and one that mentions it rarely."""
    corpus.need_column("citations", "mentions")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        papers, queries = corpus.candidates(part), corpus.ids_of(part)
        return sample_influential_citations(papers, corpus.citations(), limit_lists(sampling), queries=queries)

    return _declare(name, "triplet", build)


@source_builders.register("s2and")
def declare_same_author(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a paper and another one by an author of it."""
    corpus.need("authors")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        authors_of = corpus.authors()
        papers = []
        for paper in corpus.candidates(part):
            if paper.id in authors_of:
                papers.append(paper)
            elif corpus.part(paper.id) == part:
                sampling.drop("no author", paper.id)
        authors, queries = [authors_of[paper.id] for paper in papers], corpus.ids_of(part)
        return split_pairs(sample_same_author(papers, authors, limit_lists(sampling), queries=queries), sampling)

    return _declare(name, "triplet", build)


@source_builders.register("fos")
def declare_venue_fields(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers with one to three fields of their venues."""
    corpus.need("venues")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return sample_venue_fields(corpus.papers_of(part), corpus.venues, sampling)

    few = (fields for fields in corpus.venues.values() if len({*fields}) <= MAX_FIELDS)
    labels = tuple(sorted({field for fields in few for field in fields}))
    return _declare(name, "classification", build, labels=labels, multi_label=True)


@source_builders.register("cite_pred")
def declare_citation_count(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers of one year with the logarithm of their number of citations."""
    year = corpus.year or most_cited_year(corpus.papers, corpus.counts)
    if year is None:
        raise MissingDataError("no cited paper has a year")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return sample_log_citations(corpus.papers_of(part), corpus.counts, sampling, year=year)

    facts = {"year": year, "counted": "by the table" if corpus.table("counts") else "citations known here"}
    return _declare(name, "regression", build, facts=facts)


@source_builders.register("year_pred")
def declare_year(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers with their publication year, scaled like the citation counts."""
    span = year_range_after(corpus.papers)
    if span is None:
        raise MissingDataError("papers of at least two years after 2005 are needed")
    year = corpus.year or most_cited_year(corpus.papers, corpus.counts)
    counted = sample_log_citations(corpus.papers, corpus.counts, Sampling(), year=year) if year else ()
    labels = [float(example.answers[0]) for example in counted]
    factor = fmean(labels) if any(labels) else 1.0
    scale = partial(sample_scaled_years, first=span[0], last=span[1], factor=factor)

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return scale(corpus.papers_of(part), sampling)

    return _declare(name, "regression", build, facts={"first": span[0], "last": span[1], "factor": factor})


@source_builders.register("mesh")
def declare_mesh(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare papers with their only qualified heading."""
    corpus.need("mesh")
    headings = (corpus.headings.get(paper.id, ()) for paper in corpus.papers)
    labels = most_frequent(map(single_qualified_descriptor, headings))

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return sample_single_headings(corpus.papers_of(part), corpus.headings, sampling, descriptors=labels)

    return _declare(name, "classification", build, labels=labels)


@source_builders.register("specter")
def declare_citation_triplets(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a paper and one that it cites; three of five negatives are easy, two hard."""
    if not any(paper.references for paper in corpus.papers):
        corpus.need("citations")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        papers, queries = corpus.candidates(part), corpus.ids_of(part)
        edges = ((citing, cited) for citing, cited, count in corpus.citations() if count)
        return split_pairs(sample_citation_triplets(papers, edges, limit_lists(sampling), queries=queries), sampling)

    return _declare(name, "triplet", build)


@source_builders.register("search")
def declare_search(name: str, corpus: UserCorpus) -> TrainingSource:
    """Declare triplets of a query, a clicked paper and one that was not clicked."""
    corpus.need("clicks")

    def build(part: Part, sampling: Sampling) -> Iterator[Example]:
        return sample_scored_triplets(corpus.clicks(part, limit_lists(sampling)), sampling)

    return _declare(name, "ir", build, format="search", query="query")
