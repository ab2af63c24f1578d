"""The samplers of triplets by name, each with its options."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sciprism.errors import InputError
from sciprism.prepare.citations.corpus import Corpus
from sciprism.prepare.citations.sources import Papers
from sciprism.prepare.graphs.citations import rows_of
from sciprism.prepare.graphs.embedding import embed_graph
from sciprism.prepare.samplers.drawing import Draw, Sampled
from sciprism.prepare.samplers.scincl import SciNCL
from sciprism.prepare.samplers.specter import CitationTies, SpecterTriplets, draws
from sciprism.registry import Registry

Queries = Callable[[Iterable[int]], list[tuple[int, int]]]
"""Chooses (row, turn) of those that can be asked about."""
Drawn = Iterator[tuple[int, Draw]]
GIVEN = "given"
"""The kind of a negative that was drawn elsewhere, and the sampler that takes such triplets as they are."""
TOLD = ("names", "ties", "seed")
"""What is no option: the corpus or the command says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked of a sampler, whatever the part."""

    papers: Papers
    options: Mapping[str, Any]
    seed: int
    workers: int


Draws = Callable[[Corpus, Queries, Asked, Sampled], Drawn]
"""Draws triplets of a corpus: yields (row, what was drawn for it)."""


@dataclass(frozen=True, slots=True)
class Sampler:
    """A way to draw triplets, and the names of its options."""

    options: tuple[str, ...]
    draws: Draws


samplers: Registry[Sampler] = Registry("sampler")


def options_of(name: str, words: Iterable[str]) -> dict[str, Any]:
    """Read key=value as options of a sampler; a value is TOML, or else text.

    Raises InputError that names the known keys. What a value may be, the sampler itself says.
    """
    known = samplers[name].options
    options: dict[str, Any] = {}
    for word in words:
        key, _, text = word.partition("=")
        if key not in known:
            raise InputError(
                f"--set {word}: the sampler {name} has no {key!r}; known: {', '.join(known) or 'none'}"
            )
        try:
            options[key] = tomllib.loads(f"v = {text}")["v"]
        except tomllib.TOMLDecodeError:
            options[key] = text
    return options


def specter(corpus: Corpus, queries: Queries, asked: Asked, report: Sampled) -> Drawn:
    """Yield SPECTER's triplets of all papers that cite others, or are tied to others."""
    given = asked.papers.given(rows_of(corpus.names), report.dropped)
    able = given.rows if given else np.flatnonzero(corpus.graph.cited.counts).tolist()
    ties = given or CitationTies(corpus.graph)
    draw = SpecterTriplets(names=corpus.names, ties=ties, seed=asked.seed, **asked.options)
    return draws(draw, queries(able), workers=asked.workers, report=report)


def scincl(corpus: Corpus, queries: Queries, asked: Asked, report: Sampled) -> Drawn:
    """Yield SciNCL's triplets of all papers that cite others."""
    sampler = SciNCL(seed=asked.seed, **asked.options)
    vectors = embed_graph(corpus.graph, dim=sampler.dim, seed=asked.seed)
    chosen = queries(np.flatnonzero(corpus.graph.cited.counts).tolist())
    return sampler.draws(corpus.names, vectors, chosen, workers=asked.workers, report=report)


def given(corpus: Corpus, queries: Queries, asked: Asked, report: Sampled) -> Drawn:
    """Yield triplets that others drew, those of a query together and once: there are no others to draw."""
    found = asked.papers.sampled(rows_of(corpus.names), report.dropped)
    for row in dict.fromkeys(row for row, _ in queries(sorted(found))):
        positives, negatives = zip(*found[row], strict=True)
        draw = Draw(positives, negatives, (GIVEN,) * len(positives))
        report.add(draw)
        yield row, draw


def _options(record: type[SpecterTriplets] | type[SciNCL]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(record) if each.name not in TOLD)


samplers.register("specter")(Sampler(_options(SpecterTriplets), specter))
samplers.register("scincl")(Sampler(_options(SciNCL), scincl))
samplers.register(GIVEN)(Sampler((), given))
