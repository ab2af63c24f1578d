"""Examples from lists of scored candidates: clicks, relevance grades, mentions of a citation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.sampling import (
    NONE,
    QuerySample,
    SampleReport,
    check_numbers,
    papers_with_text,
    rows_with_candidates,
    seeded_random,
    select_by_hash,
)
from sciprism.prepare.sources.citation_graph import UNKNOWN_PAPER, rows_of
from sciprism.seeding import random_fraction
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


Mention = tuple[str, str, int]
"""Citing id, cited id, and how often the citing text mentions the cited paper."""

NO_CITATION = "no citation with another paper"


@dataclass(frozen=True, slots=True, kw_only=True)
class InfluentialCitationSampler:
    """Sample, for each cited paper, those that build on it: they mention it at least `min_mentions` times.

    Negatives also cite it, but mention it less often. Candidates are ordered by hash and paired as
    `ScoredListSampler` does. max_queries: 0 for all.
    """

    min_mentions: int = 4
    max_queries: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        check_numbers(self)

    def sample(
        self,
        papers: Sequence[Paper],
        mentions: Iterable[Mention],
        *,
        queries: Iterable[str] | None = None,
        report: SampleReport | None = None,
    ) -> Iterator[Example]:
        """Yield triplets of each paper that has positives and negatives, in the papers' order.

        mentions: those of the same pair are summed. queries: as in `CitationTripletSampler`.
        """
        report = SampleReport() if report is None else report
        papers = papers_with_text(papers, report.dropped)
        names = [paper.id for paper in papers]
        rows = rows_of(names)
        counts: list[Counter[int]] = [Counter() for _ in papers]  # the citing papers' mentions of each paper
        for one, other, count in mentions:
            if one not in rows or other not in rows:
                report.dropped.add(UNKNOWN_PAPER, f"{one} -> {other}")
            elif one != other and count > 0:
                counts[rows[other]][rows[one]] += count
        cited = rows_with_candidates(names, queries, counts.__getitem__, report.dropped, NO_CITATION)
        selected = select_by_hash(names, self.max_queries, self.seed, report.dropped, cited)
        lists = (self._list(papers, row, counts[row]) for row in selected)
        yield from ScoredListSampler().sample(lists, report=report)

    def _list(self, papers: Sequence[Paper], row: int, counts: Counter[int]) -> ScoredList:
        name = papers[row].id
        order = sorted(counts, key=lambda other: (random_fraction(self.seed, name, papers[other].id), other))
        scores = [float(counts[other] >= self.min_mentions) for other in order]
        return ScoredList(papers[row], [papers[other] for other in order], scores)
