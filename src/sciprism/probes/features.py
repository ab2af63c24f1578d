"""What a probe is fitted to: features, also in the coordinates of their principal directions, and targets.

In these coordinates the sum of x x^T over all rows is diagonal, and so, nearly, is the curvature of any probe
on a subset of the rows. A diagonal preconditioner then saves nine iterations in ten; lengths of weights do
not change. With fewer rows than features there are only as many coordinates as rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sciprism.arrays import Doubles, Floats, Integers, inner_products
from sciprism.errors import InputError
from sciprism.parallel import map_threads


def check_features(features: NDArray[np.floating]) -> Floats:
    """Return features (n, d) as float32; InputError for values that are not finite."""
    if features.ndim != 2:
        raise InputError(f"features have shape {features.shape}; give one row per paper")
    checked = np.ascontiguousarray(features, np.float32)
    broken = np.flatnonzero(~np.isfinite(checked).all(axis=1))
    if len(broken):
        raise InputError(
            f"features: {len(broken)} of {len(checked)} rows hold NaN, infinity or a number beyond float32 "
            f"(first: row {broken[0]}); remove these rows or correct the vectors"
        )
    return checked


def add_constant_column(features: Floats, intercept: bool) -> Tensor:
    """Return features (n, d), with an additional column of ones if there is an intercept."""
    if intercept:
        features = np.concatenate([features, np.ones((len(features), 1), np.float32)], axis=1)
    return torch.from_numpy(features)


class SharedRows:
    """Rows (n, r) that all problems share: a problem is one row of a matrix product.

    Stored in both memory orders: each product reads the faster one.
    """

    def __init__(self, features: Tensor) -> None:
        self.features = features
        self.transposed = features.T.contiguous()

    def scores(self, weights: Tensor) -> Tensor:
        """Multiply with weights (p, r) -> (p, n)."""
        return row_products(weights, self.features)

    def combine(self, duals: Tensor) -> Tensor:
        """Add up the rows weighted by duals (p, n) -> (p, r)."""
        return row_products(duals, self.transposed)


def row_products(left: Tensor, right: Tensor) -> Tensor:
    """Return the dot products of all rows of left and right -> (m, n), in single or double precision."""
    return inner_products(left, right) if left.element_size() == 4 else left @ right.T


GRAM_BLOCK = 8192  # rows whose products are summed in single precision
NEGLIGIBLE = 1e-12  # directions with an eigenvalue below this share of the largest are rounding errors


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some rows of the features: their numbers (n,), their part (fold), and the rows in the basis."""

    numbers: Tensor
    part: int
    rows: SharedRows


@dataclass(frozen=True, slots=True)
class PrincipalBasis:
    """Features in blocks, rotated by axes (d, r); spectrum: the r eigenvalues of the sum of x x^T."""

    blocks: tuple[RowBlock, ...]
    axes: Tensor
    spectrum: Tensor
    rows: int

    @classmethod
    def build(cls, features: Tensor, parts: Sequence[Tensor], size: int) -> PrincipalBasis:
        """Rotate features (n, d) in their own precision; size: rows per block."""
        # on one core, like all that follows: cores that share a product wait for each other
        [(axes, spectrum)] = map_threads(principal_axes, [features])
        rotation = axes.T.contiguous()
        pieces = [
            (part, numbers)
            for part, all_numbers in enumerate(parts)
            for numbers in torch.split(all_numbers, size)
            if len(numbers)
        ]

        def rotate(piece: tuple[int, Tensor]) -> RowBlock:
            part, numbers = piece
            return RowBlock(numbers, part, SharedRows(row_products(features[numbers], rotation)))

        return cls(tuple(map_threads(rotate, pieces)), axes, spectrum, len(features))


def principal_axes(features: Tensor) -> tuple[Tensor, Tensor]:
    """Return orthonormal axes (d, r) and eigenvalues (r,) of the sum of x x^T of the rows (n, d).

    r is the smaller of d and n; if it is n, negligible axes are zero.
    """
    count, width = features.shape
    if count < width:  # X^T M are the axes, M being the eigenvectors of X X^T, each divided by the root of its value
        wide = features.double()
        values, vectors = torch.linalg.eigh(wide @ wide.T)
        sound = values > NEGLIGIBLE * values[-1].clamp_min(1e-300)
        axes = wide.T @ (vectors * torch.where(sound, values.rsqrt(), 0))
        return axes.to(features.dtype), torch.where(sound, values, 0).to(features.dtype)
    gram = torch.zeros(width, width, dtype=torch.double)
    for block in torch.split(features, GRAM_BLOCK):
        columns = block.T.contiguous()
        gram += row_products(columns, columns)
    values, axes = torch.linalg.eigh(gram)
    return axes.to(features.dtype), values.clamp_min(0).to(features.dtype)


TargetKind = Literal["classes", "labels", "values"]


@dataclass(frozen=True, slots=True)
class ProbeTargets:
    """Targets as the solver needs them: columns (k, n), +-1 or real, one per problem.

    kind "classes": one class per row; truth (n,) indexes `classes`, and columns are one against the rest
    (one column for two classes: the second against the first). "labels": truth (n, k) of 0 and 1.
    "values": truth (n, k) of float64.
    """

    kind: TargetKind
    columns: Floats
    truth: NDArray[Any]
    classes: NDArray[Any] | None = None

    def groups(self) -> list[Integers]:
        """Return the groups of columns that share one choice of C: all classes; each label or value alone."""
        numbers = np.arange(len(self.columns))
        return [numbers] if self.kind == "classes" else list(numbers[:, None])

    def constant(self) -> Integers:
        """Return the numbers of the labels that are the same in every row."""
        if self.kind != "labels":
            return np.zeros(0, np.int64)
        return np.flatnonzero((self.columns == self.columns[:, :1]).all(axis=1))


