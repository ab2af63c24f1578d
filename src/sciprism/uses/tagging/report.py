"""How well suggested tags agree with those of tagged papers, and which labels are most often wrong or missed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sciprism.uses.tagging.suggestions import PaperTags
from sciprism.uses.tagging.vocabulary import Vocabulary

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
        return sorted((each for each in self.labels if each.wrong), key=lambda each: -each.wrong)[:count]

    def most_missed(self, count: int) -> list[LabelErrors]:
        """Return the labels that were most often missed."""
        return sorted((each for each in self.labels if each.missed), key=lambda each: -each.missed)[:count]

    def to_json(self, count: int) -> dict[str, Any]:
        """Return scores and the first labels as JSON values."""
        return {
            "scores": asdict(self.scores),
            "most_wrong": [asdict(each) for each in self.most_wrong(count)],
            "most_missed": [asdict(each) for each in self.most_missed(count)],
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
        found, truth = [vocabulary.rows[tag.uri] for tag in paper.tags], set(labels)
        right.update(truth.intersection(found))
        wrong.update(set(found) - truth)
        missed.update(truth - set(found))
        rows.append(score_ranking(found, truth))
    means = np.mean(rows, axis=0).tolist() if rows else [0.0] * 5
    errors = tuple(
        LabelErrors(vocabulary.labels[row].id, vocabulary.labels[row].name, right[row], wrong[row], missed[row])
        for row in sorted(right.keys() | wrong.keys() | missed.keys())
    )
    return TagReportCard(TagScores(len(rows), *(round(mean, 4) for mean in means)), errors)


def score_ranking(found: Sequence[int], truth: set[int]) -> tuple[float, float, float, float, float]:
    """Return P@1, P@5, nDCG@5, F1@5 and F1 of the labels found for one paper, best first.

    P@5 divides by 5, also of fewer labels, as in extreme classification; nDCG@5 by the best possible gain.
    """
    hits = np.array([row in truth for row in found[:TOP]], float)
    gains = 1 / np.log2(np.arange(2, TOP + 2))
    ideal = gains[: min(TOP, len(truth))].sum()
    all_hits = sum(row in truth for row in found)
    return (
        float(hits[:1].sum()),
        float(hits.sum() / TOP),
        float((hits * gains[: len(hits)]).sum() / ideal),
        float(2 * hits.sum() / (len(hits) + len(truth))),
        2 * all_hits / (len(found) + len(truth)),
    )
