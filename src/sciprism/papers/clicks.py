"""Clicks on recommended papers: what a recommendation learns from and is scored by."""

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
    """One click: the paper read, the papers shown beside it in display order, and the one clicked."""

    paper: int
    shown: Rows
    clicked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Clicks:
    """Clicks on recommended papers (SciDocs): papers, three parts, and how often each position is seen.

    cited_by: ids of the papers that cite each paper.
    """

    papers: Sequence[Paper]
    cited_by: Sequence[frozenset[str]]
    train: Sequence[Click]
    dev: Sequence[Click]
    test: Sequence[Click]
    propensities: NDArray[np.float64]
    tally: DropReport = field(default_factory=DropReport)
