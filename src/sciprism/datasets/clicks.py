"""Clicks on recommended papers: training and test data of recommendation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """One click: the paper read, the papers recommended for it in display order, and the one clicked."""

    paper: int
    shown: Rows
    clicked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickLog:
    """Clicks on recommended papers (SciDocs) in three splits.

    cited_by: ids of the papers that cite each paper. propensities: probability that each display position is
    seen.
    """

    papers: Sequence[Paper]
    cited_by: Sequence[frozenset[str]]
    train: Sequence[Click]
    dev: Sequence[Click]
    test: Sequence[Click]
    propensities: NDArray[np.float64]
    dropped: DropReport = field(default_factory=DropReport)
