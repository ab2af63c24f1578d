"""The samplers of triplets by name, each with its options."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from inspect import signature
from typing import Any, Literal, Protocol

import numpy as np

from sciprism.errors import InputError
from sciprism.registry import Registry
from sciprism.tasks.citation_files.corpus import Corpus
from sciprism.tasks.citation_files.sources import Papers
from sciprism.training.graphs.citations import rows_of
from sciprism.training.graphs.embedding import embed_graph
from sciprism.training.samplers.drawing import Draw, Sampled
from sciprism.training.samplers.scincl import SciNCL
from sciprism.training.samplers.specter import CitationTies, SpecterTriplets, draws

Queries = Callable[[Iterable[int]], list[tuple[int, int]]]
"""Chooses (row, turn) of those that can be asked about."""
Drawn = Iterator[tuple[int, Draw]]
ASKED_AGAIN = "asked again, which this sampler does not"


class Samples(Protocol):
    """Draw triplets of a corpus."""

    def __call__(self, corpus: Corpus, queries: Queries, *, workers: int, report: Sampled) -> Drawn:
        """Yield (row, what was drawn for it)."""
        ...


samplers: Registry[Callable[..., Samples]] = Registry("sampler")


def options_of(name: str, words: Iterable[str]) -> dict[str, Any]:
    """Read key=value as options of a sampler. Raises InputError that names the known keys."""
    made = samplers[name]
    known = [key for key in signature(made).parameters if key not in ("papers", "seed")]
    options: dict[str, Any] = {}
    for word in words:
        key, _, text = word.partition("=")
        if key not in known:
            raise InputError(f"--set {word}: the sampler {name} has no {key!r}; known: {', '.join(known)}")
        try:
            options[key] = tomllib.loads(f"v = {text}")["v"]
        except tomllib.TOMLDecodeError:
            raise InputError(f"--set {word}: {text!r} is no number") from None
    return options


@samplers.register("specter")
@dataclass(frozen=True, slots=True, kw_only=True)
class Specter:
    """SPECTER's: cited papers against papers that those cite, and against any; options as there."""

    papers: Papers
    seed: int
    triplets: int = 5
    hard_share: float = 0.3
    margin: float = 0.5

    def __call__(self, corpus: Corpus, queries: Queries, *, workers: int, report: Sampled) -> Drawn:
        """Yield the triplets of all papers that cite others, or are tied to others."""
        given = self.papers.given(rows_of(corpus.names), report.dropped)
        able = given.rows if given else np.flatnonzero(corpus.graph.cited.counts).tolist()
        draw = SpecterTriplets(
            names=corpus.names,
            ties=given or CitationTies(corpus.graph),
            triplets=self.triplets,
            hard_share=self.hard_share,
            margin=self.margin,
            seed=self.seed,
        )
        return draws(draw, queries(able), workers=workers, report=report)


@samplers.register("scincl")
@dataclass(frozen=True, slots=True, kw_only=True)
class FromNeighbours:
    """SciNCL's: near neighbours in the embedding of the citation graph against far ones and any; as there."""

    papers: Papers
    seed: int
    triplets: int = 5
    hard: int = 2
    near: float = 25
    far: float = 4000
    near_width: int = 0
    far_width: int = 0
    easy_from: Literal["corpus", "queries"] = "corpus"
    dim: int = 512

    def __call__(self, corpus: Corpus, queries: Queries, *, workers: int, report: Sampled) -> Drawn:
        """Yield the triplets of all papers that cite others; one is asked about once."""
        options = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("papers", "dim")}
        vectors = embed_graph(corpus.graph, dim=self.dim, seed=self.seed)
        asked = queries(np.flatnonzero(corpus.graph.cited.counts).tolist())
        for row, turn in asked:
            if turn:
                report.dropped.add(ASKED_AGAIN, corpus.names[row])
        once = {corpus.names[row] for row, turn in asked if not turn}
        return SciNCL(**options).draws(corpus.names, vectors, once, workers=workers, report=report)
