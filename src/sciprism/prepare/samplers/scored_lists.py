"""Examples from lists of scored candidates: clicks, relevance grades, mentions of a citation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle, islice

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.samplers.sampling import NONE, QuerySample, Sampling, rows_with_candidates, seeded_random
from sciprism.prepare.sources.citation_graph import UNKNOWN_PAPER, rows_of
from sciprism.seeding import random_fraction
from sciprism.training.examples import Example

MAX_TRIPLETS = 5  # triplets of one list at most
SCORE_ZERO, NOT_CLICKED = "in the list, score 0", "shown, not clicked"
NO_WORDS = "query without words"
NO_CITATION = "no citation with another paper"
Mention = tuple[str, str, int]  # citing id, cited id, and how often the citing text mentions the cited paper


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
    def has_words(self) -> bool:
        """Return whether the query has words, or the paper a title or abstract."""
        query = self.query
        return bool((query if isinstance(query, str) else query.title or query.abstract).strip())

    def divide(self, rows: Iterable[int]) -> tuple[list[int], tuple[tuple[str, str], ...]]:
        """Return those of the candidates that have a title or an abstract, and (reason, id) of the others."""
        with_text, dropped = [], []
        for row in rows:
            if self.papers[row].title or self.papers[row].abstract:
                with_text.append(row)
            else:
                dropped.append(("no text", self.papers[row].id))
        return with_text, tuple(dropped)


def sample_scored_triplets(
    lists: Iterable[ScoredList], sampling: Sampling, *, triplets: int = MAX_TRIPLETS
) -> Iterator[Example]:
    """Yield an example of one positive and one negative for each triplet, list by list.

    By the order of a list alone, as SciRepEval's training code does (type `ir`): positives, with a score other
    than 0, come in the list's order, repeated from its start as needed; the i-th meets the i-th negative from the
    list's end, `triplets` times, or once a negative if there are fewer. Nothing is random.
    """
    for scored in lists:
        sample = _pair_scores(scored, triplets)
        sampling.report.add(sample)
        for positive, negative in zip(sample.positives, sample.negatives, strict=True):
            yield Example(scored.query, (scored.papers[positive],), (scored.papers[negative],))


def _pair_scores(scored: ScoredList, triplets: int) -> QuerySample:
    if not scored.has_words:
        return QuerySample(dropped=((NO_WORDS, scored.name),))
    rows, dropped = scored.divide(range(len(scored.papers)))
    positives = [row for row in rows if scored.scores[row] != 0]
    negatives = [row for row in rows if scored.scores[row] == 0][::-1][:triplets]
    if not positives or not negatives:
        reason = "no candidate with a score" if not positives else "no candidate with score 0"
        return QuerySample(dropped=(*dropped, (reason, scored.name)))
    repeated = tuple(islice(cycle(positives), len(negatives)))
    return QuerySample(repeated, tuple(negatives), (SCORE_ZERO,) * len(negatives), dropped)


def sample_clicks(lists: Iterable[ScoredList], sampling: Sampling, *, negatives: int = 10) -> Iterator[Example]:
    """Yield an example of each list with a positive; a paper that is in a list twice counts once (SciMult, 3.4).

    Papers with a score above 0 are positives, best first, the others hard negatives: `negatives` of one list at
    most, sampled at random, 0 for all.
    """
    for scored in lists:
        sample = _select_clicked(scored, negatives, sampling.seed)
        if sampling.report.add(sample):
            yield sample.to_example(scored.query, scored.papers)


def _select_clicked(scored: ScoredList, limit: int, seed: int) -> QuerySample:
    if not scored.has_words:
        return QuerySample(dropped=((NO_WORDS, scored.papers[0].id if scored.papers else ""),))
    best: dict[str, int] = {}
    for row in sorted(range(len(scored.papers)), key=lambda row: -scored.scores[row]):
        best.setdefault(scored.papers[row].id, row)
    rows, dropped = scored.divide(best.values())
    positives = tuple(row for row in rows if scored.scores[row] > 0)
    if not positives:
        return QuerySample(dropped=(*dropped, ("nothing clicked", scored.name)))
    others = sorted(row for row in rows if scored.scores[row] <= 0)
    negatives = tuple(seeded_random(seed, scored.name).sample(others, min(limit or len(others), len(others))))
    return QuerySample(positives, negatives, (NOT_CLICKED if negatives else NONE,) * len(positives), dropped)


def pair_titles(papers: Iterable[Paper], sampling: Sampling) -> Iterator[Example]:
    """Yield the title of each paper, and the paper with its abstract alone."""
    return pair_texts(((paper.title, Paper(id=paper.id, abstract=paper.abstract)) for paper in papers), sampling)


def pair_texts(pairs: Iterable[tuple[str, Paper]], sampling: Sampling) -> Iterator[Example]:
    """Yield each text as a query that its paper answers, without hard negatives; both must have words."""
    complete = []
    for text, paper in pairs:
        if not text.strip():
            sampling.drop(NO_WORDS, paper.id)
        elif sampling.has_text(paper):
            complete.append((text, paper))
    for row in sampling.select([paper.id for _, paper in complete]):
        sampling.report.add(QuerySample((0,), (), (NONE,)))
        yield Example(complete[row][0], (complete[row][1],))


def sample_influential_citations(
    papers: Sequence[Paper],
    mentions: Iterable[Mention],
    sampling: Sampling,
    *,
    queries: Iterable[str] | None = None,
    min_mentions: int = 4,
) -> Iterator[Example]:
    """Yield triplets of each cited paper: positives mention it at least `min_mentions` times, negatives less often.

    Both cite it. They are ordered by hash and paired as scored lists (SciRepEval, influential citations).
    mentions: those of the same pair are summed. queries: ids that may be queries, None for all.
    """
    papers = sampling.papers_with_text(papers)
    names = [paper.id for paper in papers]
    rows = rows_of(names)
    counts: list[Counter[int]] = [Counter() for _ in papers]  # the citing papers' mentions of each paper
    for one, other, count in mentions:
        if one not in rows or other not in rows:
            sampling.drop(UNKNOWN_PAPER, f"{one} -> {other}")
        elif one != other and count > 0:
            counts[rows[other]][rows[one]] += count
    cited = rows_with_candidates(names, queries, counts.__getitem__, sampling.report.dropped, NO_CITATION)

    def scored_list(row: int) -> ScoredList:
        def rank(other: int) -> tuple[float, int]:
            return random_fraction(sampling.seed, names[row], names[other]), other

        citing = sorted(counts[row], key=rank)
        scores = [float(counts[row][other] >= min_mentions) for other in citing]
        return ScoredList(papers[row], [papers[other] for other in citing], scores)

    return sample_scored_triplets(map(scored_list, sampling.select(names, cited)), sampling)


def count_lists(max_triplets: int) -> int:
    """Return the number of queries that give at most this many triplets; 0 for all."""
    return max(1, max_triplets // MAX_TRIPLETS) if max_triplets else 0


def limit_lists(sampling: Sampling) -> Sampling:
    """Return the sampling of queries that give as many triplets as its limit; the report is the same."""
    return replace(sampling, limit=count_lists(sampling.limit))
