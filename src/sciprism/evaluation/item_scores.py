"""Per-item scores: what each item adds to a score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.evaluation.aggregates import OUTCOMES, aggregates
from sciprism.metrics.alignment import check_aligned, check_finite
from sciprism.metrics.classification import correct, outcomes


@dataclass(frozen=True, slots=True, eq=False)
class ItemScores:
    """Items, the columns (n, c) that they contribute, and the aggregate that turns them into one number.

    more: columns of the same items again, where a score is the mean over several parts (few-shot iterations).
    labels: the classes of an F1; its columns are true positives, false positives, false negatives of each.
    Raises InputError for repeated ids, numbers that are not finite, columns that do not fit the aggregate.
    """

    ids: tuple[str, ...]
    columns: Doubles
    aggregate: str
    more: tuple[Doubles, ...] = ()
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.ids)) < len(self.ids):
            repeated = Counter(self.ids).most_common(1)[0][0]
            raise InputError(f"item {repeated!r} has scores twice; give each item one row")
        columns, *more = (_checked(self, part) for part in self.parts)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "more", tuple(more))

    @property
    def parts(self) -> tuple[Doubles, ...]:
        """Return the columns of each part; the score is the mean over the parts."""
        return (self.columns, *self.more)

    def take(self, rows: NDArray[np.int64]) -> ItemScores:
        """Return the scores of some items, by their positions."""
        first, *more = (part[rows] for part in self.parts)
        return replace(self, ids=tuple(self.ids[row] for row in rows), columns=first, more=tuple(more))


def score_classes(
    ids: Sequence[str],
    gold: ArrayLike,
    predicted: ArrayLike,
    aggregate: str,
    *,
    labels: ArrayLike | None = None,
) -> ItemScores:
    """Return the scores of single labels (n,); aggregate: "accuracy", "f1_macro", "f1_micro", "f1_binary".

    labels: the classes of the columns, by default those that occur. "f1_binary" is that of class 1.
    """
    if aggregate == "accuracy":
        return ItemScores(tuple(ids), correct(gold, predicted).astype(np.float64)[:, None], aggregate)
    classes: NDArray[Any] = np.union1d(gold, predicted) if labels is None else np.asarray(labels)
    if aggregate == "f1_binary":
        if len(classes) > 2 or (len(classes) == 2 and 1 not in classes):
            raise InputError(f'"f1_binary" is that of class 1 against one other, not of {classes.tolist()}')
        classes = np.array([1])
    elif not np.isin(np.union1d(gold, predicted), classes).all():
        missing = np.setdiff1d(np.union1d(gold, predicted), classes)
        raise InputError(f"{missing[0]!r} is gold or predicted but not among the labels {classes.tolist()}")
    return score_outcomes(ids, gold, predicted, aggregate, classes)


def score_label_sets(
    ids: Sequence[str],
    gold: ArrayLike,
    predicted: ArrayLike,
    aggregate: str,
    *,
    labels: Sequence[str] | None = None,
) -> ItemScores:
    """Return the scores of label sets (n, c) of 0 and 1; aggregate: "accuracy", "f1_macro" or "f1_micro".

    All columns count as classes, even those of no item. labels: their names, (c,), else their numbers.
    """
    if aggregate == "accuracy":
        return ItemScores(tuple(ids), correct(gold, predicted).astype(np.float64)[:, None], aggregate)
    aggregate = "f1_macro_multi_label" if aggregate == "f1_macro" else aggregate
    names = np.arange(np.asarray(gold).shape[1]) if labels is None else np.asarray(labels)
    return score_outcomes(ids, gold, predicted, aggregate, names)


def score_numbers(ids: Sequence[str], gold: ArrayLike, predicted: ArrayLike, aggregate: str) -> ItemScores:
    """Return the scores of predicted numbers (n,); aggregate: "kendall_tau", "spearman", "pearson", "r2"."""
    x, y = check_finite(gold, "gold numbers"), check_finite(predicted, "predicted numbers")
    check_aligned(x, y, "gold and predicted numbers")
    return ItemScores(tuple(ids), np.stack([x, y], axis=1), aggregate)


def average_parts(parts: Sequence[ItemScores]) -> ItemScores:
    """Return parts (few-shot iterations) on the same items as one score, the mean over the parts."""
    first = parts[0]
    if any(part.ids != first.ids or part.aggregate != first.aggregate for part in parts):
        raise InputError("parts of one score need the same items in the same order and the same aggregate")
    labels = tuple(dict.fromkeys(label for part in parts for label in part.labels))
    columns = [column for part in parts for column in _with_classes(part, labels).parts]
    return ItemScores(first.ids, columns[0], first.aggregate, tuple(columns[1:]), labels)


def _checked(item_scores: ItemScores, part: ArrayLike) -> Doubles:
    columns = np.asarray(part, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    wanted = aggregates[item_scores.aggregate]
    width = len(wanted.columns)
    if wanted.per_class:
        width *= len(item_scores.labels) or max(1, columns.shape[-1] // width)
    if columns.shape != (len(item_scores.ids), width):
        raise InputError(
            f"scores of {len(item_scores.ids)} items have columns {columns.shape}; {item_scores.aggregate!r} "
            f"reads {width}: {', '.join(wanted.columns)}{' of each class' if wanted.per_class else ''}"
        )
    bad = np.flatnonzero(~np.isfinite(columns).all(axis=1))
    if len(bad):
        raise InputError(f"item {item_scores.ids[bad[0]]!r} has a score that is not a finite number")
    return columns


def align_classes(a: ItemScores, b: ItemScores) -> tuple[ItemScores, ItemScores]:
    """Return two results with the classes of both, in one order. Raises InputError without labels."""
    if a.labels == b.labels and a.columns.shape == b.columns.shape:
        return a, b
    if not (a.labels and b.labels):
        raise InputError(f"columns {a.columns.shape} and {b.columns.shape} do not compare; name their labels")
    labels = tuple(dict.fromkeys((*a.labels, *b.labels)))
    return _with_classes(a, labels), _with_classes(b, labels)


def _with_classes(item_scores: ItemScores, labels: tuple[str, ...]) -> ItemScores:
    """Give the columns the classes and order of these labels; no item has or is predicted a new one."""
    if labels == item_scores.labels:
        return item_scores
    new = set(labels) - set(item_scores.labels)
    if new and aggregates[item_scores.aggregate].idle_classes:
        raise InputError(f"{item_scores.aggregate!r} over other classes does not compare: {min(new)!r} is in one only")
    index = {label: n for n, label in enumerate(labels)}
    columns = [index[label] for label in item_scores.labels]

    def widen(part: Doubles) -> Doubles:
        wide = np.zeros((len(part), len(OUTCOMES), len(labels)))
        wide[:, :, columns] = part.reshape(len(part), len(OUTCOMES), -1)
        return wide.reshape(len(part), -1)

    first, *more = map(widen, item_scores.parts)
    return replace(item_scores, columns=first, more=tuple(more), labels=labels)


def score_outcomes(
    ids: Sequence[str], gold: ArrayLike, predicted: ArrayLike, aggregate: str, classes: NDArray[Any]
) -> ItemScores:
    """Return the true positives, false positives and false negatives of each class as scores."""
    columns = np.concatenate(outcomes(gold, predicted, classes), axis=1).astype(np.float64)
    return ItemScores(tuple(ids), columns, aggregate, labels=tuple(map(str, classes.tolist())))
