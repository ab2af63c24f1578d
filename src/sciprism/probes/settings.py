"""Settings of a probe: its loss, values of C, and cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sciprism.errors import InputError
from sciprism.probes.losses import LOSSES, LossName
from sciprism.probes.solver import TOLERANCE

Selection = Literal["accuracy", "r2"]
SolverName = Literal["sciprism", "sklearn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSettings:
    """Settings of a grid search; InputError for invalid values.

    loss: "squared_hinge" or "hinge" for classes and labels, "epsilon_insensitive" (epsilon 0) for real
    targets. grid: values of C. selection: the score whose mean over the folds chooses C ("": the loss's own).
    intercept: False for the published numbers of SciDocs and SciRepEval, True for scikit-learn's default.
    tolerance: relative duality gap at which a problem counts as solved. solver: "sklearn" runs scikit-learn's
    GridSearchCV instead; only it uses seed and iterations (its max_iter).
    """

    loss: LossName = "squared_hinge"
    grid: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    folds: int = 3
    selection: Selection | Literal[""] = ""
    intercept: bool = False
    tolerance: float = TOLERANCE
    solver: SolverName = "sciprism"
    seed: int = 42
    iterations: int = 1000

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise InputError(f"unknown loss {self.loss!r}; known: {', '.join(LOSSES)}")
        if not self.grid or not all(0 < c < float("inf") for c in self.grid):
            raise InputError(f"the grid of C is {self.grid}; give numbers above 0")
        fitting: Selection = "accuracy" if LOSSES[self.loss].margins else "r2"
        if self.selection not in ("", fitting):
            raise InputError(f"the loss {self.loss} is selected by {fitting}, not by {self.selection!r}")
        object.__setattr__(self, "selection", fitting)
        if self.solver not in ("sciprism", "sklearn"):
            raise InputError(f"unknown solver {self.solver!r}; known: sciprism, sklearn")
        if self.folds < 2:
            raise InputError(f"{self.folds} folds; give at least 2")
        if not 0 < self.tolerance < 1:
            raise InputError(f"the tolerance is {self.tolerance}; give a number between 0 and 1")
