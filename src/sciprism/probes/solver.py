"""Solve linear probes, all classes, values of C and folds at once.

The objective is liblinear's, |w|^2 / 2 + C sum_i loss_i (Fan et al., LIBLINEAR, JMLR 9, 2008). An intercept
is the weight of an additional feature that is 1 everywhere, and counts in |w|^2, as in liblinear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sciprism.arrays import Floats, Integers
from sciprism.parallel import map_threads
from sciprism.probes.basis import PrincipalBasis
from sciprism.probes.descent import Descent, Solution
from sciprism.probes.feature_rows import FeatureRows
from sciprism.probes.losses import ProbeLoss
from sciprism.probes.slack_blocks import SlackBlock
from sciprism.probes.weights import Weights, add_constant_column, join_intercept, split_intercept

TOLERANCE = 1e-4
"""Relative duality gap at which a problem counts as solved."""
MAX_SLACKS = 1 << 27
"""Slacks that all cores together may hold: four arrays of 0.5 GiB in single precision."""
BLOCK_SLACKS = 1 << 18
"""Slacks that a block should hold: 1 MiB."""
MIN_CORE_SLACKS = 1 << 15
"""Slacks below which another core is not worth its cost."""
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
            whole = join_intercept(start, self._intercept)
        gaps = torch.zeros(len(problems), dtype=torch.double)
        iterations = torch.zeros(len(problems), dtype=torch.long)

        def run(basis: PrincipalBasis, chosen: Tensor) -> None:
            axes = basis.axes.double()

            def one(part: Tensor) -> tuple[Tensor, Solution]:
                first = (whole[part] @ axes).to(basis.axes.dtype)
                done = descend(basis, problems.select(part), loss, first, tolerance)
                return done.weights.double() @ axes.T, done

            parts = split_over_cores(chosen, basis.rows)
            for part, (found, done) in zip(parts, map_threads(one, parts), strict=True):
                whole[part], gaps[part] = found, done.gaps
                iterations[part] += done.iterations

        run(self._basis, torch.arange(len(problems)))
        unsolved = torch.nonzero(gaps > tolerance)[:, 0]
        if len(unsolved):
            run(PrincipalBasis.build(self._features.double(), self._parts, self._size), unsolved)
        return split_intercept(whole, gaps, iterations, self._intercept)


def descend(basis: PrincipalBasis, problems: Problems, loss: ProbeLoss, start: Tensor, tolerance: float) -> Solution:
    """Solve problems in the coordinates of a basis, starting from weights (p, r) in these coordinates."""
    blocks = []
    for block in basis.blocks:
        members = torch.nonzero(problems.held_out != block.part)[:, 0]
        targets = problems.targets[:, block.numbers].to(start.dtype)[problems.target_rows[members]]
        blocks.append(build_slack_block(loss, block.rows, members, targets, start))
    return Descent(
        loss,
        blocks,
        start,
        costs=problems.costs * loss.weight,
        spectrum=basis.spectrum,
        rows=basis.rows,
        widths=initial_widths(loss, blocks, len(problems), start.dtype),
    ).solve(tolerance)


def split_over_cores(chosen: Tensor, rows: int) -> list[Tensor]:
    """Split problems (p,) over the cores, in parts that fit into memory.

    Every core solves its own problems from start to end. Cores that shared each product would wait for each
    other thousands of times, for minutes if another program keeps one of them busy.
    """
    cores = torch.get_num_threads()
    count = max(-(-len(chosen) * rows // (MAX_SLACKS // cores)), min(cores, len(chosen) * rows // MIN_CORE_SLACKS), 1)
    return [chosen[first::count] for first in range(min(count, len(chosen)))]


def initial_widths(loss: ProbeLoss, blocks: Sequence[SlackBlock], count: int, dtype: torch.dtype) -> Tensor:
    """Return the initial widths of the rounded corners (p,): at w = 0 most rows are on the curve.

    This makes the first scale of the directions right.
    """
    if loss.margins:
        return torch.full((count,), 2.0 if loss.cornered else 1.0, dtype=dtype)
    sums, rows = torch.zeros(count, dtype=dtype), torch.zeros(count, dtype=dtype)
    for block in blocks:
        sums.index_add_(0, block.members, block.slack.abs().sum(1))
        rows[block.members] += block.slack.shape[1]
    return torch.where(sums > 0, 2 * sums / rows, 1)


def build_slack_block(
    loss: ProbeLoss, rows: FeatureRows, members: Tensor, targets: Tensor, weights: Tensor
) -> SlackBlock:
    """Return a block for weights (all problems, r); targets (p, n) are those of its members."""
    slack = targets.abs() if loss.margins else targets.clone()
    scores = rows.scores(weights[members])
    slack -= scores * targets if loss.margins else scores
    return SlackBlock(
        loss,
        rows,
        members,
        signs=targets if loss.margins else None,
        slack=slack,
        centre=torch.zeros_like(slack) if loss.cornered else None,
        step=slack[:0],
    )
