"""Train a tagger on tagged papers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.errors import InputError
from sciprism.uses.tagging.evidence import FEATURES, EvidenceCollector
from sciprism.uses.tagging.label_side import LabelSide
from sciprism.uses.tagging.name_matches import Match
from sciprism.uses.tagging.paper_space import DIRECTIONS, PaperSpace
from sciprism.uses.tagging.ranker import Calibration, Ranker
from sciprism.uses.tagging.sources import Sources
from sciprism.uses.tagging.tagged_papers import TaggedPapers
from sciprism.uses.tagging.tagger import Learned, Tagger, Weighing, block_size
from sciprism.uses.tagging.vocabulary import Vocabulary

FOLDS = 5
HIDDEN_SHARE = 0.1
"""Labels that are hidden from the sources in each fold, so that the ranker learns what to do for unseen ones."""
MAX_RANKED = 10_000
"""Papers that the ranker is trained on: more change little and cost memory."""
CALIBRATION_SHARE = 0.15
"""Papers that the ranker does not see, for calibration and threshold."""
MIN_PAPERS = 20
"""Fewer tagged papers teach less than the names alone."""
Progress = Callable[[int, int], None]
Prepared = tuple[PaperSpace, Floats, list[dict[int, Match]]]
"""A space, the rows of the training papers in it, and the names found in each paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """How a tagger is trained. directions: of the papers' words; folds: whose sources do not see a paper's tags."""

    directions: int = DIRECTIONS
    folds: int = FOLDS
    hidden_share: float = HIDDEN_SHARE
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class RankedCandidates:
    """Candidates of training papers by sources that did not see these papers' tags.

    papers: (c,), which paper; features: (c, f), float16; right: (c,).
    """

    papers: Rows
    features: Floats
    right: Floats


def train(
    vocabulary: Vocabulary,
    label_vectors: Floats,
    data: TaggedPapers,
    *,
    settings: TrainingSettings | None = None,
    progress: Progress | None = None,
) -> Tagger:
    """Train sources, ranker, calibration and threshold. label_vectors: (labels, e). progress: of papers ranked.

    Raises InputError for too few tagged papers.
    """
    settings = settings or TrainingSettings()
    if (tagged := int((np.diff(data.tags.starts) > 0).sum())) < MIN_PAPERS:
        raise InputError(
            f"{tagged} papers have tags of the vocabulary; training needs {MIN_PAPERS}; tag with --vocabulary, and "
            "correct the suggestions until there are enough"
        )
    data = TaggedPapers(data.papers, _round(data.vectors), data.tags, data.judged)
    label_vectors = _round(label_vectors)
    side = LabelSide.build(vocabulary.labels, label_vectors)
    collector = EvidenceCollector(vocabulary, side)
    matches = collector.find_names(data.papers)
    space = _round_space(PaperSpace.learn(data.papers, data.vectors, directions=settings.directions))
    located = space.locate(data.papers, data.vectors)
    ranked = rank_out_of_fold(collector, data, (space, located, matches), settings, progress)
    weighing = fit_weighing(ranked, data, seed=settings.seed)
    sources = _round_sources(Sources.fit(located, data.tags, side.vectors, matches))
    facts = {
        "papers": len(data.papers),
        "tagged papers": tagged,
        "labels with papers": len(sources.seen),
        "judged papers": len(data.judged),
        "threshold": round(weighing.threshold, 4),
    }
    learned = Learned(sources.near, space, sources)
    return Tagger(vocabulary, label_vectors, weighing, learned, facts=facts, training=data)


