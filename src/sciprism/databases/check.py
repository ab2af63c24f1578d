"""Check a pushed collection: counts, and whether searches there find what searches here find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.databases.address import Address
from sciprism.databases.database import FoundRow, RowFilter, VectorDatabase
from sciprism.databases.record import RemoteRecord, weigh_words
from sciprism.errors import RunFailedError
from sciprism.index import lexical, vector_searches
from sciprism.store import StoredCollection

SAMPLE = 20  # papers whose vectors, or titles, are searched for
DEPTH = 10  # papers of each ranking that are compared
TOLERANCE = 1e-4
"""Difference of scores, relative to the best, that rounding explains; papers whose scores differ by less are tied."""
LEXICAL_TOLERANCE = 0.03
"""That of lexical scores: they also differ by how far the mean length of texts has changed since an earlier push."""

MIN_LEXICAL_RECALL = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class SpaceCheck:
    """What the check of a table found.

    papers: rows there. recall, score_difference: of exact (or approximate) searches for sampled papers: the share of
    the ten best that was found, and the largest difference of scores. lexical_recall: the same of lexical searches for
    titles, None where there are no lexical weights.
    """

    papers: int
    searches: int
    recall: float
    score_difference: float
    lexical_recall: float | None = None


def check_space(
    stored: StoredCollection, database: VectorDatabase, address: Address, record: RemoteRecord, space: str
) -> SpaceCheck:
    """Compare the table of a space with the collection.

    Raises RunFailedError where counts differ, or where a search that is exact there does not find what it finds here.
    """
    table, layout = record.table(address.name, space), record.table_schema(space)
    papers = database.count(table)
    if papers != len(stored):
        raise RunFailedError(
            f"{address}: {table} has {papers:,} papers after the push, the collection {len(stored):,}; is something "
            "else writing to it? Run the same command again"
        )
    rows = stored.live[np.linspace(0, len(stored.live) - 1, min(SAMPLE, len(stored.live))).astype(np.int64)]
    depth = min(DEPTH, len(stored.live))
    queries = stored.read_rows(space, rows).block(0, len(rows))
    here = vector_searches["exact"](stored, space, queries, depth, stored.mask())
    there = database.search_vectors(table, layout, queries, depth, RowFilter(), exact=not record.approximate)
    recall, difference = _compare(here[0], there, TOLERANCE)
    by_words = None
    if record.lexical is not None and record.lexical.space == space:
        by_words = _check_words(stored, database, address, record, rows)
    wrong = recall < 1 and not record.approximate
    if wrong or (by_words is not None and by_words < MIN_LEXICAL_RECALL):
        words = "" if by_words is None else f", of lexical searches {by_words:.3f}"
        raise RunFailedError(
            f"{address}: all papers of {space} were sent, but searches there do not find what they find here: recall "
            f"{recall:.3f}{words} of {len(rows)} searches; if its indexes are still being built, run the same command "
            "again"
        )
    return SpaceCheck(
        papers=papers, searches=len(rows), recall=recall, score_difference=difference, lexical_recall=by_words
    )


def _check_words(
    stored: StoredCollection, database: VectorDatabase, address: Address, record: RemoteRecord, rows: Rows
) -> float:
    assert record.lexical is not None
    titles = [paper.title for paper in stored.papers(rows)]
    depth = min(DEPTH, len(stored.live))
    scores, _ = lexical.search(stored, titles, depth, stored.mask())
    queries = weigh_words(database, address.name, record, titles)
    rankings = database.search_words(record.table(address.name, record.lexical.space), queries, depth, RowFilter())
    return _compare(scores, rankings, LEXICAL_TOLERANCE)[0]


def _compare(here: Floats, there: Sequence[Sequence[FoundRow]], tolerance: float) -> tuple[float, float]:
    """Return the share of scores (m, k) that are reached there at the same rank, and the largest difference.

    Scores, not papers: papers of equal scores may be in any order.
    """
    reached, wanted, largest = 0, 0, 0.0
    for scores, rows in zip(here, there, strict=True):
        expected = scores[np.isfinite(scores)]
        got = np.array([row.score for row in rows[: len(expected)]], np.float64)
        differences = np.abs(expected[: len(got)] - got)
        reached += int((differences <= tolerance * max(1.0, float(np.abs(expected).max(initial=0)))).sum())
        wanted += len(expected)
        largest = max(largest, float(differences.max(initial=0)))
    return (reached / wanted if wanted else 1.0), largest
