"""Solve linear probes, all classes, values of C and folds at once.

The objective is liblinear's, |w|^2 / 2 + C sum_i loss_i (Fan et al., LIBLINEAR, JMLR 9, 2008). An intercept
is the weight of an additional feature that is 1 everywhere, and counts in |w|^2, as in liblinear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sciprism.arrays import Doubles, Floats, Integers
from sciprism.parallel import map_threads
from sciprism.probes.descent import Descent, Solution
from sciprism.probes.features import PrincipalBasis, add_constant_column
from sciprism.probes.losses import ProbeLoss, SlackBlock


@dataclass(frozen=True, slots=True)
class Weights:
    """Fitted vectors (..., d), intercepts (...), 0 without one, and relative duality gaps (...).

    A gap is an upper bound of (objective - minimum) / objective. All are in double precision: where almost no
    loss is left, rounding errors of single precision matter.
    """

    vectors: Doubles
    intercepts: Doubles
    gaps: Doubles

    def shaped(self, *shape: int) -> Weights:
        """Return the same weights with the problems in another shape."""
        return Weights(self.vectors.reshape(*shape, -1), self.intercepts.reshape(shape), self.gaps.reshape(shape))


def split_intercept(whole: Tensor, gaps: Tensor, intercept: bool) -> Weights:
    """Return weights (p, d) or (p, d + 1) with the intercept separated."""
    rows = whole.double().numpy()
    vectors, last = (rows[:, :-1], rows[:, -1]) if intercept else (rows, np.zeros(len(rows)))
    return Weights(np.ascontiguousarray(vectors), last.copy(), gaps.numpy())


TOLERANCE = 1e-4  # relative duality gap at which a problem counts as solved
MAX_SLACKS = 1 << 27  # slacks that all cores together may hold: four arrays of 0.5 GiB in single precision
BLOCK_SLACKS = 1 << 18  # slacks that a block should hold: 1 MiB
MIN_CORE_SLACKS = 1 << 15  # slacks below which another core is not worth its cost
MAX_BLOCK_ROWS, MIN_BLOCK_ROWS = 4096, 512
"""Rows of a block: fewer would slow down the products."""


@dataclass(frozen=True, slots=True)
class Problems:
    """p problems on the same features.

    targets (k, n): +-1, or 0 for an ignored row; or real numbers. target_rows (p,): each problem's row of
    targets. costs (p,): C. held_out (p,): the part (fold) that is held out, -1 for none.
    """

    targets: Tensor
    target_rows: Tensor
    costs: Tensor
    held_out: Tensor

    def select(self, chosen: Tensor) -> Problems:
        """Return the chosen problems."""
        return Problems(self.targets, self.target_rows[chosen], self.costs[chosen], self.held_out[chosen])

    def __len__(self) -> int:
        return len(self.target_rows)


class Solver:
    """Solves problems on one matrix of features (n, d), in single precision, or double where that fails.

    parts: row numbers (folds), together all rows; a problem may hold out one part at no cost. problems: their
    approximate number per call.
    """

    def __init__(self, features: Floats, parts: Sequence[Integers] = (), *, intercept: bool, problems: int = 1) -> None:
        self._features = add_constant_column(features, intercept)
        self._parts = [torch.from_numpy(p) for p in parts] or [torch.arange(len(features))]
        self._intercept = intercept
        self._size = max(MIN_BLOCK_ROWS, min(MAX_BLOCK_ROWS, BLOCK_SLACKS // max(1, problems)))
        self._basis = PrincipalBasis.build(self._features, self._parts, self._size)

    def solve(self, problems: Problems, loss: ProbeLoss, tolerance: float, start: Weights | None = None) -> Weights:
        """Solve all problems; start: weights of as many similar problems."""
        whole = torch.zeros(len(problems), self._features.shape[1], dtype=torch.double)
        if start is not None:
            shifts = [start.intercepts[:, None]] if self._intercept else []
            whole = torch.from_numpy(np.concatenate([start.vectors, *shifts], axis=1))
        gaps = torch.zeros(len(problems), dtype=torch.double)

        def run(basis: PrincipalBasis, chosen: Tensor) -> None:
            axes = basis.axes.double()

            def solve_part(part: Tensor) -> tuple[Tensor, Tensor]:
                first = (whole[part] @ axes).to(basis.axes.dtype)
                solution = descend(basis, problems.select(part), loss, first, tolerance)
                return solution.weights.double() @ axes.T, solution.gaps

            parts = split_over_cores(chosen, basis.rows)
            for part, (weights, part_gaps) in zip(parts, map_threads(solve_part, parts), strict=True):
                whole[part], gaps[part] = weights, part_gaps

        run(self._basis, torch.arange(len(problems)))
        unsolved = torch.nonzero(gaps > tolerance)[:, 0]
        if len(unsolved):
            run(PrincipalBasis.build(self._features.double(), self._parts, self._size), unsolved)
        return split_intercept(whole, gaps, self._intercept)


def descend(basis: PrincipalBasis, problems: Problems, loss: ProbeLoss, start: Tensor, tolerance: float) -> Solution:
    """Solve problems in the coordinates of a basis, starting from weights (p, r) in these coordinates."""
    blocks = []
    for block in basis.blocks:
        members = torch.nonzero(problems.held_out != block.part)[:, 0]
        targets = problems.targets[:, block.numbers].to(start.dtype)[problems.target_rows[members]]
        blocks.append(SlackBlock(loss, block.rows, members, targets, start))
    descent = Descent(loss, blocks, start, costs=problems.costs, spectrum=basis.spectrum, rows=basis.rows)
    return descent.solve(tolerance)


def split_over_cores(chosen: Tensor, rows: int) -> list[Tensor]:
    """Split problems (p,) over the cores, in parts that fit into memory.

    Every core solves its own problems from start to end. Cores that shared each product would wait for each
    other thousands of times, for minutes if another program keeps one of them busy.
    """
    cores = torch.get_num_threads()
    count = max(-(-len(chosen) * rows // (MAX_SLACKS // cores)), min(cores, len(chosen) * rows // MIN_CORE_SLACKS), 1)
    return [chosen[first::count] for first in range(min(count, len(chosen)))]