def rank_out_of_fold(
    collector: EvidenceCollector,
    data: TaggedPapers,
    prepared: Prepared,
    settings: TrainingSettings,
    progress: Progress | None = None,
) -> RankedCandidates:
    """Return candidates of each paper, or of a sample, by sources fitted on the other folds' papers.

    prepared: the space, the rows of the papers in it, the names found in each.
    """
    _, located, matches = prepared
    rng = np.random.default_rng(settings.seed)
    folds = rng.permutation(np.arange(len(data.papers)) % settings.folds)
    ranked = rng.permutation(len(data.papers))[:MAX_RANKED]
    parts: list[tuple[Rows, Floats, Floats]] = []
    done = 0
    for fold in range(settings.folds):
        inside, outside = np.flatnonzero(folds != fold), np.sort(ranked[folds[ranked] == fold])
        hidden = np.flatnonzero(rng.random(data.tags.labels) < settings.hidden_share)
        tags = data.tags.take(inside).without(hidden)
        sources = Sources.fit(located[inside], tags, collector.side.vectors, [matches[i] for i in inside])
        for rows in np.array_split(outside, -(-len(outside) // block_size(data.tags.labels))):
            parts.append(_rank_block(collector, data, prepared, sources, rows))
            done += len(rows)
            if progress is not None:
                progress(done, len(ranked))
    papers, features, right = (np.concatenate(each) for each in zip(*parts, strict=True))
    return RankedCandidates(papers, features, right)


def _rank_block(
    collector: EvidenceCollector, data: TaggedPapers, prepared: Prepared, sources: Sources, rows: Rows
) -> tuple[Rows, Floats, Floats]:
    """Return papers, features and outcomes of the candidates of some papers that were judged."""
    space, located, matches = prepared
    evidence = collector.collect(
        [data.papers[i] for i in rows],
        data.vectors[rows] - space.centre,
        near=sources.near,
        sources=sources,
        located=located[rows],
        matches=[matches[i] for i in rows],
    )
    papers, labels = rows[evidence.papers], evidence.labels
    known = _is_judged(data, papers, labels)
    right = data.tags.has(papers, labels).astype(np.float32)
    return papers[known], evidence.features[known].astype(np.float16), right[known]


def fit_weighing(ranked: RankedCandidates, data: TaggedPapers, *, seed: int = 0) -> Weighing:
    """Train the ranker; calibrate it, and choose the threshold of best F1, on papers that it does not see."""
    rng = np.random.default_rng(seed + 1)
    held_out = rng.random(len(data.papers)) < CALIBRATION_SHARE
    held = held_out[ranked.papers]
    if held.all() or not held.any() or not ranked.right[~held].any() or not ranked.right[held].any():
        held = np.zeros(len(held), bool)  # too few papers to hold some out
    ranker = Ranker.fit(ranked.features[~held].astype(np.float32), ranked.right[~held], range(len(FEATURES)), seed=seed)
    shown = held if held.any() else ~held
    scores, right = ranker.score(ranked.features[shown].astype(np.float32)), ranked.right[shown].astype(np.float64)
    calibration = Calibration.fit(scores, right)
    papers = ranked.papers[shown]
    totals = np.diff(data.tags.starts)[np.unique(papers)].sum()
    return Weighing(ranker, calibration, choose_threshold(calibration.apply(scores), right, totals))


def choose_threshold(probabilities: Doubles, right: Doubles, relevant: int) -> float:
    """Return the probability from which on suggestions have the best F1. relevant: right labels, found or not."""
    order = np.argsort(-probabilities, kind="stable")
    hits = np.cumsum(right[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + max(1, relevant))
    return float(probabilities[order[int(f1.argmax())]]) if len(order) else 1.0


def _is_judged(data: TaggedPapers, papers: Rows, labels: Rows) -> Rows:
    """Return which candidates are known to be right or wrong."""
    if not data.judged:
        return np.ones(len(papers), bool)
    pairs = zip(papers.tolist(), labels.tolist(), strict=True)
    return np.array([paper not in data.judged or label in data.judged[paper] for paper, label in pairs], bool)


def _round_space(space: PaperSpace) -> PaperSpace:
    """Return the space as it is stored, in half precision: a loaded tagger gives the same probabilities."""
    return PaperSpace(space.terms, _round(space.directions), space.centre)


def _round_sources(sources: Sources) -> Sources:
    linear, compatibility = _round(sources.linear), _round(sources.compatibility)
    return Sources(sources.seen, sources.counts, linear, compatibility, sources.near, sources.name_rate)


def _round(values: Floats) -> Floats:
    return values.astype(np.float16).astype(np.float32)
