"""Triplets from the neighbours of a paper in a citation graph's embedding (SciNCL, section 3)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import model_validator

from sciprism.errors import InputError
from sciprism.parallel import count_threads, map_threads
from sciprism.prepare.preparation import Count, DevShare, Positive, Settings, Share
from sciprism.prepare.samplers.examples import NO_LINK, sample_outside
from sciprism.prepare.samplers.sampling import (
    NONE,
    RANDOM,
    QuerySample,
    SampleReport,
    Sampling,
    sample_in_parallel,
    seeded_random,
)
from sciprism.prepare.sources.citation_corpus import (
    Adjacency,
    CitationCorpus,
    CitationGraph,
    CitationSources,
    Rows,
    read_link_strengths,
    read_triplets,
    rows_of,
)
from sciprism.registry import Registry

if TYPE_CHECKING:
    from torch import Tensor


Samples = Iterator[tuple[int, QuerySample]]


@dataclass(frozen=True, slots=True)
class SamplerInputs:
    """What a sampler works on besides the corpus.

    select: returns the (row, turn) of the queries among rows that have positives. report: counts its samples.
    """

    sources: CitationSources
    select: Callable[[Iterable[int]], list[tuple[int, int]]]
    report: SampleReport


class TripletSampler(Settings):
    """Base of the samplers. Its fields are settings, which `--set NAME=VALUE` changes."""

    seed: int = 0

    def sample(self, corpus: CitationCorpus, inputs: SamplerInputs) -> Samples:
        """Yield (row, its sample) of the queries of a corpus; count them in the report."""
        raise NotImplementedError


samplers: Registry[type[TripletSampler]] = Registry("sampler")

WEAKER_LINK = "tied more weakly"  # the kind of a hard negative; it is part of the files of triplets, so it stays
NO_STRENGTH = "query whose links have no strength"

LinkStrengths = Callable[[int], Mapping[int, float]]  # returns the papers linked to a paper, and how strongly


def citation_strengths(graph: CitationGraph, row: int) -> dict[int, float]:
    """Return links of strength 5 to the papers that a paper cites, and of strength 1 to those that they cite."""
    second: dict[int, float] = dict.fromkeys(sorted(graph.two_steps_away(row) - {row}), 1)
    return second | dict.fromkeys(graph.targets(row), 5)


def given_strengths(links: Mapping[int, tuple[Rows, NDArray[np.float32]]], row: int) -> dict[int, float]:
    """Return links of known strength, such as how often two papers are viewed together."""
    return dict(zip(*(part.tolist() for part in links[row]), strict=True))


@samplers.register("specter")
class SpecterTripletSampler(TripletSampler):
    """Sample triplets for a paper by the strengths of its links, with replacement.

    triplets: of a query. hard_share: of them, rounded up; their negative is linked too,
    but weaker by more than the margin. margin: a share of the range of the strengths; 1 if they are integers
    1 apart. The other negatives are not linked. If no link is stronger than the others, as when cited papers
    cite nothing, all linked papers are positives: the published code gives such papers no triplet.
    """

    triplets: Positive = 5
    hard_share: Share = 0.3
    margin: DevShare = 0.5

    def sample(self, corpus: CitationCorpus, inputs: SamplerInputs) -> Samples:
        """Yield the triplets of all papers that cite others, or have links of known strength."""
        strengths: LinkStrengths = partial(citation_strengths, corpus.graph)
        rows = np.flatnonzero(corpus.graph.cited.counts).tolist()
        if path := inputs.sources.link_strengths:
            found = read_link_strengths(inputs.sources.data_root, path, rows_of(corpus.names), inputs.report.dropped)
            links = {row: (np.array([*of], np.int32), np.array([*of.values()], np.float32)) for row, of in found}
            strengths, rows = partial(given_strengths, links), sorted(links)
        queries = inputs.select(rows)
        samples = sample_in_parallel(partial(self.sample_query, corpus.names, strengths), queries)
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


FAR = "neighbour of a far rank"
NO_EASY = "too few papers beyond the neighbours"
TRIES = 50  # random tries for an easy negative before all possible ones are listed


@samplers.register("scincl")
class SciNCLSampler(TripletSampler):
    """Sample, for each paper, near neighbours as positives, far neighbours and other papers as negatives.

    triplets: of one query; hard: of them with a far neighbour as negative. near, far: ranks at which the
    bands of positives and of hard negatives end (k+ and k-): numbers, or shares of the papers that have
    neighbours; a band has as many ranks as triplets need. easy_from: where the easy negatives come from, none of
    which is among the first `far` neighbours; the published code took them from the queries. max_queries: 0 for all.
    dim: of the graph's embedding.
    """

    triplets: Positive = 5
    hard: Count = 2
    near: int | float = 25
    far: int | float = 4000
    easy_from: Literal["corpus", "queries"] = "corpus"
    max_queries: Count = 0
    dim: Positive = 512

    @model_validator(mode="after")
    def _check(self) -> SciNCLSampler:
        if self.hard > self.triplets:
            raise ValueError(f"{self.triplets} triplets, {self.hard} of them hard: at most all of them can be hard")
        return self

    def bands(self, corpus: int) -> tuple[range, range]:
        """Return the ranks, from 0, of the positives and of the hard negatives among `corpus` papers.

        Raises InputError if a band begins before rank 0 or ends beyond the graph, or if the bands overlap.
        """
        near = _band("near", self.near, self.triplets, corpus)
        far = _band("far", self.far, self.hard, corpus)
        if far.start < near.stop:
            raise InputError(
                f"the far band, ranks {far.start} to {far.stop}, begins before the near band ends at "
                f"{near.stop}, in a graph of {corpus} papers with citations; set far higher or near lower"
            )
        return near, far

    def sample(self, corpus: CitationCorpus, inputs: SamplerInputs) -> Samples:
        """Yield the triplets of all papers that cite others."""
        vectors = embed_graph(corpus.graph, dim=self.dim, seed=self.seed)
        queries = inputs.select(np.flatnonzero(corpus.graph.cited.counts).tolist())
        return self.sample_neighbours(corpus.names, vectors, queries, report=inputs.report)

    def sample_neighbours(
        self,
        names: Sequence[str],
        vectors: NDArray[np.float32],
        queries: Iterable[tuple[int, int]],
        *,
        report: SampleReport,
    ) -> Samples:
        """Yield the sample of each query, as rows of names, in the order of the rows.

        vectors: (names, dim), as of `embed_graph`. queries: (row, turn); those without a vector are dropped.
        Another turn gives other easy negatives. The triplets are zipped as published: the nearest positives meet
        easy negatives, the last ones hard negatives.
        """
        rows = rows_with_vectors(vectors)
        near, far = self.bands(len(rows))
        with_vectors = {*rows.tolist()}
        turns: dict[int, list[int]] = defaultdict(list)
        for row, turn in sorted(queries):
            if row in with_vectors:
                turns[row].append(turn)
            else:
                report.dropped.add(NO_LINK, names[row])
        sampling = Sampling(limit=self.max_queries, seed=self.seed, report=report)
        query_rows = np.array(sampling.select(names, turns), np.int32)
        pool = query_rows if self.easy_from == "queries" else np.arange(len(names), dtype=np.int32)
        ranks = nearest_neighbours(vectors, query_rows, far.stop)
        for row, ranked in zip(query_rows.tolist(), ranks, strict=True):
            for turn in turns[row]:
                sample = self._sample(names, (row, turn), ranked, (near, far), pool)
                if report.add(sample):
                    yield row, sample

    def _sample(
        self, names: Sequence[str], query: tuple[int, int], ranked: Rows, bands: tuple[range, range], pool: Rows
    ) -> QuerySample:
        row, turn = query
        random = seeded_random(self.seed, names[row], turn)
        positives, hard = (ranked[list(band)].tolist() for band in bands)
        easy = _sample_others(random, pool, {row, *ranked.tolist()}, self.triplets - self.hard)
        if len(easy) < self.triplets - self.hard:
            return QuerySample(dropped=((NO_EASY, names[row]),))
        return QuerySample(tuple(positives), (*easy, *hard), (*[RANDOM] * len(easy), *[FAR] * len(hard)))


def _band(name: str, end: int | float, width: int, corpus: int) -> range:
    stop = round(end * corpus) if isinstance(end, float) and end < 1 else int(end)
    if stop < max(1, width) or stop > corpus - 1 or (end > 1 and stop != end):
        raise InputError(
            f"{name} {end}: a band of {width} ranks that ends at rank {stop} does not fit a graph of "
            f"{corpus} papers with citations, where a paper has {max(0, corpus - 1)} neighbours; set {name} "
            f"to a number between {max(1, width)} and {max(0, corpus - 1)}, or to a share of the papers"
        )
    return range(stop - width, stop)


def _sample_others(random: Random, pool: Rows, excluded: set[int], count: int) -> list[int]:
    """Sample `count` different rows of the pool that are not excluded; fewer if there are not enough."""
    others: list[int] = []
    for _ in range(TRIES * count):
        if len(others) == count:
            return others
        other = int(pool[random.randrange(len(pool))])
        if other not in excluded and other not in others:
            others.append(other)
    left = [other for other in pool.tolist() if other not in excluded and other not in others]
    return others + random.sample(left, min(count - len(others), len(left)))


BLOCK = 1 << 14  # rows that one core processes at a time
ROUNDING = 1e-6  # share of the largest eigenvalue below which a direction is a rounding error


def embed_graph(graph: CitationGraph, *, dim: int = 512, seed: int = 0) -> NDArray[np.float32]:
    """Return a unit vector of each paper, (size, dim), to compare papers by cosine (the dot product).

    Citations count in both directions. Random columns are multiplied by D^-1/2 A D^-1/2 and orthonormalized,
    several times: a basis of its main directions with equal weights (the range finder of randomized SVD;
    Halko et al. 2011). The steps are log10 of the size, since larger graphs need more (found on held-out
    citations). Then each row is averaged with the mean of its neighbours. A paper without
    citations has a zero vector; columns beyond the rank of a small graph are zero. The same seed gives the
    same bytes with any number of threads.
    """
    import torch

    degrees = torch.from_numpy(graph.cited.counts + graph.citing.counts).float()[:, None]
    inverse = torch.where(degrees > 0, 1 / degrees, 0)
    root = inverse.sqrt()
    start = np.random.default_rng(seed).standard_normal((graph.size, dim), np.float32)
    vectors = torch.from_numpy(start).mul_(root)
    for _ in range(max(2, round(math.log10(max(1, graph.size))))):
        vectors = _orthonormalize(_sum_neighbours(graph, vectors).mul_(root)).mul_(root)
    _to_unit(vectors)
    around = _sum_neighbours(graph, vectors)
    _to_unit(around)
    vectors.mul_(0.5).add_(around)
    _to_unit(vectors)
    return np.asarray(vectors)


def _sum_neighbours(graph: CitationGraph, vectors: Tensor) -> Tensor:
    import torch

    sums = torch.empty_like(vectors)

    def work(start: int) -> None:
        end = min(start + BLOCK, graph.size)
        sums[start:end] = _sum(graph.cited, vectors, start, end) + _sum(graph.citing, vectors, start, end)

    map_threads(work, range(0, graph.size, BLOCK))
    return sums


def _sum(links: Adjacency, vectors: Tensor, start: int, end: int) -> Tensor:
    """Return the sums of the vectors linked to rows start to end; four times as fast as a sparse product."""
    import torch
    from torch.nn.functional import embedding_bag

    bounds = links.bounds[start : end + 1]
    others = torch.from_numpy(links.others[bounds[0] : bounds[-1]])
    begins = torch.from_numpy((bounds[:-1] - bounds[0]).astype(np.int32))
    return embedding_bag(others, vectors, begins, mode="sum")


def _orthonormalize(vectors: Tensor) -> Tensor:
    """Make the columns an orthonormal basis of their span, in place; surplus columns become zero."""
    import torch

    def gram(start: int) -> Tensor:
        rows = vectors[start : start + BLOCK]
        return (rows.T @ rows).double()

    def turn(start: int) -> None:
        vectors[start : start + BLOCK] = vectors[start : start + BLOCK] @ axes

    starts = range(0, len(vectors), BLOCK)
    total: Any = sum(map_threads(gram, starts), start=torch.zeros(()).double())
    if not total.ndim:
        return vectors
    values, axes = map_threads(torch.linalg.eigh, [total])[0]
    good = values > ROUNDING * values[-1].clamp(min=1e-30)
    axes = (axes * torch.where(good, values, 1).rsqrt() * good).float()
    map_threads(turn, starts)
    return vectors


def _to_unit(vectors: Tensor) -> None:
    for start in range(0, len(vectors), BLOCK):
        rows = vectors[start : start + BLOCK]
        rows /= rows.norm(dim=1, keepdim=True).clamp(min=1e-30)


QUERY_BLOCK = 32  # queries whose scores one worker holds at a time: 128 MB with a million papers


def rows_with_vectors(vectors: NDArray[np.float32]) -> Rows:
    """Return the rows with a nonzero vector; the others have no neighbours and are none."""
    return np.flatnonzero(vectors.any(axis=1)).astype(np.int32)


def nearest_neighbours(vectors: NDArray[np.float32], queries: Rows, count: int) -> Iterator[Rows]:
    """Yield the rows of the `count` nearest neighbours of each query row, nearest first, (count,).

    vectors: (n, dim), unit or zero. Rows with equal scores come in ascending order; a row is not its own
    neighbour. Any number of threads gives the same bytes. Every query has a vector, and there are more than
    `count` of these.
    """
    import torch

    others = rows_with_vectors(vectors)
    candidates = torch.from_numpy(vectors if len(others) == len(vectors) else vectors[others])
    blocks = [np.searchsorted(others, queries[n : n + QUERY_BLOCK]) for n in range(0, len(queries), QUERY_BLOCK)]
    for start in range(0, len(blocks), step := 4 * count_threads()):
        for rows in map_threads(partial(_nearest, candidates, count=count), blocks[start : start + step]):
            yield from (others[near] for near in rows)


def _nearest(candidates: Tensor, positions: NDArray[np.int64], count: int) -> list[Rows]:
    import torch

    neighbours = []
    filled = np.resize(positions, QUERY_BLOCK)  # products of one shape: a score has the same bits in every block
    for position, scores in zip(positions.tolist(), candidates[filled] @ candidates.T, strict=False):
        scores[position] = -torch.inf
        lowest = torch.topk(scores, count, sorted=False).values.min()
        near = torch.nonzero(scores >= lowest)[:, 0]  # ascending: equal scores stay in the order of the rows
        order = torch.sort(scores[near], descending=True, stable=True).indices[:count]
        neighbours.append(near[order].numpy())
    return neighbours
