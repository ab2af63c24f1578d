"""Triplets from the neighbours of a paper in a citation graph's embedding (SciNCL, section 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.prepare.samplers.graph_embedding import embed_graph, nearest_neighbours, rows_with_vectors
from sciprism.prepare.samplers.links import NO_LINK
from sciprism.prepare.samplers.sampling import RANDOM, QuerySample, SampleReport, Sampling, check_numbers, seeded_random
from sciprism.prepare.samplers.triplets import SamplerInputs, Samples, TripletSampler, samplers
from sciprism.prepare.sources.citation_corpus import CitationCorpus
from sciprism.prepare.sources.citation_graph import Rows

FAR = "neighbour of a far rank"
NO_EASY = "too few papers beyond the neighbours"
TRIES = 50  # random tries for an easy negative before all possible ones are listed


@samplers.register("scincl")
@dataclass(frozen=True, slots=True, kw_only=True)
class SciNCLSampler(TripletSampler):
    """Sample, for each paper, near neighbours as positives, far neighbours and other papers as negatives.

    triplets: of one query; hard: of them with a far neighbour as negative. near, far: ranks at which the
    bands of positives and of hard negatives end (k+ and k-): numbers, or shares of the papers that have
    neighbours. near_width, far_width: ranks in a band, 0 for as many as are sampled. easy_from: where the
    easy negatives come from, none of which is among the first `far` neighbours; the published code took them
    from the queries. max_queries: 0 for all. dim: of the graph's embedding.
    """

    triplets: int = 5
    hard: int = 2
    near: int | float = 25
    far: int | float = 4000
    near_width: int = 0
    far_width: int = 0
    easy_from: Literal["corpus", "queries"] = "corpus"
    max_queries: int = 0
    dim: int = 512

    def __post_init__(self) -> None:
        check_numbers(self)
        if self.hard > self.triplets or self.triplets < 1:
            raise InputError(
                f"{self.triplets} triplets, {self.hard} of them hard: at least 1 triplet is needed, and "
                "at most all of them hard"
            )
        if self.easy_from not in ("corpus", "queries"):
            raise InputError(f"easy negatives from {self.easy_from!r}; known: corpus, queries")
        for name, width, count in (("near", self.near_width, self.triplets), ("far", self.far_width, self.hard)):
            if width and width < count:
                raise InputError(
                    f"{name}_width {width} is narrower than the {count} ranks sampled from it; give 0 or at "
                    f"least {count}"
                )

    def bands(self, corpus: int) -> tuple[range, range]:
        """Return the ranks, from 0, of the positives and of the hard negatives among `corpus` papers.

        Raises InputError if a band begins before rank 0 or ends beyond the graph, or if the bands overlap.
        """
        near = _band("near", self.near, self.near_width or self.triplets, corpus)
        far = _band("far", self.far, self.far_width or self.hard, corpus)
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
        return self.sample_neighbours(corpus.names, vectors, queries, workers=inputs.workers, report=inputs.report)

    def sample_neighbours(
        self,
        names: Sequence[str],
        vectors: NDArray[np.float32],
        queries: Iterable[tuple[int, int]],
        *,
        workers: int = 1,
        report: SampleReport,
    ) -> Samples:
        """Yield the sample of each query, as rows of names, in the order of the rows.

        vectors: (names, dim), as of `embed_graph`. queries: (row, turn); those without a vector are dropped.
        Another turn gives another sample, as far as the bands are wider than what is sampled from them. The
        triplets are zipped as published: the nearest positives meet easy negatives, the last ones hard
        negatives. workers: threads; any number gives the same samples.
        """
        rows = rows_with_vectors(vectors)
        near, far = self.bands(len(rows))
        turns = self._turns(names, rows, queries, report)
        query_rows = np.array([*turns], np.int32)
        pool = query_rows if self.easy_from == "queries" else np.arange(len(names), dtype=np.int32)
        ranks = nearest_neighbours(vectors, query_rows, far.stop, workers=workers)
        for (row, row_turns), ranked in zip(turns.items(), ranks, strict=True):
            for turn in row_turns:
                sample = self._sample(names, (row, turn), ranked, (near, far), pool)
                if report.add(sample):
                    yield row, sample

    def _turns(
        self, names: Sequence[str], rows: Rows, queries: Iterable[tuple[int, int]], report: SampleReport
    ) -> dict[int, list[int]]:
        """Return row -> its turns, rows ascending, of the queries that have a vector."""
        with_vectors = {*rows.tolist()}
        turns: dict[int, list[int]] = defaultdict(list)
        for row, turn in sorted(queries):
            if row in with_vectors:
                turns[row].append(turn)
            else:
                report.dropped.add(NO_LINK, names[row])
        sampling = Sampling(limit=self.max_queries, seed=self.seed, report=report)
        return {row: turns[row] for row in sampling.select(names, turns)}

    def _sample(
        self, names: Sequence[str], query: tuple[int, int], ranked: Rows, bands: tuple[range, range], pool: Rows
    ) -> QuerySample:
        row, turn = query
        random = seeded_random(self.seed, names[row], turn)
        near, far = bands
        positives = ranked[_sample_ranks(random, near, self.triplets)].tolist()
        hard = ranked[_sample_ranks(random, far, self.hard)].tolist()
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


def _sample_ranks(random: Random, band: range, count: int) -> list[int]:
    """Sample ranks of a band, ascending; all of them if it is no wider."""
    return list(band) if len(band) == count else sorted(random.sample(band, count))


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
