"""The results of a search: rankings and their hits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.papers.bibliography_entries import find_doi, find_url
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One paper of a ranking.

    score: more is better, whatever the distance. url: the address of the DOI, else of another system's id, else the
    one that was read. why: the sentence of the abstract that is nearest to the query, where it was asked for.
    paper: with all its fields.
    """

    rank: int
    score: float
    id: str
    title: str
    venue: str = ""
    year: int | None = None
    authors: tuple[str, ...] = ()
    doi: str = ""
    url: str = ""
    why: str = ""
    paper: Paper = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return all but the paper as JSON values."""
        row = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "paper"}
        return row | {"authors": list(self.authors)}


@dataclass(frozen=True, slots=True)
class Ranking:
    """The papers found for one query, best first."""

    query: str
    hits: tuple[Hit, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the ranking as JSON values."""
        return {"query": self.query, "hits": [hit.to_json() for hit in self.hits]}


def describe_paper(paper: Paper) -> dict[str, Any]:
    """Return a paper with the details of a hit, by the names of `Hit`."""
    details = {name: getattr(paper, name) for name in ("id", "title", "venue", "year", "authors")}
    return details | {"doi": find_doi(paper), "url": find_url(paper), "paper": paper}


def read_papers(collection: StoredCollection, rows: Rows) -> list[list[Paper]]:
    """Return the papers of each ranking of rows (m, k), -1 for none; each distinct row is read once."""
    distinct, positions = np.unique(rows, return_inverse=True)
    read = iter(collection.papers(distinct[distinct >= 0]))
    papers = [None if row < 0 else next(read) for row in distinct]
    return [[paper for i in line if (paper := papers[i])] for line in positions.reshape(rows.shape)]


def build_rankings(
    queries: Sequence[str], papers: Sequence[Sequence[Paper]], scores: Floats, why: Sequence[Sequence[str]]
) -> list[Ranking]:
    """Return rankings of papers, scores (m, k) and reasons."""
    return [
        Ranking(
            query,
            tuple(
                Hit(
                    rank=rank,
                    score=float(score),
                    **describe_paper(paper),
                    why=reason,
                )
                for rank, (paper, score, reason) in enumerate(zip(*columns, strict=False), 1)
            ),
        )
        for query, *columns in zip(queries, papers, scores, why, strict=True)
    ]
