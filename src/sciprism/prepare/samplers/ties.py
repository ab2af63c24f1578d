"""What ties papers together besides citations: marks that they share (an author, a venue)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from random import Random

from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper


class Shared:
    """Papers that share marks, by rows. marks: of each paper, such as its authors' ids."""

    def __init__(self, marks: Sequence[Iterable[str]]) -> None:
        holders: dict[str, list[int]] = defaultdict(list)
        for row, each in enumerate(marks):
            for mark in sorted({*each} - {""}):
                holders[mark].append(row)
        self._members = [rows for rows in holders.values() if len(rows) > 1]
        self._of: list[list[int]] = [[] for _ in marks]
        for group, rows in enumerate(self._members):
            for row in rows:
                self._of[row].append(group)

    def answers(self, row: int) -> list[int]:
        """Return the other papers with a mark of the paper."""
        return sorted(self.linked(row) - {row})

    def linked(self, row: int) -> set[int]:
        """Return the paper itself and those that share a mark with it."""
        return self._rows(self._of[row]) | {row}

    def near(self, row: int) -> set[int]:
        """Return the papers that share a mark with a paper that shares one with this paper."""
        return self._rows({group for other in self.linked(row) for group in self._of[other]})

    def one(self, random: Random, row: int) -> int | None:
        """Draw one of the paper's marks, and another paper that has it."""
        if not self._of[row]:
            return None
        rows = self._members[random.choice(self._of[row])]
        other = random.randrange(len(rows) - 1)
        return rows[other + (other >= bisect_left(rows, row))]

    def _rows(self, groups: Iterable[int]) -> set[int]:
        return set(chain.from_iterable(self._members[group] for group in groups))


def references(papers: Iterable[Paper]) -> Iterable[tuple[str, str]]:
    """Yield (citing id, cited id) of the papers' own reference lists."""
    return ((paper.id, cited) for paper in papers for cited in paper.references)


def with_text(papers: Sequence[Paper], dropped: DropReport) -> list[int]:
    """Return the rows of the papers that have a title or an abstract; the others are counted."""
    for paper in papers:
        if not (paper.title or paper.abstract):
            dropped.add("no text", paper.id)
    return [row for row, paper in enumerate(papers) if paper.title or paper.abstract]
