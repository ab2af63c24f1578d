"""Triplets from lists of scored candidates, by their order alone (SciRepEval's training code, type `ir`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.drawing import Draw, Sampled
from sciprism.training.examples import Example

TRIPLETS = 5
"""Triplets of one list at most."""
LOWER = "in the list, score 0"


@dataclass(frozen=True, slots=True)
class ScoredList:
    """A query, words or a paper, and its candidates. scores: one of each; 0 tells a negative."""

    query: Paper | str
    papers: Sequence[Paper]
    scores: Sequence[float]

    def __post_init__(self) -> None:
        if len(self.papers) != len(self.scores):
            raise InputError(f"query {self.name!r}: {len(self.papers)} papers, {len(self.scores)} scores")

    @property
    def name(self) -> str:
        """Return the query's words, or its id."""
        return self.query if isinstance(self.query, str) else self.query.id


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredTriplets:
    """Pair positives with negatives: m = `triplets`, or the number of negatives where that is smaller.

    Positives come in the list's order and again from its start until there are m; the i-th meets the i-th
    negative from the list's end. Grades count as zero or not zero, and nothing is drawn by chance.
    """

    triplets: int = TRIPLETS

    def sample(self, lists: Iterable[ScoredList], *, report: Sampled | None = None) -> Iterator[Example]:
        """Yield an example of one positive and one negative for each triplet, list by list."""
        report = Sampled() if report is None else report
        for each in lists:
            draw = self._draw(each)
            report.add(draw)
            for positive, negative in zip(draw.positives, draw.negatives, strict=True):
                yield Example(each.query, (each.papers[positive],), (each.papers[negative],))

    def _draw(self, each: ScoredList) -> Draw:
        asked = each.query if isinstance(each.query, str) else each.query.title or each.query.abstract
        if not asked.strip():
            return Draw(dropped=(("query without words", each.name),))
        bare = [row for row, paper in enumerate(each.papers) if not (paper.title or paper.abstract)]
        dropped = tuple(("no text", each.papers[row].id) for row in bare)
        rows = [row for row in range(len(each.papers)) if row not in bare]
        positives = [row for row in rows if each.scores[row] != 0]
        negatives = [row for row in rows if each.scores[row] == 0][::-1][: self.triplets]
        if not positives or not negatives:
            reason = "no candidate with a score" if not positives else "no candidate with score 0"
            return Draw(dropped=(*dropped, (reason, each.name)))
        repeated = tuple(islice(cycle(positives), len(negatives)))
        return Draw(repeated, tuple(negatives), (LOWER,) * len(negatives), dropped)
