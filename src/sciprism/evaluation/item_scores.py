"""What each item contributed to a score, and what can be said of the score because of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import BadZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sciprism.arrays import Doubles
from sciprism.errors import InputError
from sciprism.evaluation.aggregates import OUTCOMES, aggregates
from sciprism.files import commit
from sciprism.metrics.alignment import check_aligned, finite
from sciprism.metrics.classes import correct, outcomes

SAMPLES = 1000
"""Resamples and random swaps, if not said otherwise; p is then at least 1/1001."""
LEVEL = 95.0
"""Per cent of resamples inside an interval."""
CELLS = 4_000_000
"""Weights of items in resamples that are held in memory at once."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Items, the columns (n, c) they contribute, and the aggregate that makes one number of them.

    more: columns of the same items again, where a score is the mean over several parts (few-shot iterations).
    labels: the classes of an F1, whose columns are the true positives of each, the false positives of each,
    the false negatives of each.
    Raises InputError for repeated ids, numbers that are not finite, columns that the aggregate cannot read.
    """

    ids: tuple[str, ...]
    columns: Doubles
    aggregate: str
    more: tuple[Doubles, ...] = ()
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.ids)) < len(self.ids):
            twice = Counter(self.ids).most_common(1)[0][0]
            raise InputError(f"item {twice!r} has evidence twice; give each item one row")
        columns, *more = (_checked(self, part) for part in self.parts)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "more", tuple(more))

    @property
    def parts(self) -> tuple[Doubles, ...]:
        """The columns of each part; the score is the mean of the parts' numbers."""
        return (self.columns, *self.more)


