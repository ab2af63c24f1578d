"""What a sampler of triplets is: its settings, and its samples of a citation corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields

from sciprism.prepare.citations.corpus import CitationCorpus
from sciprism.prepare.citations.sources import CitationSources
from sciprism.prepare.samplers.sampling import QuerySample, SampleReport

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
        return {each.name: each.default for each in fields(cls) if each.name != "seed"}

    def sample(self, corpus: CitationCorpus, inputs: SamplerInputs) -> Samples:
        """Yield (row, its sample) of the queries of a corpus; count them in the report."""
        raise NotImplementedError
