"""What a search returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.papers.records import Paper
from sciprism.store import Collection


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One paper of a ranking; `why` is the sentence of its abstract that comes nearest to the query."""

    rank: int
    score: float
    id: str
    title: str
    venue: str = ""
    year: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The papers found for one query, best first."""

    query: str
    hits: tuple[Hit, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the ranking as JSON values."""
        return asdict(self)


def papers_of(collection: Collection, rows: Rows) -> list[list[Paper]]:
    """Read the papers of each ranking (m, k), -1 for none; each distinct row is read once."""
    wanted, place = np.unique(rows, return_inverse=True)
    read = iter(collection.papers(wanted[wanted >= 0]))
    papers = [None if row < 0 else next(read) for row in wanted]
    return [[paper for i in line if (paper := papers[i])] for line in place.reshape(rows.shape)]


def rankings_of(
    queries: Sequence[str], papers: Sequence[Sequence[Paper]], scores: Floats, why: Sequence[Sequence[str]]
) -> list[Ranking]:
    """Put papers, scores (m, k) and reasons together."""
    return [
        Ranking(query, tuple(_hit(rank, *parts) for rank, parts in enumerate(zip(*columns, strict=False), 1)))
        for query, *columns in zip(queries, papers, scores, why, strict=True)
    ]


def _hit(rank: int, paper: Paper, score: float, why: str) -> Hit:
    return Hit(
        rank=rank,
        score=float(score),
        id=paper.id,
        title=paper.title,
        venue=paper.venue,
        year=paper.year,
        why=why,
    )
