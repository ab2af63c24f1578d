"""Targets of a probe as signs or numbers: classes, labels that go together, or real values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats
from sciprism.errors import InputError
from sciprism.probes.weights import Integers

Kind = Literal["classes", "labels", "values"]


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets in the solver's form: columns (k, n), +-1 or real, one per problem.

    kind "classes": one class per row; truth (n,) numbers into `classes`, and columns are one against the rest
    (one column for two classes: the second against the first). "labels": truth (n, k) of 0 and 1.
    "values": truth (n, k) of float64.
    """

    kind: Kind
    columns: Floats
    truth: NDArray[Any]
    classes: NDArray[Any] | None = None

    def groups(self) -> list[Integers]:
        """Return the columns that share one choice of C: all classes together, each label or value alone."""
        numbers = np.arange(len(self.columns))
        return [numbers] if self.kind == "classes" else list(numbers[:, None])

    def constant(self) -> Integers:
        """Return the labels that are the same in every row."""
        if self.kind != "labels":
            return np.zeros(0, np.int64)
        return np.flatnonzero((self.columns == self.columns[:, :1]).all(axis=1))


def read_targets(targets: NDArray[Any], rows: int, margins: bool) -> Targets:
    """Return targets (n,) or (n, k) in the solver's form; margins: the loss wants signs, not numbers.

    With margins, one dimension means classes (any values) and two mean labels (0 and 1, or False and True).
    """
    if targets.ndim not in (1, 2) or len(targets) != rows or not targets.size:
        raise InputError(
            f"targets have shape {targets.shape}; give one row for each of the {rows} rows of features"
        )
    if not margins:
        values = np.asarray(targets, np.float64).reshape(rows, -1)
        if not np.isfinite(values).all():
            raise InputError("targets hold NaN or infinity; remove these rows")
        return Targets("values", np.ascontiguousarray(values.T, np.float32), values)
    if targets.ndim == 2:
        if not np.isin(targets, (0, 1)).all():
            raise InputError("a matrix of labels must hold 0 and 1 alone; classes are given as one column")
        present = targets.astype(bool)
        return Targets("labels", _signs(present.T), present)
    classes, numbers = np.unique(targets, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"all {rows} rows are of the class {classes[0]}; a probe needs two classes")
    wanted = np.arange(len(classes))[-1:] if len(classes) == 2 else np.arange(len(classes))
    return Targets("classes", _signs(numbers == wanted[:, None]), numbers.astype(np.int64), classes)


def _signs(present: NDArray[np.bool_]) -> Floats:
    return np.ascontiguousarray(np.where(present, 1, -1), np.float32)
