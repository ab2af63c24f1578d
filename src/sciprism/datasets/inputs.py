"""What each protocol is given: papers, queries and labels as items, and what is known about them.

Layouts build these from files; protocols turn them into scores. Rows are positions in the sequences beside
them; items are never dropped silently: whatever a layout leaves out is in `tally`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.drop_report import DropReport
from sciprism.formats import Role
from sciprism.papers.records import Label
from sciprism.text.template import Item


@dataclass(frozen=True, slots=True, kw_only=True)
class Labelled:
    """Papers (or texts) with what is to be predicted of each: a class, several classes or a number.

    targets: one entry per item; str, tuple of str (multi-label) or float. train, test: rows. dev rows, where
    the data have them, serve choices, never the score. groups: one name per item where each group is a
    problem of its own (the topics of screening). positive: the positive class of a binary task.
    """

    ids: Sequence[str]
    items: Sequence[Item]
    targets: Sequence[str] | Sequence[tuple[str, ...]] | Sequence[float]
    train: Rows
    test: Rows
    dev: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    groups: Sequence[str] | None = None
    positive: str = ""
    tally: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Queries, each with its own judged candidates (a re-ranking).

    pools[i]: candidate rows of query i; grades[i]: their grades, same length. absent[i]: grades of judged
    candidates that have no record; they cannot be found, but the ideal ranking has them. query_role: "query"
    for words, "paper" where a paper is the query.
    """

    query_ids: Sequence[str]
    queries: Sequence[Item]
    candidate_ids: Sequence[str]
    candidates: Sequence[Item]
    pools: Sequence[Rows]
    grades: Sequence[NDArray[np.int64]]
    absent: Sequence[Mapping[str, int]] | None = None
    query_role: Role = "query"
    tally: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """Queries over a whole corpus.

    judged[i]: judged document rows of query i; grades[i]: their grades. excluded[i]: document rows that are
    taken out of query i's ranking (the query itself, where a task removes it).
    """

    query_ids: Sequence[str]
    queries: Sequence[Item]
    document_ids: Sequence[str]
    documents: Sequence[Item]
    judged: Sequence[Rows]
    grades: Sequence[NDArray[np.int64]]
    excluded: Sequence[Rows] | None = None
    query_role: Role = "query"
    tally: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSpace:
    """Papers and the labels of a vocabulary that each carries.

    gold[i]: label rows of paper i, without repeats. matched[i]: label rows whose name stands in paper i,
    where the data bring them; otherwise the protocol finds them.
    """

    paper_ids: Sequence[str]
    papers: Sequence[Item]
    labels: Sequence[Label]
    gold: Sequence[Rows]
    matched: Sequence[Rows] | None = None
    tally: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewers:
    """Submissions, reviewers with the papers they wrote, and how well some pairs fit.

    profiles[j]: rows of reviewer j's papers. pairs: (p, 2) submission row and reviewer number;
    ratings: (p,) of each pair.
    """

    paper_ids: Sequence[str]
    papers: Sequence[Item]
    reviewer_ids: Sequence[str]
    profiles: Sequence[Rows]
    pairs: Rows
    ratings: NDArray[np.float64]
    tally: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tagged:
    """Texts as words, each with a tag: "O", or "B-" (first of an entity) or "I-" and the type of the entity.

    words[i], tags[i]: of row i, equally many. dev rows serve choices, never the score.
    """

    ids: Sequence[str]
    words: Sequence[tuple[str, ...]]
    tags: Sequence[tuple[str, ...]]
    train: Rows
    test: Rows
    dev: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    tally: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """Texts of one segment or two (a question and its context), with what is to be predicted of each.

    targets: one entry per text; str (a class), tuple of str (several labels) or float.
    """

    ids: Sequence[str]
    texts: Sequence[tuple[str, ...]]
    targets: Sequence[str] | Sequence[tuple[str, ...]] | Sequence[float]
    train: Rows
    test: Rows
    dev: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    tally: DropReport = field(default_factory=DropReport)


@dataclass(frozen=True, slots=True)
class Answer:
    """Words of a context and where they begin: context[start : start + len(text)] is the text."""

    text: str
    start: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    """Questions, each with its context and the answers that stand in it; none: it cannot be answered."""

    ids: Sequence[str]
    questions: Sequence[str]
    contexts: Sequence[str]
    answers: Sequence[tuple[Answer, ...]]
    train: Rows
    test: Rows
    dev: Rows = field(default_factory=lambda: np.empty(0, np.int64))
    tally: DropReport = field(default_factory=DropReport)