def read_targets(targets: NDArray[Any], rows: int, margins: bool) -> ProbeTargets:
    """Return targets (n,) or (n, k) as the solver needs them; margins: the loss needs signs, not numbers.

    With margins, one dimension means classes (any values) and two mean multi-labels (0/1 or False/True).
    """
    if targets.ndim not in (1, 2) or len(targets) != rows or not targets.size:
        raise InputError(f"targets have shape {targets.shape}; give one row for each of the {rows} rows of features")
    if not margins:
        values = np.asarray(targets, np.float64).reshape(rows, -1)
        if not np.isfinite(values).all():
            raise InputError("targets hold NaN or infinity; remove these rows")
        return ProbeTargets("values", np.ascontiguousarray(values.T, np.float32), values)
    if targets.ndim == 2:
        if not np.isin(targets, (0, 1)).all():
            raise InputError("a matrix of labels must hold only 0 and 1; give classes as one column")
        present = targets.astype(bool)
        return ProbeTargets("labels", np.ascontiguousarray(np.where(present.T, 1, -1), np.float32), present)
    classes, numbers = np.unique(targets, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"all {rows} rows are of the class {classes[0]}; a probe needs two classes")
    positive = np.arange(len(classes))[-1:] if len(classes) == 2 else np.arange(len(classes))
    signs = np.where(numbers == positive[:, None], np.float32(1), np.float32(-1))
    return ProbeTargets("classes", signs, numbers.astype(np.int64), classes)


def assign_folds(targets: ProbeTargets, folds: int) -> Integers:
    """Return the fold of each row: (1, n), or (k, n) if every label has its own folds."""
    rows = len(targets.truth)
    if targets.kind != "labels":
        return split_folds(rows, folds, targets.truth if targets.kind == "classes" else None)[None]
    constant = set(targets.constant().tolist())
    columns = enumerate(targets.truth.T)
    return np.stack([split_folds(rows, folds, None if number in constant else column) for number, column in columns])


def split_folds(rows: int, folds: int, labels: NDArray[Any] | None = None) -> Integers:
    """Return the fold of each row (n,), as scikit-learn's KFold does, or StratifiedKFold with labels (n,)."""
    from sklearn.model_selection import KFold, StratifiedKFold

    classes = np.unique(labels, return_inverse=True)[1] if labels is not None else None
    fold_of_row = np.empty(rows, np.int64)
    try:
        with warnings.catch_warnings(action="ignore"):  # of classes with fewer rows than folds
            splitter = KFold(folds) if classes is None else StratifiedKFold(folds)
            for number, (_, held_out) in enumerate(splitter.split(np.zeros(rows), classes)):
                fold_of_row[held_out] = number
    except ValueError as error:
        raise InputError(f"{folds} folds of {rows} rows: {error} Give more rows or use fewer folds.") from None
    return fold_of_row


@dataclass(frozen=True, slots=True)
class Probe:
    """Vectors (k, d) and intercepts (k,) of the decision functions, and their kind.

    classes: the values that a probe of kind "classes" predicts, ascending; two classes share one vector.
    """

    kind: TargetKind
    vectors: Floats
    intercepts: Floats
    classes: NDArray[Any] | None = None

    def decide(self, features: NDArray[np.floating]) -> Floats:
        """Return the decision values (n, k) of features (n, d)."""
        rows = torch.from_numpy(check_features(features))
        return np.asarray(inner_products(rows, torch.from_numpy(self.vectors)).numpy() + self.intercepts)

    def predict(self, features: NDArray[np.floating]) -> NDArray[Any]:
        """Return, of features (n, d), classes (n,), labels (n, k) of 0 and 1, or values (n, k).

        The class has the highest decision value, the lowest class among equals. A label is predicted where
        its decision value is above 0.
        """
        decisions = self.decide(features)
        if self.kind == "values":
            return decisions
        if self.kind == "labels":
            return (decisions > 0).astype(np.int64)
        assert self.classes is not None
        return self.classes[choose_classes(decisions)]


def build_probe(
    targets: ProbeTargets, vectors: Doubles, intercepts: Doubles, rows: Integers | None = None, name: str = "all"
) -> Probe:
    """Return the probe of weights (k, d) and intercepts (k,), fitted on all rows or some, which have a name.

    Labels that are constant there stay constant; classes that are not there are never predicted.
    """
    columns = targets.columns if rows is None else targets.columns[:, rows]
    if targets.kind == "labels":
        constant = (columns == columns[:, :1]).all(axis=1)
        vectors[constant], intercepts[constant] = 0, columns[constant, 0]
    classes = targets.classes
    if classes is not None:
        seen = np.unique(targets.truth if rows is None else targets.truth[rows])
        if len(seen) < 2:
            raise InputError(f"{name} (of {columns.shape[1]} rows) has one class only; sample subsets with two or more")
        if len(vectors) > 1:
            vectors, intercepts = vectors[seen], intercepts[seen]
        classes = classes[seen]
    return Probe(targets.kind, vectors.astype(np.float32), intercepts.astype(np.float32), classes)


def choose_classes(decisions: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the class numbers (..., n) of decision values (..., n, k); k = 1 means two classes."""
    if decisions.shape[-1] == 1:
        return (decisions[..., 0] > 0).astype(np.int64)
    highest: NDArray[np.int64] = decisions.argmax(axis=-1)
    return highest
