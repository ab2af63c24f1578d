"""A tagger: a vocabulary, what was learned of it, and the call that suggests tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.uses.tagging.evidence import Evidence, EvidenceCollector
from sciprism.uses.tagging.label_side import LabelSide
from sciprism.uses.tagging.nearest import NearestPapers
from sciprism.uses.tagging.paper_space import PaperSpace
from sciprism.uses.tagging.ranker import Calibration, Ranker
from sciprism.uses.tagging.reasons import explain
from sciprism.uses.tagging.sources import Sources
from sciprism.uses.tagging.suggestions import ABOVE, PaperTags, Tag, TagChoice
from sciprism.uses.tagging.tagged_papers import TaggedPapers
from sciprism.uses.tagging.vocabulary import Vocabulary

PAPER_BLOCK = 256
MAX_SCORES = 1 << 23
"""Scores of one source in memory, papers by labels: 32 MB; a larger vocabulary takes fewer papers at once."""


def block_size(labels: int) -> int:
    """Return how many papers' candidates are collected together."""
    return max(1, min(PAPER_BLOCK, MAX_SCORES // labels))


@dataclass(frozen=True, slots=True, eq=False)
class Weighing:
    """How evidence becomes a probability. threshold: the one with the best F1 on held-out papers."""

    ranker: Ranker
    calibration: Calibration
    threshold: float

    def weigh(self, features: Floats) -> Doubles:
        """Return the probability of each candidate (c,)."""
        return self.calibration.apply(self.ranker.score(features))


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What tagged papers taught. near: the papers to compare with; space, sources: of a trained tagger only."""

    near: NearestPapers | None = None
    space: PaperSpace | None = None
    sources: Sources | None = None


@dataclass(slots=True, eq=False)
class Tagger:
    """Suggest labels of a vocabulary for papers.

    label_vectors: (labels, e), by the encoder whose fingerprint and space are `encoder`; papers need vectors of the
    same. facts: what is printed about it. training: the papers it was trained on, for the next training.
    """

    vocabulary: Vocabulary
    label_vectors: Floats
    weighing: Weighing
    learned: Learned = field(default_factory=Learned)
    encoder: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    training: TaggedPapers | None = None
    collector: EvidenceCollector = field(init=False)

    def __post_init__(self) -> None:
        side = LabelSide.build(self.vocabulary.labels, self.label_vectors)
        self.collector = EvidenceCollector(self.vocabulary, side)

    def collect(self, papers: Sequence[Paper], vectors: Floats, allowed: NDArray[np.bool_] | None = None) -> Evidence:
        """Return the candidates of a block of papers with vectors (b, e), all or of the allowed labels (labels,)."""
        learned = self.learned
        located, shown = None, vectors
        if learned.space is not None:
            located, shown = learned.space.locate(papers, vectors), vectors - learned.space.centre
        elif learned.near is not None:
            located = vectors
        return self.collector.collect(
            papers, shown, near=learned.near, sources=learned.sources, located=located, allowed=allowed
        )

    def suggest(
        self, papers: Sequence[Paper], vectors: Floats, choice: TagChoice | None = None
    ) -> Iterator[list[PaperTags]]:
        """Yield the tags of each block of papers, in their order. vectors: (n, e)."""
        choice = choice or TagChoice()
        allowed = choice.allowed(self.vocabulary)
        if len(papers) != len(vectors):
            raise InputError(f"{len(papers)} papers and {len(vectors)} vectors; each paper needs one")
        size = block_size(len(self.vocabulary))
        for start in range(0, len(papers), size):
            block = papers[start : start + size]
            evidence = self.collect(block, vectors[start : start + size], allowed)
            probabilities = self.weighing.weigh(evidence.features)
            starts = np.searchsorted(evidence.papers, np.arange(len(block) + 1))
            yield [
                self._tag(paper, evidence, probabilities, slice(starts[number], starts[number + 1]), choice)
                for number, paper in enumerate(block)
            ]

    def _tag(
        self, paper: Paper, evidence: Evidence, probabilities: Doubles, part: slice, choice: TagChoice
    ) -> PaperTags:
        labels, values = evidence.labels[part], probabilities[part]
        picked = choice.pick(labels, values, self.weighing.threshold, self.vocabulary)
        places = {int(label): part.start + place for place, label in enumerate(labels)}
        tags = []
        for rank, (row, probability, below) in enumerate(picked, 1):
            label = self.vocabulary.labels[row]
            if below is not None:
                why = ABOVE.format(name=self.vocabulary.labels[below].name)
            else:
                match = evidence.matches[evidence.papers[places[row]]].get(row)
                why = explain(evidence.features[places[row]], match, evidence.neighbours)
            notation = label.codes[0] if label.codes else ""
            tags.append(
                Tag(
                    rank=rank,
                    uri=label.id,
                    notation=notation,
                    label=label.name,
                    probability=round(probability, 4),
                    why=why,
                )
            )
        return PaperTags(paper.id, paper.title, tuple(tags))
