"""A tagger: a vocabulary, what was learned of it, and the call that suggests tags, each with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from textwrap import shorten
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.uses.tagging.evidence import FEATURES, Evidence, EvidenceCollector, LabelSide
from sciprism.uses.tagging.name_matches import Match
from sciprism.uses.tagging.paper_space import PaperSpace
from sciprism.uses.tagging.ranker import Weighing
from sciprism.uses.tagging.suggestions import ABOVE, PaperTags, Tag, TagChoice
from sciprism.uses.tagging.tagged_papers import NearestPapers, Sources, TaggedPapers
from sciprism.uses.tagging.vocabulary import Vocabulary

RANKER_FILE = "default_ranker.json"
"""The rankers that ship, trained by benchmarks/tagging_default.py on MeSH terms of PubMed papers."""
PAPER_BLOCK = 256
MAX_SCORES = 1 << 23
"""Scores of one source in memory, papers by labels: 32 MB; a larger vocabulary takes fewer papers at once."""
MAX_REASONS = 2
MAX_NAME = 60


def build_zero_shot(vocabulary: Vocabulary, label_vectors: Floats, *, tagged: TaggedPapers | None = None) -> Tagger:
    """Return a tagger without training: its ranker, trained on another vocabulary, weighs names and meaning.

    label_vectors: (labels, e). tagged: papers with tags of the vocabulary, a few or many, whose tags count too.
    """
    shipped = json.loads(files("sciprism.uses.tagging").joinpath(RANKER_FILE).read_text(encoding="utf-8"))
    weighing = Weighing.from_json(shipped["names" if tagged is None else "names and papers"])
    facts: dict[str, Any] = {"threshold": round(weighing.threshold, 4)}
    if tagged is None:
        return Tagger(vocabulary, label_vectors, weighing, facts=facts)
    facts["tagged papers"] = len(tagged.papers)
    return Tagger(vocabulary, label_vectors, weighing, NearestPapers(tagged.vectors, tagged.tags), facts=facts)


def block_size(labels: int) -> int:
    """Return how many papers' candidates are collected together."""
    return max(1, min(PAPER_BLOCK, MAX_SCORES // labels))


@dataclass(slots=True, eq=False)
class Tagger:
    """Suggest labels of a vocabulary for papers.

    label_vectors: (labels, e), by the encoder whose fingerprint and space are `encoder`; papers need vectors of the
    same. near: tagged papers to compare with. space, sources, training: of a trained tagger, what its papers taught
    and these papers, for the next training. facts: what is printed about it.
    """

    vocabulary: Vocabulary
    label_vectors: Floats
    weighing: Weighing
    near: NearestPapers | None = None
    space: PaperSpace | None = None
    sources: Sources | None = None
    encoder: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    training: TaggedPapers | None = None
    collector: EvidenceCollector = field(init=False)

    def __post_init__(self) -> None:
        side = LabelSide.build(self.vocabulary.labels, self.label_vectors)
        self.collector = EvidenceCollector(self.vocabulary, side)

    def collect(self, papers: Sequence[Paper], vectors: Floats, allowed: NDArray[np.bool_] | None = None) -> Evidence:
        """Return the candidates of a block of papers with vectors (b, e), all or of the allowed labels (labels,)."""
        located, centred = None, vectors
        if self.space is not None:
            located, centred = self.space.locate(papers, vectors), vectors - self.space.centre
        elif self.near is not None:
            located = vectors
        return self.collector.collect(
            papers, centred, near=self.near, sources=self.sources, located=located, allowed=allowed
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
            facts = {"uri": label.id, "notation": label.codes[0] if label.codes else "", "label": label.name}
            if below is not None:
                why = ABOVE.format(name=self.vocabulary.labels[below].name)
            else:
                match = evidence.matches[evidence.papers[places[row]]].get(row)
                why = explain(evidence.features[places[row]], match, evidence.neighbours)
            tags.append(Tag(rank=rank, **facts, probability=round(probability, 4), why=why))
        return PaperTags(paper.id, paper.title, tuple(tags))


def explain(features: Floats, match: Match | None, neighbours: int) -> str:
    """Return the strongest reasons for one label: its name, near papers, its words, its meaning.

    features: (f,), of `FEATURES`. neighbours: near papers that were counted.
    """
    value = dict(zip(FEATURES, features.tolist(), strict=True))
    parts = []
    if match is not None:
        parts.append(f"found in {match.where}: {shorten(match.text, MAX_NAME, placeholder='...')!r}")
    if near := round(value["near papers"] * neighbours):
        parts.append(f"{near} of {neighbours} nearest papers")
    if value["linear"] > 0.1:
        parts.append("words and meaning like its papers'")
    if value["coverage"] >= 0.5 and match is None:
        parts.append("most words of its name")
    parts.append(f"its meaning is near (cosine {value['cosine']:.2f})")
    return "; ".join(parts[:MAX_REASONS])
