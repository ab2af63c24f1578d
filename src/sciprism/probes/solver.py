"""Fit linear probes, as many at once as there are classes, values of C and folds.

The objective is liblinear's, |w|^2 / 2 + C sum_i loss_i (Fan et al., LIBLINEAR, JMLR 9, 2008). An intercept
is the weight of one more feature that is 1 everywhere, and counts in |w|^2, as there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sciprism.arrays import Floats
from sciprism.cores import on_all_cores
from sciprism.probes.basis import Basis
from sciprism.probes.descent import Descent, Solution
from sciprism.probes.losses import Loss
from sciprism.probes.pieces import Piece
from sciprism.probes.rows import Rows
from sciprism.probes.weights import Integers, Weights, joined, parted, with_constant

TOLERANCE = 1e-4
"""Relative duality gap at which a problem counts as solved."""
NUMBERS = 1 << 27
"""Slacks that all cores may hold at a time: four arrays of 0.5 GiB in single precision."""
BLOCK = 1 << 18
"""Slacks that a piece should hold: 1 MiB."""
SMALL = 1 << 15
"""Slacks that are not worth another core."""
LARGEST, SMALLEST = 4096, 512
"""Rows of a block: fewer would slow the products down."""


@dataclass(frozen=True, slots=True)
class Problems:
    """p problems on the same features.

    targets (k, n): +-1, or 0 for a row left out; or real numbers. which (p,): the row of targets of each
    problem. costs (p,): C. without (p,): the part of the rows left out, -1 for none.
    """

    targets: Tensor
    which: Tensor
    costs: Tensor
    without: Tensor

    def of(self, chosen: Tensor) -> Problems:
        """Return the chosen problems."""
        return Problems(self.targets, self.which[chosen], self.costs[chosen], self.without[chosen])

    def __len__(self) -> int:
        return len(self.which)


class Solver:
    """Solves problems on one matrix of features (n, d), in single precision, or in double where that fails.

    parts: row numbers, together all rows; a problem may leave one part out at no cost. problems: about how
    many there will be at once.
    """

    def __init__(
        self, features: Floats, parts: Sequence[Integers] = (), *, intercept: bool, problems: int = 1
    ) -> None:
        self._features = with_constant(features, intercept)
        self._parts = [torch.from_numpy(p) for p in parts] or [torch.arange(len(features))]
        self._intercept = intercept
        self._size = max(SMALLEST, min(LARGEST, BLOCK // max(1, problems)))
        self._basis = Basis.of(self._features, self._parts, self._size)

    def solve(
        self, problems: Problems, loss: Loss, tolerance: float, start: Weights | None = None
    ) -> Weights:
        """Solve all problems; start: weights of as many problems that may be near."""
        whole = torch.zeros(len(problems), self._features.shape[1], dtype=torch.double)
        if start is not None:
            whole = joined(start, self._intercept)
        gaps = torch.zeros(len(problems), dtype=torch.double)
        iterations = torch.zeros(len(problems), dtype=torch.long)

        def run(basis: Basis, chosen: Tensor) -> None:
            axes = basis.axes.double()

            def one(part: Tensor) -> tuple[Tensor, Solution]:
                first = (whole[part] @ axes).to(basis.axes.dtype)
                done = descend(basis, problems.of(part), loss, first, tolerance)
                return done.weights.double() @ axes.T, done

            parts = shares(chosen, basis.rows)
            for part, (found, done) in zip(parts, on_all_cores(one, parts), strict=True):
                whole[part], gaps[part] = found, done.gaps
                iterations[part] += done.iterations

        run(self._basis, torch.arange(len(problems)))
        unsolved = torch.nonzero(gaps > tolerance)[:, 0]
        if len(unsolved):
            run(Basis.of(self._features.double(), self._parts, self._size), unsolved)
        return parted(whole, gaps, iterations, self._intercept)


def descend(basis: Basis, problems: Problems, loss: Loss, start: Tensor, tolerance: float) -> Solution:
    """Solve problems in the coordinates of a basis, from weights (p, r) in them."""
    pieces = []
    for block in basis.blocks:
        members = torch.nonzero(problems.without != block.part)[:, 0]
        targets = problems.targets[:, block.numbers].to(start.dtype)[problems.which[members]]
        pieces.append(make_piece(loss, block.rows, members, targets, start))
    costs = problems.costs * loss.weight
    widths = starting_widths(loss, pieces, len(problems), start.dtype)
    return Descent(
        loss, pieces, start, costs=costs, spectrum=basis.spectrum, rows=basis.rows, widths=widths
    ).solve(tolerance)


def shares(chosen: Tensor, rows: int) -> list[Tensor]:
    """Deal problems (p,) out to the cores, in parts that memory has room for.

    Every core solves problems of its own from start to end. Cores that shared each product would wait for
    each other thousands of times, for minutes where other programs keep one of them busy.
    """
    cores = torch.get_num_threads()
    count = max(-(-len(chosen) * rows // (NUMBERS // cores)), min(cores, len(chosen) * rows // SMALL), 1)
    return [chosen[first::count] for first in range(min(count, len(chosen)))]


def starting_widths(loss: Loss, pieces: Sequence[Piece], count: int, dtype: torch.dtype) -> Tensor:
    """Choose how round the corners are at first (p,): so that most rows are on the curve where w is 0.

    Then the first scale of the directions is right.
    """
    if loss.margins:
        return torch.full((count,), 2.0 if loss.cornered else 1.0, dtype=dtype)
    sums, rows = torch.zeros(count, dtype=dtype), torch.zeros(count, dtype=dtype)
    for piece in pieces:
        sums.index_add_(0, piece.members, piece.slack.abs().sum(1))
        rows[piece.members] += piece.slack.shape[1]
    return torch.where(sums > 0, 2 * sums / rows, 1)


def make_piece(loss: Loss, rows: Rows, members: Tensor, targets: Tensor, weights: Tensor) -> Piece:
    """Set up one piece for weights (all problems, r); targets (p, n) are those of its members."""
    slack = targets.abs() if loss.margins else targets.clone()
    scores = rows.scores(weights[members])
    slack -= scores * targets if loss.margins else scores
    return Piece(
        loss,
        rows,
        members,
        signs=targets if loss.margins else None,
        slack=slack,
        centre=torch.zeros_like(slack) if loss.cornered else None,
        step=slack[:0],
    )
