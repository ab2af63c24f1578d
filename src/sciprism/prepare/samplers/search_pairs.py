"""Pairs of a query and a paper from lists that readers clicked in, or that judges graded (SciMult, 3.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.drawing import NONE, Draw, Sampled, chance
from sciprism.training.examples import Example

SHOWN = "shown, not clicked"


@dataclass(frozen=True, slots=True)
class SearchList:
    """A query and the papers that were shown for it. scores: clicks or grades, one of each paper."""

    query: str
    papers: Sequence[Paper]
    scores: Sequence[float]

    def __post_init__(self) -> None:
        if len(self.papers) != len(self.scores):
            raise InputError(f"query {self.query!r}: {len(self.papers)} papers, {len(self.scores)} scores")


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPairs:
    """Take the papers with a score above 0 as positives, best first, and of the others as hard negatives.

    negatives: at most so many of one list, drawn at random, 0 for all. One list is looked at at a time, and
    little is drawn: there is nothing for other processes to do.
    """

    negatives: int = 10
    seed: int = 0

    def sample(self, lists: Iterable[SearchList], *, report: Sampled | None = None) -> Iterator[Example]:
        """Yield an example of each list with a positive; a paper that is in a list twice counts once."""
        report = Sampled() if report is None else report
        for each in lists:
            draw = self._draw(each)
            if report.add(draw):
                positives, negatives = (
                    [each.papers[row] for row in rows] for rows in (draw.positives, draw.negatives)
                )
                yield Example(each.query, tuple(positives), tuple(negatives))

    def _draw(self, each: SearchList) -> Draw:
        if not each.query.strip():
            return Draw(dropped=(("query without words", each.papers[0].id if each.papers else ""),))
        best: dict[str, int] = {}
        for row in sorted(range(len(each.papers)), key=lambda row: -each.scores[row]):
            best.setdefault(each.papers[row].id, row)
        bare = [row for row in best.values() if not (each.papers[row].title or each.papers[row].abstract)]
        dropped = tuple(("no text", each.papers[row].id) for row in bare)
        rows = [row for row in best.values() if row not in bare]
        positives = tuple(row for row in rows if each.scores[row] > 0)
        if not positives:
            return Draw(dropped=(*dropped, ("nothing clicked", each.query)))
        others = sorted(row for row in rows if each.scores[row] <= 0)
        count = min(self.negatives or len(others), len(others))
        negatives = tuple(chance(self.seed, each.query).sample(others, count))
        return Draw(positives, negatives, (SHOWN if negatives else NONE,) * len(positives), dropped)
