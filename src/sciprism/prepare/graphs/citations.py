"""Who cites whom, in arrays: ten million citations take 160 MB and reach a worker fast."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random

import numpy as np
from numpy.typing import NDArray

from sciprism.drop_report import DropReport
from sciprism.errors import InputError

Rows = NDArray[np.int32]

NOT_THERE = "citation of or by a paper that is not there"
OF_ITSELF = "citation of the paper itself"
AGAIN = "citation that was there before"
EACH_OTHER = "two papers that cite each other (kept)"


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Rows tied to each row, ascending. bounds: (n + 1,), where each row's part of `others` begins."""

    bounds: NDArray[np.int64]
    others: Rows

    def __getitem__(self, row: int) -> Rows:
        return self.others[self.bounds[row] : self.bounds[row + 1]]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return how many rows are tied to each row, (n,)."""
        return np.diff(self.bounds)


class CitationGraph:
    """Papers by row, and their citations both ways.

    size: papers. citing, cited: the rows of each citation, any order; `of` makes them from ids. `cited[row]`
    are the papers that a paper cites, `citing[row]` those that cite it.
    """

    def __init__(self, size: int, citing: Rows, cited: Rows) -> None:
        self.size = size
        self.cited = _adjacency(size, citing, cited)
        self.citing = _adjacency(size, cited, citing)

    @classmethod
    def of(cls, names: Sequence[str], edges: Iterable[tuple[str, str]], dropped: DropReport) -> CitationGraph:
        """Build the graph of named papers. edges: (citing id, cited id), taken one by one.

        What leads out of the papers, from a paper to itself, or stands there twice is counted and left out;
        citations in both directions are counted and kept. Raises InputError where two papers have one name.
        """
        rows = rows_of(names)
        ones, others = array("i"), array("i")
        for one, other in edges:
            if one not in rows or other not in rows:
                dropped.add(NOT_THERE, f"{one} -> {other}")
            elif one == other:
                dropped.add(OF_ITSELF, one)
            else:
                ones.append(rows[one])
                others.append(rows[other])
        pairs = np.frombuffer(ones, np.int32).astype(np.int64) * len(rows) + np.frombuffer(others, np.int32)
        return cls(len(rows), *_once(pairs, names, dropped))

    @property
    def edges(self) -> tuple[Rows, Rows]:
        """Return the citing and the cited row of each citation, in the order of the rows."""
        return np.repeat(np.arange(self.size, dtype=np.int32), self.cited.counts), self.cited.others

    @property
    def in_circles(self) -> Rows:
        """Return the papers in circles of citations and between two circles, ascending.

        What no paper that is left cites is taken away until there is no such paper, then what cites none.
        """
        left = np.ones(self.size, bool)
        for ties in (self.cited, self.citing):
            inside = left[ties.others] & np.repeat(left, ties.counts)
            degrees = np.bincount(ties.others[inside], minlength=self.size)
            gone = np.flatnonzero(left & (degrees == 0))
            while len(gone):
                left[gone] = False
                reached = np.concatenate([ties[row] for row in gone.tolist()])
                near, counts = np.unique(reached[left[reached]], return_counts=True)
                degrees[near] -= counts
                gone = near[degrees[near] == 0]
        return np.flatnonzero(left).astype(np.int32)

    def answers(self, row: int) -> list[int]:
        """Return the papers that a paper cites."""
        found: list[int] = self.cited[row].tolist()
        return found

    def linked(self, row: int) -> set[int]:
        """Return the paper itself, those it cites and those that cite it."""
        return {row, *self.cited[row].tolist(), *self.citing[row].tolist()}

    def near(self, row: int) -> set[int]:
        """Return the papers that the cited papers cite."""
        return set(chain.from_iterable(self.cited[other].tolist() for other in self.cited[row]))

    def one(self, random: Random, row: int) -> int | None:
        """Draw a cited paper."""
        cited = self.cited[row]
        return int(random.choice(cited)) if len(cited) else None


def rows_of(names: Iterable[str]) -> dict[str, int]:
    """Return name -> row. Raises InputError where two papers have one name."""
    rows: dict[str, int] = {}
    for row, name in enumerate(names):
        if rows.setdefault(name, row) != row:
            raise InputError(f"two papers have the id {name!r}; give each its own")
    return rows


def _once(pairs: NDArray[np.int64], names: Sequence[str], dropped: DropReport) -> tuple[Rows, Rows]:
    size = max(1, len(names))
    pairs.sort()
    again = np.flatnonzero(pairs[1:] == pairs[:-1])
    _note(AGAIN, pairs[again], names, dropped)
    pairs = np.delete(pairs, again)
    turned = pairs % size * size + pairs // size
    both = pairs[np.isin(pairs, turned, assume_unique=True) & (pairs < turned)]
    _note(EACH_OTHER, both, names, dropped)
    return (pairs // size).astype(np.int32), (pairs % size).astype(np.int32)


def _note(reason: str, pairs: NDArray[np.int64], names: Sequence[str], dropped: DropReport) -> None:
    for pair in pairs.tolist():
        dropped.add(reason, f"{names[pair // len(names)]} -> {names[pair % len(names)]}")


def _adjacency(size: int, ones: Rows, others: Rows) -> Adjacency:
    order = np.lexsort((others, ones))
    bounds = np.concatenate([[0], np.cumsum(np.bincount(ones, minlength=size))])
    return Adjacency(bounds.astype(np.int64), np.ascontiguousarray(others[order], np.int32))
