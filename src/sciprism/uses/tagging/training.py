"""Train a tagger on tagged papers, and again with verdicts on its suggestions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.uses.calibration import Calibration
from sciprism.uses.tagging.evidence import FEATURES, EvidenceCollector, LabelSide
from sciprism.uses.tagging.paper_space import DIRECTIONS, PaperSpace
from sciprism.uses.tagging.ranker import Ranker, Weighing
from sciprism.uses.tagging.tag_files import Judgement, TagReport, resolve_tags
from sciprism.uses.tagging.tagged_papers import Sources, TaggedPapers, TagMatrix
from sciprism.uses.tagging.tagger import Tagger, block_size
from sciprism.uses.tagging.vocabulary import Match, Vocabulary

FOLDS = 5
HIDDEN_SHARE = 0.1
"""Labels that are hidden from the sources in each fold, so that the ranker learns what to do for unseen ones."""
MAX_RANKED = 10_000  # papers that the ranker is trained on: more change little and cost memory
CALIBRATION_SHARE = 0.15  # papers that the ranker does not see, for calibration and threshold
MIN_PAPERS = 20  # fewer tagged papers teach less than the names alone
Progress = Callable[[int, int], None]
Ranked = tuple[Rows, Floats, Floats]
"""Of candidates their papers (c,), features (c, f), float16, and whether they are right (c,)."""
Prepared = tuple[PaperSpace, Floats, list[dict[int, Match]]]
"""A space, the rows of the training papers in it, and the names found in each paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSettings:
    """How a tagger is trained. directions: of the papers' words; folds: for candidates by sources of other papers."""

    directions: int = DIRECTIONS
    folds: int = FOLDS
    hidden_share: float = HIDDEN_SHARE
    seed: int = 0


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
    if (tagged := int((data.tags.sizes() > 0).sum())) < MIN_PAPERS:
        raise InputError(
            f"{tagged} papers have tags of the vocabulary; training needs {MIN_PAPERS}; tag with --vocabulary, and "
            "correct the suggestions until there are enough"
        )
    data = TaggedPapers(data.papers, _round(data.vectors), data.tags, data.judged)
    label_vectors = _round(label_vectors)
    side = LabelSide.build(vocabulary.labels, label_vectors)
    collector = EvidenceCollector(vocabulary, side)
    matches = collector.find_names(data.papers)
    space = PaperSpace.learn(data.papers, data.vectors, directions=settings.directions)
    space = replace(space, directions=_round(space.directions))
    located = space.locate(data.papers, data.vectors)
    ranked = rank_out_of_fold(collector, data, (space, located, matches), settings, progress)
    weighing = fit_weighing(ranked, data, seed=settings.seed)
    sources = Sources.fit(located, data.tags, side.vectors, matches)
    sources = replace(sources, linear=_round(sources.linear), compatibility=_round(sources.compatibility))
    facts = {
        "papers": len(data.papers),
        "tagged papers": tagged,
        "labels with papers": len(sources.seen),
        "judged papers": len(data.judged),
        "threshold": round(weighing.threshold, 4),
    }
    return Tagger(vocabulary, label_vectors, weighing, sources.near, space, sources, facts=facts, training=data)


