"""Suggested tags: which of the candidates are suggested, and how well they agree with the right ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Rows
from sciprism.errors import InputError
from sciprism.uses.tagging.vocabulary import Vocabulary

Parents = Literal["keep", "drop", "add"]
LIMIT = 10
ABOVE = "above {name!r}"  # the reason of a label that is added because it is above a suggested one


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """One suggested label of a paper. probability: that it is right, calibrated on held-out papers."""

    rank: int
    uri: str
    notation: str
    label: str
    probability: float
    why: str


@dataclass(frozen=True, slots=True)
class PaperTags:
    """The tags suggested for one paper, best first."""

    id: str
    title: str
    tags: tuple[Tag, ...]

    def to_json(self) -> dict[str, Any]:
        """Return id, title and tags as JSON values."""
        return {"id": self.id, "title": self.title, "tags": [asdict(tag) for tag in self.tags]}


@dataclass(frozen=True, slots=True, kw_only=True)
class TagChoice:
    """Which candidates are suggested.

    limit: tags for each paper. threshold: the lowest probability; None is what the tagger learned. excluded, branch:
    labels that are never suggested; labels below which (or which) all suggestions are, each by id, notation or name.
    parents: of labels above other suggested ones: keep them where they were found, drop them, or add them all.
    """

    limit: int = LIMIT
    threshold: float | None = None
    excluded: Sequence[str] = field(default_factory=tuple)
    branch: Sequence[str] = field(default_factory=tuple)
    parents: Parents = "keep"

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise InputError(f"the limit is {self.limit}; ask for at least one tag")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise InputError(f"the threshold is {self.threshold}, not a probability from 0 to 1")
        if self.parents not in get_args(Parents):
            raise InputError(f"parents {self.parents!r} is not one of {', '.join(get_args(Parents))}")

    def allowed(self, vocabulary: Vocabulary) -> NDArray[np.bool_]:
        """Return which labels may be suggested, True or False of each; InputError for an unknown name or none left."""
        mask = np.ones(len(vocabulary), bool)
        if self.branch:
            inside = {vocabulary.find_named(name, "the branch") for name in self.branch}
            inside |= {row for top in list(inside) for row in vocabulary.below(top)}
            mask[:] = False
            mask[list(inside)] = True
        for name in self.excluded:
            mask[vocabulary.find_named(name, "the excluded label")] = False
        if not mask.any():
            raise InputError("every label of the branch is excluded; nothing can be suggested")
        return mask

    def pick(
        self, labels: Rows, probabilities: Doubles, threshold: float, vocabulary: Vocabulary
    ) -> list[tuple[int, float, int | None]]:
        """Return rows and probabilities of the tags of one paper, best first, and the label that one was added for."""
        least = threshold if self.threshold is None else self.threshold
        order = np.argsort(-probabilities, kind="stable")
        ranked = [(int(labels[i]), float(probabilities[i])) for i in order if probabilities[i] >= least]
        if self.parents == "drop":
            above = {row for label, _ in ranked[: self.limit] for row in vocabulary.above(label)}
            ranked = [(label, value) for label, value in ranked if label not in above]
        picked: list[tuple[int, float, int | None]] = [(*candidate, None) for candidate in ranked[: self.limit]]
        if self.parents == "add":
            chosen = {label for label, _, _ in picked}
            for label, value, _ in list(picked):  # a label above a right one is right
                for row in sorted(vocabulary.above(label) - chosen):
                    chosen.add(row)
                    picked.append((row, value, label))
        return picked


TOP = 5


@dataclass(frozen=True, slots=True)
class LabelErrors:
    """How often a label was suggested rightly, wrongly, and missed."""

    uri: str
    label: str
    right: int
    wrong: int
    missed: int


@dataclass(frozen=True, slots=True)
class TagScores:
    """Means over papers that have tags; precision_5 and f1_5: of the first five; f1: of all suggestions."""

    papers: int
    precision_1: float
    precision_5: float
    ndcg_5: float
    f1_5: float
    f1: float


@dataclass(frozen=True, slots=True)
class TagReportCard:
    """Scores of suggestions, and the errors of every label that was suggested or missed."""

    scores: TagScores
    labels: tuple[LabelErrors, ...]

    def most_wrong(self, count: int) -> list[LabelErrors]:
        """Return the labels that were most often suggested wrongly."""
        return sorted((errors for errors in self.labels if errors.wrong), key=lambda errors: -errors.wrong)[:count]

    def most_missed(self, count: int) -> list[LabelErrors]:
        """Return the labels that were most often missed."""
        return sorted((errors for errors in self.labels if errors.missed), key=lambda errors: -errors.missed)[:count]

    def to_json(self, count: int) -> dict[str, Any]:
        """Return scores and the first labels as JSON values."""
        return {
            "scores": asdict(self.scores),
            "most_wrong": [asdict(errors) for errors in self.most_wrong(count)],
            "most_missed": [asdict(errors) for errors in self.most_missed(count)],
        }


def compare_tags(
    vocabulary: Vocabulary, suggested: Iterable[PaperTags], gold: Sequence[Sequence[int]]
) -> TagReportCard:
    """Compare suggestions with the right labels, rows of the vocabulary; papers without a right one are left out."""
    right, wrong, missed = Counter[int](), Counter[int](), Counter[int]()
    rows: list[tuple[float, ...]] = []
    for paper, labels in zip(suggested, gold, strict=True):
        if not labels:
            continue
        suggested_rows, truth = [vocabulary.rows[tag.uri] for tag in paper.tags], set(labels)
        right.update(truth.intersection(suggested_rows))
        wrong.update(set(suggested_rows) - truth)
        missed.update(truth - set(suggested_rows))
        rows.append(score_ranking(suggested_rows, truth))
    means = np.mean(rows, axis=0).tolist() if rows else [0.0] * 5
    errors = tuple(
        LabelErrors(vocabulary.labels[row].id, vocabulary.labels[row].name, right[row], wrong[row], missed[row])
        for row in sorted(right.keys() | wrong.keys() | missed.keys())
    )
    return TagReportCard(TagScores(len(rows), *(round(mean, 4) for mean in means)), errors)


def score_ranking(ranked: Sequence[int], truth: set[int]) -> tuple[float, float, float, float, float]:
    """Return P@1, P@5, nDCG@5, F1@5 and F1 of the labels found for one paper, best first.

    P@5 divides by 5, also of fewer labels, as in extreme classification; nDCG@5 by the best possible gain.
    """
    hits = np.array([row in truth for row in ranked[:TOP]], float)
    gains = 1 / np.log2(np.arange(2, TOP + 2))
    ideal = gains[: min(TOP, len(truth))].sum()
    all_hits = sum(row in truth for row in ranked)
    return (
        float(hits[:1].sum()),
        float(hits.sum() / TOP),
        float((hits * gains[: len(hits)]).sum() / ideal),
        float(2 * hits.sum() / (len(hits) + len(truth))),
        2 * all_hits / (len(ranked) + len(truth)),
    )
