"""Triplets that were sampled elsewhere, such as SciNCL's train_triples.csv."""

from __future__ import annotations

from dataclasses import dataclass

from sciprism.errors import InputError
from sciprism.prepare.citations.corpus import CitationCorpus
from sciprism.prepare.citations.published import read_triplets
from sciprism.prepare.citations.triplet_sampler import SamplerInputs, Samples, TripletSampler
from sciprism.prepare.graphs.citations import rows_of
from sciprism.prepare.samplers.sampling import QuerySample

GIVEN = "given"
"""Its name, and the kind of its negatives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTripletSampler(TripletSampler):
    """Take the triplets of a table as they are."""

    def sample(self, corpus: CitationCorpus, inputs: SamplerInputs) -> Samples:
        """Yield the triplets of a query together and once, however often it is repeated."""
        sources = inputs.sources
        if sources.triplets is None:
            raise InputError("the sampler given takes the triplets of a table; name it with --triplets")
        triplets = read_triplets(sources.data_root, sources.triplets, rows_of(corpus.names), inputs.report.dropped)
        for row in dict.fromkeys(row for row, _ in inputs.select(sorted(triplets))):
            positives, negatives = zip(*triplets[row], strict=True)
            sample = QuerySample(positives, negatives, (GIVEN,) * len(positives))
            inputs.report.add(sample)
            yield row, sample