def rank_out_of_fold(
    collector: EvidenceCollector,
    data: TaggedPapers,
    prepared: Prepared,
    settings: TrainingSettings,
    progress: Progress | None = None,
) -> Ranked:
    """Return candidates of each paper, or of a sample, by sources fitted on the other folds' papers."""
    space, located, matches = prepared
    rng = np.random.default_rng(settings.seed)
    folds = rng.permutation(np.arange(len(data.papers)) % settings.folds)
    ranked = rng.permutation(len(data.papers))[:MAX_RANKED]
    parts: list[Ranked] = []
    done = 0
    for fold in range(settings.folds):
        inside, outside = np.flatnonzero(folds != fold), np.sort(ranked[folds[ranked] == fold])
        hidden = np.flatnonzero(rng.random(data.tags.labels) < settings.hidden_share)
        tags = data.tags.take(inside).without(hidden)
        sources = Sources.fit(located[inside], tags, collector.side.vectors, [matches[i] for i in inside])
        for rows in np.array_split(outside, -(-len(outside) // block_size(data.tags.labels))):
            evidence = collector.collect(
                [data.papers[i] for i in rows],
                data.vectors[rows] - space.centre,
                near=sources.near,
                sources=sources,
                located=located[rows],
                matches=[matches[i] for i in rows],
            )
            owners, labels = rows[evidence.papers], evidence.labels
            judged = _is_judged(data, owners, labels)
            right = data.tags.has(owners, labels).astype(np.float32)
            parts.append((owners[judged], evidence.features[judged].astype(np.float16), right[judged]))
            done += len(rows)
            if progress is not None:
                progress(done, len(ranked))
    papers, features, right = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return papers, features, right


def fit_weighing(ranked: Ranked, data: TaggedPapers, *, seed: int = 0) -> Weighing:
    """Train the ranker; calibrate it, and choose the threshold of best F1, on papers that it does not see."""
    rng = np.random.default_rng(seed + 1)
    papers, features, right = ranked
    held = (rng.random(len(data.papers)) < CALIBRATION_SHARE)[papers]
    if not right[~held].any() or not right[held].any():
        held = np.zeros(len(held), bool)  # too few papers to hold some out
    ranker = Ranker.fit(features[~held].astype(np.float32), right[~held], range(len(FEATURES)), seed=seed)
    shown = held if held.any() else ~held
    scores, outcomes = ranker.score(features[shown].astype(np.float32)), right[shown].astype(np.float64)
    calibration = Calibration.fit(scores, outcomes)
    totals = data.tags.sizes()[np.unique(papers[shown])].sum()
    return Weighing(ranker, calibration, choose_threshold(calibration.apply(scores), outcomes, totals))


def choose_threshold(probabilities: Doubles, right: Doubles, relevant: int) -> float:
    """Return the probability from which on suggestions have the best F1. relevant: right labels, found or not."""
    order = np.argsort(-probabilities, kind="stable")
    hits = np.cumsum(right[order])
    f1 = 2 * hits / (np.arange(1, len(order) + 1) + max(1, relevant))
    return float(probabilities[order[int(f1.argmax())]]) if len(order) else 1.0


def _is_judged(data: TaggedPapers, papers: Rows, labels: Rows) -> Rows:
    if not data.judged:
        return np.ones(len(papers), bool)
    pairs = zip(papers.tolist(), labels.tolist(), strict=True)
    return np.array([paper not in data.judged or label in data.judged[paper] for paper, label in pairs], bool)


def _round(values: Floats) -> Floats:
    """Return values as they are stored, in half precision: a loaded tagger gives the same probabilities."""
    return values.astype(np.float16).astype(np.float32)


@dataclass(frozen=True, slots=True)
class FeedbackReport:
    """Counts of verdicts learned from.

    unknown: tags that the vocabulary lacks. ambiguous: tags that are a name of several labels -> the ids of these.
    missing: ids of papers without text.
    """

    papers: int
    accepted: int
    rejected: int
    unknown: tuple[str, ...]
    ambiguous: Mapping[str, Sequence[str]]
    missing: tuple[str, ...]


def learn_from_feedback(
    tagger: Tagger,
    judgements: Sequence[Judgement],
    papers: Sequence[Paper],
    vectors: Floats,
    *,
    settings: TrainingSettings | None = None,
    progress: Progress | None = None,
) -> tuple[Tagger, FeedbackReport]:
    """Train again with judged tags added to the papers of the tagger.

    papers, vectors: of the judged papers that the tagger does not have. A paper that it has keeps its other tags. Of
    a new paper only the judged labels count, as right or wrong: nobody said that it has no others.
    """
    data = tagger.training
    if data is None:
        raise InputError("this tagger was not trained; train one first with `sciprism tag train`")
    verdicts, report = _resolve(tagger, judgements)
    stored = {paper.id for paper in data.papers}
    given = {paper.id: row for row, paper in enumerate(papers)}
    missing = tuple(id for id in verdicts if id not in stored and id not in given)
    usable = {id: labels for id, labels in verdicts.items() if id in stored or id in given}
    if not usable:
        raise InputError("none of the judged papers is in the tagger or among --papers; name the file that has them")
    rows = [given[id] for id in usable if id not in stored]
    merged = _add_verdicts(data, usable, [papers[row] for row in rows], vectors[np.array(rows, np.int64)])
    learned = train(tagger.vocabulary, tagger.label_vectors, merged, settings=settings, progress=progress)
    learned.encoder = tagger.encoder
    accepted = sum(sum(labels.values()) for labels in usable.values())
    rejected = sum(map(len, usable.values())) - accepted
    unknown = tuple(report.unknown)
    return learned, FeedbackReport(len(usable), accepted, rejected, unknown, report.homonyms, missing)


def _add_verdicts(
    data: TaggedPapers, verdicts: Mapping[str, Mapping[int, bool]], papers: Sequence[Paper], vectors: Floats
) -> TaggedPapers:
    """Append the papers of a review to the tagged papers; add the tags it accepted, remove those it rejected."""
    all_papers = [*data.papers, *papers]
    numbers = {paper.id: number for number, paper in enumerate(all_papers)}
    tags = [set(data.tags[number].tolist()) for number in range(len(data.papers))] + [set[int]() for _ in papers]
    judged = data.judged | {number: frozenset() for number in range(len(data.papers), len(all_papers))}
    for id, labels in verdicts.items():
        number = numbers[id]
        for label, right in labels.items():
            (tags[number].add if right else tags[number].discard)(label)
        if number in judged:
            judged[number] |= labels.keys()
    matrix = TagMatrix.build(tags, data.tags.labels)
    return TaggedPapers(all_papers, np.concatenate([data.vectors, vectors]), matrix, judged)


def list_unknown_papers(tagger: Tagger, judgements: Sequence[Judgement]) -> set[str]:
    """Return the ids of judged papers whose text the tagger does not have."""
    stored = {paper.id for paper in tagger.training.papers} if tagger.training is not None else set()
    return {judgement.paper for judgement in judgements} - stored


def _resolve(tagger: Tagger, judgements: Sequence[Judgement]) -> tuple[dict[str, dict[int, bool]], TagReport]:
    """Return paper -> label -> whether it is right, and the tags that no label or several labels have.

    Raises InputError for a tag of a paper that was both accepted and rejected.
    """
    verdicts: defaultdict[str, dict[int, bool]] = defaultdict(dict)
    resolved, report = resolve_tags(([judgement.tag] for judgement in judgements), tagger.vocabulary)
    for judgement, rows in zip(judgements, resolved, strict=True):
        for row in rows:
            if verdicts[judgement.paper].setdefault(row, judgement.accepted) != judgement.accepted:
                where = f"paper {judgement.paper}: the tag {judgement.tag}"
                raise InputError(f"{where} is accepted in one row, rejected in another")
    return verdicts, report