@dataclass(frozen=True, slots=True)
class Difference:
    """Score of one system minus that of another over the n items they share.

    low, high: 95% interval of a paired bootstrap. p: chance of a difference at least as large, either way, if
    it did not matter which system an item's result came from. only_a, only_b: items of one system, left out.
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    only_a: tuple[str, ...] = ()
    only_b: tuple[str, ...] = ()


def estimate(evidence: Evidence) -> float:
    """Return the score; NaN without items or where the aggregate has no value (correlation of a constant)."""
    if not evidence.ids:
        return float("nan")
    return float(_statistic(evidence.parts, evidence.aggregate, np.ones((1, len(evidence.ids))))[0])


def interval(evidence: Evidence, *, seed: int, samples: int = SAMPLES) -> tuple[float, float]:
    """Return the 95% percentile bootstrap interval of the score: items are drawn anew with replacement.

    Resamples in which the aggregate has no value are left out; (NaN, NaN) where none has one.
    """
    found = [
        _statistic(evidence.parts, evidence.aggregate, weights)
        for weights in _resamples(len(evidence.ids), seed, samples)
    ]
    return _percentiles(found)


def paired_difference(a: Evidence, b: Evidence, *, seed: int, samples: int = SAMPLES) -> Difference:
    """Compare two systems on the items of both: paired bootstrap and paired randomisation test.

    The test swaps the two systems' results of each item at random: p = (1 + as large) / (1 + samples).
    Raises InputError where aggregates or numbers of parts differ.
    """
    if a.aggregate != b.aggregate or len(a.more) != len(b.more):
        raise InputError(
            f"{a.aggregate!r} of {len(a.parts)} and {b.aggregate!r} of {len(b.parts)} parts do not compare"
        )
    in_a, in_b = set(a.ids), set(b.ids)
    ids = tuple(i for i in a.ids if i in in_b)
    left_a, left_b = tuple(i for i in a.ids if i not in in_b), tuple(i for i in b.ids if i not in in_a)
    if not ids:
        nan = float("nan")
        return Difference(nan, nan, nan, nan, 0, left_a, left_b)
    one, other = _same_classes(_on(a, ids), _on(b, ids))
    value = estimate(one) - estimate(other)
    found = [_gap(one, other, weights) for weights in _resamples(len(ids), seed, samples)]
    low, high = _percentiles(found)
    return Difference(value, low, high, _swap_p(one, other, value, seed, samples), len(ids), left_a, left_b)


def holm(p_values: ArrayLike) -> Doubles:
    """Correct p values (m,) for asking m questions (Holm 1979), in the order given; NaN stays, uncounted.

    The i-th smallest is multiplied by m - i + 1, no result is below one before it, none is above 1.
    """
    given = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(given, kind="stable")[: int((~np.isnan(given)).sum())]
    corrected = np.full(given.shape, np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(given[order] * np.arange(len(order), 0, -1)), 1.0)
    return corrected


def classification(
    ids: Sequence[str],
    gold: ArrayLike,
    predicted: ArrayLike,
    aggregate: str,
    *,
    labels: ArrayLike | None = None,
) -> Evidence:
    """Make the evidence of single labels (n,): aggregate "accuracy", "f1_macro", "f1_micro" or "f1_binary".

    labels: the classes of the columns; without them those that occur. "f1_binary" is that of class 1.
    """
    if aggregate == "accuracy":
        return Evidence(tuple(ids), correct(gold, predicted).astype(np.float64)[:, None], aggregate)
    classes: NDArray[Any] = np.union1d(gold, predicted) if labels is None else np.asarray(labels)
    if aggregate == "f1_binary":
        if len(classes) > 2 or (len(classes) == 2 and 1 not in classes):
            raise InputError(f'"f1_binary" is that of class 1 against one other, not of {classes.tolist()}')
        classes = np.array([1])
    elif not np.isin(np.union1d(gold, predicted), classes).all():
        missing = np.setdiff1d(np.union1d(gold, predicted), classes)
        raise InputError(f"{missing[0]!r} is gold or predicted but not among the labels {classes.tolist()}")
    return _outcomes(ids, gold, predicted, aggregate, classes)


def multi_label(
    ids: Sequence[str],
    gold: ArrayLike,
    predicted: ArrayLike,
    aggregate: str,
    *,
    labels: Sequence[str] | None = None,
) -> Evidence:
    """Make the evidence of multi-labels (n, c) of 0 and 1: aggregate "accuracy", "f1_macro" or "f1_micro".

    All columns count as classes, also those that nobody has. labels: their names, (c,), else their numbers.
    """
    if aggregate == "accuracy":
        return Evidence(tuple(ids), correct(gold, predicted).astype(np.float64)[:, None], aggregate)
    aggregate = "f1_macro_multi_label" if aggregate == "f1_macro" else aggregate
    names = np.arange(np.asarray(gold).shape[1]) if labels is None else np.asarray(labels)
    return _outcomes(ids, gold, predicted, aggregate, names)


def numbers(ids: Sequence[str], gold: ArrayLike, predicted: ArrayLike, aggregate: str) -> Evidence:
    """Make the evidence of predicted numbers (n,): aggregate "kendall_tau", "spearman", "pearson" or "r2"."""
    x, y = finite(gold, "gold numbers"), finite(predicted, "predicted numbers")
    check_aligned(x, y, "gold and predicted numbers")
    return Evidence(tuple(ids), np.stack([x, y], axis=1), aggregate)


def mean_of(parts: Sequence[Evidence]) -> Evidence:
    """Unite the evidence of parts (few-shot iterations) on the same items, whose scores are averaged."""
    first = parts[0]
    if any(part.ids != first.ids or part.aggregate != first.aggregate for part in parts):
        raise InputError("parts of one score need the same items in the same order and the same aggregate")
    labels = tuple(dict.fromkeys(label for part in parts for label in part.labels))
    columns = [column for part in parts for column in _with_classes(part, labels).parts]
    return Evidence(first.ids, columns[0], first.aggregate, tuple(columns[1:]), labels)


def write(path: Path, evidence: Evidence) -> None:
    """Write a compressed .npz, all of it or nothing.

    No digit is lost: numbers that single precision holds exactly take four bytes, others eight.
    """
    arrays: dict[str, Any] = {f"part{n}": _narrow(part) for n, part in enumerate(evidence.parts)}
    for name, words in (
        ("ids", evidence.ids),
        ("labels", evidence.labels),
        ("aggregate", [evidence.aggregate]),
    ):
        arrays[name] = np.array(words, dtype=np.str_)

    def save(file: BinaryIO) -> None:
        np.savez_compressed(file, **arrays)

    commit(path, save)


def read(path: Path) -> Evidence:
    """Read what `write` wrote; InputError where the file is none of these."""
    try:
        with np.load(path, allow_pickle=False) as file:
            parts = [file[f"part{n}"] for n in range(sum(name.startswith("part") for name in file.files))]
            ids, labels, aggregate = (tuple(file[name].tolist()) for name in ("ids", "labels", "aggregate"))
            return Evidence(ids, parts[0], aggregate[0], tuple(parts[1:]), labels)
    except (BadZipFile, KeyError, IndexError, TypeError, ValueError, EOFError) as error:
        raise InputError(f"{path} holds no evidence: {error}; evaluate the task again") from error


def _checked(evidence: Evidence, part: ArrayLike) -> Doubles:
    columns = np.asarray(part, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    wanted = aggregates[evidence.aggregate]
    width = len(wanted.columns)
    if wanted.per_class:
        blocks = max(1, columns.shape[-1] // width)
        width *= len(evidence.labels) or blocks
    if columns.shape != (len(evidence.ids), width):
        raise InputError(
            f"evidence of {len(evidence.ids)} items has columns {columns.shape}; {evidence.aggregate!r} "
            f"reads {width}: {', '.join(wanted.columns)}{' of each class' if wanted.per_class else ''}"
        )
    bad = np.flatnonzero(~np.isfinite(columns).all(axis=1))
    if len(bad):
        raise InputError(f"item {evidence.ids[bad[0]]!r} has evidence that is not a finite number")
    return columns


def _statistic(parts: Sequence[Doubles], aggregate: str, weights: Doubles) -> Doubles:
    statistic = aggregates[aggregate].statistic
    mean: Doubles = np.mean([statistic(part, weights) for part in parts], axis=0)
    return mean


def _gap(a: Evidence, b: Evidence, weights: Doubles) -> Doubles:
    return _statistic(a.parts, a.aggregate, weights) - _statistic(b.parts, b.aggregate, weights)


def _resamples(items: int, seed: int, samples: int) -> Iterator[Doubles]:
    """Yield how often each item is drawn, (b, items), in blocks that make `samples` together."""
    rng = np.random.default_rng([seed, 0])
    for block in _blocks(items, samples):
        drawn = (rng.integers(0, items, items) for _ in range(block))
        yield np.stack([np.bincount(draw, minlength=items) for draw in drawn]).astype(np.float64)


def _blocks(items: int, samples: int) -> Iterator[int]:
    step = max(1, CELLS // max(1, items))
    for start in range(0, samples if items else 0, step):
        yield min(step, samples - start)


def _swap_p(a: Evidence, b: Evidence, value: float, seed: int, samples: int) -> float:
    """Return the two-sided p: of 2n rows, n of either system, a swap takes the other's for the item."""
    if np.isnan(value):
        return value
    parts = [np.concatenate(pair) for pair in zip(a.parts, b.parts, strict=True)]
    rng = np.random.default_rng([seed, 1])
    items, large = len(a.ids), 0
    for block in _blocks(2 * items, samples):
        swapped = rng.integers(0, 2, (block, items)).astype(np.float64)
        own, others = (np.concatenate(w, axis=1) for w in ((1 - swapped, swapped), (swapped, 1 - swapped)))
        gaps = _statistic(parts, a.aggregate, own) - _statistic(parts, a.aggregate, others)
        # Equal differences differ in their last digits, by the order in which they are added up.
        large += int((np.abs(gaps) >= abs(value) * (1 - 1e-9) - 1e-12).sum())
    return (1 + large) / (1 + samples)


