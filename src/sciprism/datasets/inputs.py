"""The input of each protocol: papers, queries and labels as items, and what is known about them.

Layouts build these from files; protocols turn them into scores. Rows are positions in the sequences of the
same object. Items that a layout drops are counted in `dropped`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.drop_report import DropReport
from sciprism.formats import Role
from sciprism.papers.records import Label, Paper, Signature
from sciprism.text.template import Item

Target = str | tuple[str, ...] | float  # a class, several classes or labels, or a number to predict

T = TypeVar("T")
K = TypeVar("K", bound=str)


def concatenate(parts: Mapping[K, Sequence[T]]) -> tuple[list[T], dict[K, Rows]]:
    """Return the items of all parts in order, and the row numbers of each part."""
    ends = np.cumsum([0, *map(len, parts.values())])
    rows = {part: np.arange(ends[i], ends[i + 1], dtype=np.int64) for i, part in enumerate(parts)}
    return [item for items in parts.values() for item in items], rows


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitInput:
    """Rows of train, test and dev (selects settings, is never scored; may be empty). ids: of all rows."""

    ids: Sequence[str]
    train: Rows
    test: Rows
    dev: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    dropped: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeInput(SplitInput):
    """Papers or texts, each with its target: a class, several classes or a number.

    targets: one entry per item; str, tuple of str (multi-label) or float. groups: one name per item where
    each group is a separate problem (the topics of screening). positive: the positive class of a binary task.
    """

    items: Sequence[Item]
    targets: Sequence[str] | Sequence[tuple[str, ...]] | Sequence[float]
    groups: Sequence[str] | None = None
    positive: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradedQueryInput:
    """Queries with grades of documents. query_role: "query" for words, "paper" where a paper is the query."""

    query_ids: Sequence[str]
    queries: Sequence[Item]
    grades: Sequence[NDArray[np.floating]]
    query_role: Role = "query"
    dropped: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankInput(GradedQueryInput):
    """Queries, each with its own graded candidates (a re-ranking).

    pools[i]: candidate rows of query i; grades[i]: their grades, same length. absent[i]: grades of candidates
    without a record; they cannot be found, but the ideal ranking has them. stated[i]: candidate id -> its rank, from
    1, by the system that made the data.
    """

    candidate_ids: Sequence[str]
    candidates: Sequence[Item]
    pools: Sequence[Rows]
    absent: Sequence[Mapping[str, float]] | None = None
    stated: Sequence[Mapping[str, int]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalInput(GradedQueryInput):
    """Queries over a whole corpus.

    judged[i]: document rows with a relevance judgement for query i; grades[i]: their grades. excluded[i]:
    document rows removed from query i's ranking (such as the query itself).
    """

    document_ids: Sequence[str]
    documents: Sequence[Item]
    judged: Sequence[Rows]
    excluded: Sequence[Rows] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PapersInput:
    """Papers with their ids."""

    paper_ids: Sequence[str]
    papers: Sequence[Item]
    dropped: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelInput(PapersInput):
    """Papers, a vocabulary of labels, and the labels of each paper.

    gold[i]: label rows of paper i, without duplicates. matched[i]: label rows whose name occurs in paper i,
    where the data list them; otherwise the protocol finds them.
    """

    labels: Sequence[Label]
    gold: Sequence[Rows]
    matched: Sequence[Rows] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchInput(PapersInput):
    """Submissions, reviewers with the papers they wrote, and ratings of how well some pairs fit.

    profiles[j]: rows of reviewer j's papers. pairs: (p, 2) submission row and reviewer number;
    ratings: (p,) of each pair.
    """

    reviewer_ids: Sequence[str]
    profiles: Sequence[Rows]
    pairs: Rows
    ratings: NDArray[np.float64]

    @classmethod
    def build(
        cls,
        papers: Mapping[str, Item],
        written: Mapping[str, Sequence[str]],
        rated: Iterable[tuple[str, str, float]],
        dropped: DropReport,
        unknown: str = "",
    ) -> MatchInput:
        """Return the input of papers by id, of reviewers with the ids of their papers, of rated papers and reviewers.

        unknown: the reason for which a pair is counted that lacks one of the two.
        """
        rows = {name: row for row, name in enumerate(papers)}
        numbers = {name: number for number, name in enumerate(written)}
        pairs = []
        for paper, reviewer, rating in rated:
            if paper in rows and reviewer in numbers:
                pairs.append((rows[paper], numbers[reviewer], rating))
            else:
                dropped.add(unknown, f"{paper} {reviewer}")
        return cls(
            paper_ids=list(papers),
            papers=list(papers.values()),
            reviewer_ids=list(written),
            profiles=[np.array([rows[name] for name in names], np.int64) for names in written.values()],
            pairs=np.array([pair[:2] for pair in pairs], np.int64).reshape(-1, 2),
            ratings=np.array([rating for *_, rating in pairs], np.float64),
            dropped=dropped,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggingInput(SplitInput):
    """Texts as words, each with a BIO tag: "O", or "B-" (first word of an entity) or "I-" and its type.

    words[i], tags[i]: of row i, same length. documents[i]: whose sentence row i is; those of one document are one item
    of the scores, as they do not vary independently. None: each row is an item.
    """

    words: Sequence[tuple[str, ...]]
    tags: Sequence[tuple[str, ...]]
    documents: Sequence[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairInput(SplitInput):
    """Texts of one segment or two (a question and its context), each with its target.

    targets: one entry per text; str (a class), tuple of str (several labels) or float.
    """

    texts: Sequence[tuple[str, ...]]
    targets: Sequence[str] | Sequence[tuple[str, ...]] | Sequence[float]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer's text and its character offset: context[start : start + len(text)] is the text."""

    text: str
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanInput(SplitInput):
    """Questions, each with its context and the answers in it; no answer: the question is unanswerable."""

    questions: Sequence[str]
    contexts: Sequence[str]
    answers: Sequence[tuple[Answer, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Signatures:
    """Author mentions in blocks, and the blocks of train, dev and test.

    source: the data set of each mention, where there are several. journals: of papers, by id, where apart from venues.
    """

    papers: Sequence[Paper]
    signatures: Sequence[Signature]
    train: frozenset[str]
    dev: frozenset[str]
    test: frozenset[str]
    source: Sequence[str] | None = None
    journals: Mapping[str, str] = field(default_factory=dict)
    dropped: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """One click: the paper read, the papers recommended for it in display order, and the one clicked."""

    paper: int
    shown: Rows
    clicked: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickLog:
    """Clicks on recommended papers (SciDocs) in three splits.

    cited_by: ids of the papers that cite each paper. propensities: probability that each display position is
    seen.
    """

    papers: Sequence[Paper]
    cited_by: Sequence[frozenset[str]]
    train: Sequence[Click]
    dev: Sequence[Click]
    test: Sequence[Click]
    propensities: NDArray[np.float64]
    dropped: DropReport = field(default_factory=DropReport)
