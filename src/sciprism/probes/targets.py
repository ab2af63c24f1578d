"""Targets of a probe as signs or numbers: classes, multi-labels, or real values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Integers
from sciprism.errors import InputError

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
        return ProbeTargets("labels", _signs(present.T), present)
    classes, numbers = np.unique(targets, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"all {rows} rows are of the class {classes[0]}; a probe needs two classes")
    positive = np.arange(len(classes))[-1:] if len(classes) == 2 else np.arange(len(classes))
    return ProbeTargets("classes", _signs(numbers == positive[:, None]), numbers.astype(np.int64), classes)


def _signs(present: NDArray[np.bool_]) -> Floats:
    return np.ascontiguousarray(np.where(present, 1, -1), np.float32)