def _percentiles(found: Sequence[Doubles]) -> tuple[float, float]:
    values = np.concatenate([np.empty(0), *found])
    values = values[~np.isnan(values)]
    if not len(values):
        return float("nan"), float("nan")
    low, high = np.percentile(values, [(100 - LEVEL) / 2, (100 + LEVEL) / 2])
    return float(low), float(high)


def _on(evidence: Evidence, ids: tuple[str, ...]) -> Evidence:
    """Keep these items, in this order."""
    if ids == evidence.ids:
        return evidence
    place = {i: n for n, i in enumerate(evidence.ids)}
    rows = np.array([place[i] for i in ids], dtype=np.int64)
    return replace(
        evidence, ids=ids, columns=evidence.columns[rows], more=tuple(p[rows] for p in evidence.more)
    )


def _same_classes(a: Evidence, b: Evidence) -> tuple[Evidence, Evidence]:
    if a.labels == b.labels and a.columns.shape == b.columns.shape:
        return a, b
    if not (a.labels and b.labels):
        raise InputError(f"columns {a.columns.shape} and {b.columns.shape} do not compare; name their labels")
    labels = tuple(dict.fromkeys((*a.labels, *b.labels)))
    return _with_classes(a, labels), _with_classes(b, labels)


def _with_classes(evidence: Evidence, labels: tuple[str, ...]) -> Evidence:
    """Give the columns the classes and order of these labels; nobody has or gets those that are new."""
    if labels == evidence.labels:
        return evidence
    new = set(labels) - set(evidence.labels)
    if new and aggregates[evidence.aggregate].idle_classes:
        raise InputError(
            f"{evidence.aggregate!r} over other classes does not compare: {min(new)!r} is in one only"
        )
    place = {label: n for n, label in enumerate(labels)}
    spots = [place[label] for label in evidence.labels]

    def widened(part: Doubles) -> Doubles:
        wide = np.zeros((len(part), len(OUTCOMES), len(labels)))
        wide[:, :, spots] = part.reshape(len(part), len(OUTCOMES), -1)
        return wide.reshape(len(part), -1)

    return Evidence(
        evidence.ids,
        widened(evidence.columns),
        evidence.aggregate,
        tuple(map(widened, evidence.more)),
        labels,
    )


def _outcomes(
    ids: Sequence[str], gold: ArrayLike, predicted: ArrayLike, aggregate: str, classes: NDArray[Any]
) -> Evidence:
    columns = np.concatenate(outcomes(gold, predicted, classes), axis=1).astype(np.float64)
    return Evidence(tuple(ids), columns, aggregate, labels=tuple(map(str, classes.tolist())))


def _narrow(columns: Doubles) -> NDArray[Any]:
    single = columns.astype(np.float32)
    return single if np.array_equal(single, columns) else columns
