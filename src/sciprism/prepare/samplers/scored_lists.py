"""Triplets from lists of scored candidates, by their order alone (SciRepEval's training code, type `ir`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.sampling import QuerySample, SampleReport
from sciprism.training.examples import Example

MAX_TRIPLETS = 5
"""Triplets of one list at most."""
SCORE_ZERO = "in the list, score 0"


@dataclass(frozen=True, slots=True)
class ScoredList:
    """A query, words or a paper, and its candidates. scores: clicks or grades, one of each candidate."""

    query: Paper | str
    papers: Sequence[Paper]
    scores: Sequence[float]

    def __post_init__(self) -> None:
        if len(self.papers) != len(self.scores):
            raise InputError(
                f"query {self.name!r}: {len(self.papers)} papers, {len(self.scores)} scores; give a score of each paper"
            )

    @property
    def name(self) -> str:
        """Return the query's words, or its id."""
        return self.query if isinstance(self.query, str) else self.query.id

    @property
    def text(self) -> str:
        """Return the query's words, or its title, or its abstract, stripped."""
        query = self.query
        return (query if isinstance(query, str) else query.title or query.abstract).strip()

    def without_text(self) -> list[int]:
        """Return the rows of the candidates without title and abstract."""
        return [row for row, paper in enumerate(self.papers) if not (paper.title or paper.abstract)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredListSampler:
    """Pair positives with negatives: `triplets` times, or once a negative if there are fewer.

    Positives come in the list's order, repeated from its start as needed; the i-th meets the i-th negative
    from the list's end. A score other than 0 is a positive. Nothing is random.
    """

    triplets: int = MAX_TRIPLETS

    def sample(self, lists: Iterable[ScoredList], *, report: SampleReport | None = None) -> Iterator[Example]:
        """Yield an example of one positive and one negative for each triplet, list by list."""
        report = SampleReport() if report is None else report
        for each in lists:
            sample = self._sample(each)
            report.add(sample)
            for positive, negative in zip(sample.positives, sample.negatives, strict=True):
                yield Example(each.query, (each.papers[positive],), (each.papers[negative],))

    def _sample(self, each: ScoredList) -> QuerySample:
        if not each.text:
            return QuerySample(dropped=(("query without words", each.name),))
        bare = each.without_text()
        dropped = tuple(("no text", each.papers[row].id) for row in bare)
        rows = [row for row in range(len(each.papers)) if row not in bare]
        positives = [row for row in rows if each.scores[row] != 0]
        negatives = [row for row in rows if each.scores[row] == 0][::-1][: self.triplets]
        if not positives or not negatives:
            reason = "no candidate with a score" if not positives else "no candidate with score 0"
            return QuerySample(dropped=(*dropped, (reason, each.name)))
        repeated = tuple(islice(cycle(positives), len(negatives)))
        return QuerySample(repeated, tuple(negatives), (SCORE_ZERO,) * len(negatives), dropped)
