"""The results of a search: rankings, their hits, and the sentence for which each paper was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.index.exact import Distance, topk
from sciprism.papers.bibliography_entries import find_doi, find_url
from sciprism.papers.records import Paper
from sciprism.store import Matrix, StoredCollection
from sciprism.store.manifest import SpaceRecord
from sciprism.text.sentences import split_sentences

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format


MAX_SENTENCES = 64  # sentences per abstract that are compared: some abstracts are whole books


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
        row = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "paper"}
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


def find_nearest_sentences(
    encoder: Encoder, space: SpaceRecord, distance: Distance, query_vectors: Floats, papers: Sequence[Sequence[Paper]]
) -> list[list[str]]:
    """Return the sentence nearest to each query vector (m, d) in each of its papers; "" if there is none.

    space, distance: of the query vectors.
    """
    ranges: dict[str, range] = {}
    sentences: list[str] = []
    for paper in (paper for ranked in papers for paper in ranked):
        if paper.id not in ranges:
            split = split_sentences(paper.abstract)[:MAX_SENTENCES]
            ranges[paper.id] = range(len(sentences), len(sentences) + len(split))
            sentences += split
    if not sentences:
        return [["" for _ in ranked] for ranked in papers]
    format = cast("Format", space.formats[0])
    vectors = encoder.encode(sentences, format=format, role="paper")

    nearest: dict[tuple[int, str], str] = {}
    asking: dict[str, list[int]] = {}
    for row, ranked in enumerate(papers):
        for paper in ranked:
            asking.setdefault(paper.id, []).append(row)
    for id, rows in asking.items():
        if here := ranges[id]:
            matrix = Matrix(vectors[here.start : here.stop])
            best = topk(query_vectors[rows], [matrix], 1, distance=distance)[1][:, 0].tolist()
            nearest |= {(row, id): sentences[here.start + place] for row, place in zip(rows, best, strict=True)}
    return [[nearest.get((row, paper.id), "") for paper in ranked] for row, ranked in enumerate(papers)]


def build_rankings(
    queries: Sequence[str], papers: Sequence[Sequence[Paper]], scores: Floats, why: Sequence[Sequence[str]]
) -> list[Ranking]:
    """Return rankings of papers, scores (m, k) and reasons."""
    return [
        Ranking(
            query,
            tuple(
                Hit(rank=rank, score=float(score), **describe_paper(paper), why=reason)
                for rank, (paper, score, reason) in enumerate(zip(*columns, strict=False), 1)
            ),
        )
        for query, *columns in zip(queries, papers, scores, why, strict=True)
    ]
