"""Links between papers besides citations: attributes that they share (an author, a venue)."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain
from random import Random

from sciprism.drop_report import DropReport
from sciprism.papers.records import Paper


class SharedAttributeLinks:
    """Papers by row, linked if they share an attribute. attributes: of each paper, such as authors' ids."""

    def __init__(self, attributes: Sequence[Iterable[str]]) -> None:
        holders: dict[str, list[int]] = defaultdict(list)
        for row, each in enumerate(attributes):
            for attribute in sorted({*each} - {""}):
                holders[attribute].append(row)
        self._members = [rows for rows in holders.values() if len(rows) > 1]
        self._groups: list[list[int]] = [[] for _ in attributes]
        for group, rows in enumerate(self._members):
            for row in rows:
                self._groups[row].append(group)

    def targets(self, row: int) -> list[int]:
        """Return the other papers that share an attribute with the paper, ascending."""
        return sorted(self.linked(row) - {row})

    def linked(self, row: int) -> set[int]:
        """Return the paper itself and those that share an attribute with it."""
        return self._rows(self._groups[row]) | {row}

    def two_steps_away(self, row: int) -> set[int]:
        """Return the papers that share an attribute with a paper linked to this one."""
        return self._rows({group for other in self.linked(row) for group in self._groups[other]})

    def sample_one(self, random: Random, row: int) -> int | None:
        """Sample one of the paper's attributes, then another paper that has it; None if there is none."""
        if not self._groups[row]:
            return None
        rows = self._members[random.choice(self._groups[row])]
        other = random.randrange(len(rows) - 1)
        return rows[other + (other >= bisect_left(rows, row))]

    def _rows(self, groups: Iterable[int]) -> set[int]:
        return set(chain.from_iterable(self._members[group] for group in groups))


def references(papers: Iterable[Paper]) -> Iterable[tuple[str, str]]:
    """Yield (citing id, cited id) of the papers' own reference lists."""
    return ((paper.id, cited) for paper in papers for cited in paper.references)


def rows_with_text(papers: Sequence[Paper], dropped: DropReport) -> list[int]:
    """Return the rows of the papers that have a title or an abstract; count the others."""
    rows = []
    for row, paper in enumerate(papers):
        if paper.title or paper.abstract:
            rows.append(row)
        else:
            dropped.add("no text", paper.id)
    return rows


def papers_with_text(papers: Sequence[Paper], dropped: DropReport) -> list[Paper]:
    """Return the papers that have a title or an abstract; count the others."""
    return [papers[row] for row in rows_with_text(papers, dropped)]
