"""The samplers of triplets by name, each with its options."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sciprism.deprecation import current_names
from sciprism.errors import InputError
from sciprism.prepare.citations.corpus import CitationCorpus
from sciprism.prepare.citations.sources import CitationSources
from sciprism.prepare.graphs.citations import rows_of
from sciprism.prepare.graphs.embedding import embed_graph
from sciprism.prepare.samplers.sampling import QuerySample, SampleReport
from sciprism.prepare.samplers.scincl import SciNCLSampler
from sciprism.prepare.samplers.specter import CitationStrengths, SpecterTripletSampler, sample_triplets
from sciprism.registry import Registry

Samples = Iterator[tuple[int, QuerySample]]
GIVEN = "given"
"""The sampler that takes triplets of a table as they are, and the kind of their negatives."""
FORMER_OPTIONS = {"most": "max_queries"}


@dataclass(frozen=True, slots=True)
class SamplerInputs:
    """What a sampler works on besides the corpus.

    select: returns the (row, turn) of the queries among rows that have positives. report: counts its samples.
    """

    sources: CitationSources
    options: Mapping[str, Any]
    seed: int
    workers: int
    select: Callable[[Iterable[int]], list[tuple[int, int]]]
    report: SampleReport


@dataclass(frozen=True, slots=True)
class NamedSampler:
    """The names of a sampler's options, and its function, which yields (row, its sample) of a corpus."""

    options: tuple[str, ...]
    sample: Callable[[CitationCorpus, SamplerInputs], Samples]


samplers: Registry[NamedSampler] = Registry("sampler")


def parse_options(name: str, words: Iterable[str]) -> dict[str, Any]:
    """Return the options of a sampler from key=value words; a value is TOML, or else text.

    Raises InputError for an unknown key; the sampler itself checks the values.
    """
    known = samplers[name].options
    options: dict[str, Any] = {}
    for word in words:
        key, _, text = word.partition("=")
        if FORMER_OPTIONS.get(key, key) not in known:
            raise InputError(f"--set {word}: the sampler {name} has no {key!r}; known: {', '.join(known) or 'none'}")
        try:
            options[key] = tomllib.loads(f"v = {text}")["v"]
        except tomllib.TOMLDecodeError:
            options[key] = text
    return current_names(options, FORMER_OPTIONS, f"option of the sampler {name}")


def sample_specter(corpus: CitationCorpus, inputs: SamplerInputs) -> Samples:
    """Yield SPECTER's triplets of all papers that cite others, or have links of known strength."""
    table = inputs.sources.load_link_strengths(rows_of(corpus.names), inputs.report.dropped)
    rows = table.rows if table else np.flatnonzero(corpus.graph.cited.counts).tolist()
    strengths = table or CitationStrengths(corpus.graph)
    sampler = SpecterTripletSampler(names=corpus.names, strengths=strengths, seed=inputs.seed, **inputs.options)
    return sample_triplets(sampler, inputs.select(rows), workers=inputs.workers, report=inputs.report)


def sample_scincl(corpus: CitationCorpus, inputs: SamplerInputs) -> Samples:
    """Yield SciNCL's triplets of all papers that cite others."""
    sampler = SciNCLSampler(seed=inputs.seed, **inputs.options)
    vectors = embed_graph(corpus.graph, dim=sampler.dim, seed=inputs.seed)
    queries = inputs.select(np.flatnonzero(corpus.graph.cited.counts).tolist())
    return sampler.sample(corpus.names, vectors, queries, workers=inputs.workers, report=inputs.report)


def sample_given(corpus: CitationCorpus, inputs: SamplerInputs) -> Samples:
    """Yield the triplets of a table, those of a query together and once, however often it is repeated."""
    triplets = inputs.sources.load_triplets(rows_of(corpus.names), inputs.report.dropped)
    for row in dict.fromkeys(row for row, _ in inputs.select(sorted(triplets))):
        positives, negatives = zip(*triplets[row], strict=True)
        sample = QuerySample(positives, negatives, (GIVEN,) * len(positives))
        inputs.report.add(sample)
        yield row, sample


def _options(sampler: type[SpecterTripletSampler] | type[SciNCLSampler]) -> tuple[str, ...]:
    """Return the fields of a sampler that neither the corpus nor the command sets."""
    return tuple(each.name for each in fields(sampler) if each.name not in ("names", "strengths", "seed"))


samplers.register("specter")(NamedSampler(_options(SpecterTripletSampler), sample_specter))
samplers.register("scincl")(NamedSampler(_options(SciNCLSampler), sample_scincl))
samplers.register(GIVEN)(NamedSampler((), sample_given))
