"""Pairs of a query and a paper from lists with clicks or relevance grades (SciMult, 3.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sciprism.prepare.samplers.sampling import NONE, QuerySample, SampleReport, seeded_random
from sciprism.prepare.samplers.scored_lists import ScoredList
from sciprism.training.examples import Example

NOT_CLICKED = "shown, not clicked"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPairSampler:
    """Take the papers with a score above 0 as positives, best first, the others as hard negatives.

    negatives: of one list at most, sampled at random, 0 for all.
    """

    negatives: int = 10
    seed: int = 0

    def sample(self, lists: Iterable[ScoredList], *, report: SampleReport | None = None) -> Iterator[Example]:
        """Yield an example of each list with a positive; a paper that is in a list twice counts once."""
        report = SampleReport() if report is None else report
        for each in lists:
            sample = self._sample(each)
            if report.add(sample):
                yield sample.to_example(each.query, each.papers)

    def _sample(self, each: ScoredList) -> QuerySample:
        if not each.text:
            return QuerySample(dropped=(("query without words", each.papers[0].id if each.papers else ""),))
        best: dict[str, int] = {}
        for row in sorted(range(len(each.papers)), key=lambda row: -each.scores[row]):
            best.setdefault(each.papers[row].id, row)
        without_text = each.without_text()
        dropped = tuple(("no text", each.papers[row].id) for row in best.values() if row in without_text)
        rows = [row for row in best.values() if row not in without_text]
        positives = tuple(row for row in rows if each.scores[row] > 0)
        if not positives:
            return QuerySample(dropped=(*dropped, ("nothing clicked", each.name)))
        others = sorted(row for row in rows if each.scores[row] <= 0)
        count = min(self.negatives or len(others), len(others))
        negatives = tuple(seeded_random(self.seed, each.name).sample(others, count))
        kind = NOT_CLICKED if negatives else NONE
        return QuerySample(positives, negatives, (kind,) * len(positives), dropped)
