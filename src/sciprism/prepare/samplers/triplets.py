"""Triplets of a citation corpus: by link strengths (SPECTER's code), or from a table; the registry of samplers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from random import Random

import numpy as np

from sciprism.errors import InputError
from sciprism.prepare.samplers.links import sample_outside
from sciprism.prepare.samplers.sampling import (
    NONE,
    RANDOM,
    QuerySample,
    SampleReport,
    check_numbers,
    sample_in_parallel,
    seeded_random,
)
from sciprism.prepare.sources.citation_corpus import (
    CitationCorpus,
    CitationSources,
    LinkStrengthTable,
    read_link_strengths,
    read_triplets,
)
from sciprism.prepare.sources.citation_graph import CitationGraph, rows_of
from sciprism.registry import Registry

Samples = Iterator[tuple[int, QuerySample]]


@dataclass(frozen=True, slots=True)
class SamplerInputs:
    """What a sampler works on besides the corpus.

    select: returns the (row, turn) of the queries among rows that have positives. report: counts its samples.
    """

    sources: CitationSources
    workers: int
    select: Callable[[Iterable[int]], list[tuple[int, int]]]
    report: SampleReport


@dataclass(frozen=True, slots=True, kw_only=True)
class TripletSampler:
    """Base of the samplers. Fields besides the seed are settings, which `--set NAME=VALUE` changes."""

    seed: int = 0

    @classmethod
    def settings(cls) -> dict[str, object]:
        """Return the names and the defaults of the settings."""
        return {setting.name: setting.default for setting in fields(cls) if setting.name != "seed"}

    def sample(self, corpus: CitationCorpus, inputs: SamplerInputs) -> Samples:
        """Yield (row, its sample) of the queries of a corpus; count them in the report."""
        raise NotImplementedError


samplers: Registry[type[TripletSampler]] = Registry("sampler")

WEAKER_LINK = "tied more weakly"  # the kind of a hard negative; it is part of the files of triplets, so it stays
NO_STRENGTH = "query whose links have no strength"

LinkStrengths = Callable[[int], Mapping[int, float]]  # returns the papers linked to a paper, and how strongly


@dataclass(frozen=True, slots=True)
class CitationStrengths:
    """Links of strength 5 to the papers that a paper cites, and of strength 1 to those that they cite."""

    graph: CitationGraph

    def __call__(self, row: int) -> dict[int, float]:
        """Return row -> strength."""
        second: dict[int, float] = dict.fromkeys(sorted(self.graph.two_steps_away(row) - {row}), 1)
        return second | dict.fromkeys(self.graph.targets(row), 5)


@samplers.register("specter")
@dataclass(frozen=True, slots=True, kw_only=True)
class SpecterTripletSampler(TripletSampler):
    """Sample triplets for a paper by the strengths of its links, with replacement.

    triplets: of a query. hard_share: of them, rounded up; their negative is linked too,
    but weaker by more than the margin. margin: a share of the range of the strengths; 1 if they are integers
    1 apart. The other negatives are not linked. If no link is stronger than the others, as when cited papers
    cite nothing, all linked papers are positives: the published code gives such papers no triplet.
    """

    triplets: int = 5
    hard_share: float = 0.3
    margin: float = 0.5

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.triplets < 1 or not 0 <= self.hard_share <= 1 or not 0 <= self.margin < 1:
            raise InputError(
                f"{self.triplets} triplets, {self.hard_share} of them hard, margin {self.margin}: at least 1 "
                "triplet, a share from 0 to 1 and a margin from 0 to less than 1 are needed"
            )

    def sample(self, corpus: CitationCorpus, inputs: SamplerInputs) -> Samples:
        """Yield the triplets of all papers that cite others, or have links of known strength."""
        strengths: LinkStrengths = CitationStrengths(corpus.graph)
        rows = np.flatnonzero(corpus.graph.cited.counts).tolist()
        if path := inputs.sources.link_strengths:
            row_of, dropped = rows_of(corpus.names), inputs.report.dropped
            table = LinkStrengthTable(read_link_strengths(inputs.sources.data_root, path, row_of, dropped))
            strengths, rows = table, table.rows
        queries = inputs.select(rows)
        samples = sample_in_parallel(partial(self.sample_query, corpus.names, strengths), queries, inputs.workers)
        for (row, _), sample in zip(queries, samples, strict=True):
            if inputs.report.add(sample):
                yield row, sample

    def sample_query(self, names: Sequence[str], strengths: LinkStrengths, query: tuple[int, int]) -> QuerySample:
        """Return the sample of a (row, turn); it depends on the row's name, the turn and the seed alone."""
        row, turn = query
        links = {other: strength for other, strength in strengths(row).items() if strength > 0}
        if not links:
            return QuerySample(dropped=((NO_STRENGTH, names[row]),))
        random = seeded_random(self.seed, names[row], turn)
        low, high = min(links.values()), max(links.values())
        whole = all(float(strength).is_integer() for strength in links.values())
        margin = 1.0 if whole and high - low == 1 else self.margin * (high - low)
        strong = [other for other in links if links[other] > low + margin] or [
            other for other in links if links[other] == high
        ]
        weak = [other for other in links if links[other] < high - margin]
        hard = min(math.ceil(self.hard_share * self.triplets), len(strong) * len(weak))
        triplets = []
        for _ in range(hard):
            negative = random.choice(weak)
            stronger = [other for other in links if links[other] > links[negative] + margin]
            triplets.append((random.choice(stronger), negative, WEAKER_LINK))
        excluded = {row, *links}
        for _ in range(self.triplets - hard):
            others = _sample_unlinked(random, len(names), excluded)
            triplets += [(random.choice(strong), other, RANDOM) for other in others]
        if not triplets:  # linked to all papers
            return QuerySample((random.choice(strong),), (), (NONE,))
        return QuerySample(*zip(*triplets, strict=True))


def _sample_unlinked(random: Random, size: int, excluded: set[int]) -> list[int]:
    """Sample a row that is not excluded; none if all are."""
    if 2 * len(excluded) > size:
        return sample_outside(random, size, excluded, 1)
    while (row := random.randrange(size)) in excluded:
        pass
    return [row]


GIVEN = "given"  # its name, and the kind of its negatives


@samplers.register(GIVEN)
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
