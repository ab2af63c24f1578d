"""Tagged papers, and what they teach about labels: votes of the nearest, linear scores, a map to label vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.sparse import csr_array

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.index.exact import topk
from sciprism.papers.records import Paper
from sciprism.store import Matrix
from sciprism.uses.tagging.vocabulary import Match

NEIGHBOURS = 30
SHOWN_NEIGHBOURS = 5  # the nearest papers that a reason counts
SHARPNESS = 3  # a neighbour votes with this power of its cosine
RIDGE = 1.0  # penalty of the linear scores
COMPATIBILITY_RIDGE = (10.0, 10.0)  # penalties of the map to label vectors: on the papers' side, on the labels'
PRIOR_MATCHES = 2.0  # matches that a label's own rate needs to weigh as much as the rate of all labels


@dataclass(frozen=True, slots=True, eq=False)
class TagMatrix:
    """Which labels each paper has: a sparse matrix of ones (n, labels), the labels of a paper ascending."""

    ones: csr_array

    @classmethod
    def build(cls, tags: Iterable[Iterable[int]], labels: int) -> TagMatrix:
        """Build the matrix of each paper's rows of labels."""
        sets = [sorted(set(rows)) for rows in tags]
        rows = np.array([row for rows in sets for row in rows], np.int64)
        return cls.restore(np.cumsum([0, *map(len, sets)]), rows, labels)

    @classmethod
    def restore(cls, starts: Rows, rows: Rows, labels: int) -> TagMatrix:
        """Return the matrix of labels in one list (tags,); starts: where those of each paper begin, (n + 1,)."""
        return cls(csr_array((np.ones(len(rows), np.float32), rows, starts), shape=(len(starts) - 1, labels)))

    def __len__(self) -> int:
        return int(self.ones.shape[0])

    def __getitem__(self, paper: int) -> Rows:
        """Return the labels of a paper."""
        return np.asarray(self.ones.indices[self.ones.indptr[paper] : self.ones.indptr[paper + 1]])

    @property
    def labels(self) -> int:
        """Return how many labels there are."""
        return int(self.ones.shape[1])

    def sizes(self) -> Rows:
        """Return how many labels each paper has (n,)."""
        return np.asarray(np.diff(self.ones.indptr))

    def counts(self) -> Doubles:
        """Return how many papers have each label (labels,)."""
        return np.asarray(self.ones.sum(axis=0), np.float64)

    def take(self, papers: Sequence[int] | Rows) -> TagMatrix:
        """Return some papers, in the order given."""
        return TagMatrix(self.ones[np.asarray(papers, np.int64)])

    def without(self, labels: Rows) -> TagMatrix:
        """Return the papers without some labels."""
        keep = np.ones(self.labels, np.float32)
        keep[labels] = 0
        left = csr_array(self.ones * keep)
        left.eliminate_zeros()
        return TagMatrix(left)

    def has(self, papers: Rows, labels: Rows) -> Rows:
        """Return whether each paper (p,) has each label (p,), as 0 and 1."""
        keys = np.repeat(np.arange(len(self)), self.sizes()) * self.labels + self.ones.indices
        return np.isin(papers * self.labels + labels, keys).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class TaggedPapers:
    """Tagged papers. vectors: (n, e).

    judged: paper -> the labels that were judged, right or wrong, where a person judged only some; of all other papers
    the tags are taken to be complete.
    """

    papers: Sequence[Paper]
    vectors: Floats
    tags: TagMatrix
    judged: dict[int, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """What the nearest papers say: of all labels the share of their votes and how many of the first have it.

    shares, first: (b, labels). neighbours: how many of the first there are.
    """

    shares: Floats
    first: Floats
    neighbours: int


@dataclass(frozen=True, slots=True, eq=False)
class NearestPapers:
    """Papers with tags, found by their rows (n, d)."""

    rows: Floats
    tags: TagMatrix

    def vote(self, queries: Floats) -> Votes:
        """Return the votes of the papers nearest to each query (b, d)."""
        count = min(NEIGHBOURS, len(self.rows))
        cosines, near = topk(queries, [Matrix(self.rows)], count)
        weights = np.maximum(cosines, 0) ** SHARPNESS
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
        starts = np.arange(len(near) + 1) * count
        first = np.broadcast_to(np.arange(count) < SHOWN_NEIGHBOURS, near.shape)
        shares, counts = (
            csr_array((values.astype(np.float32).ravel(), near.ravel(), starts), shape=(len(near), len(self.rows)))
            @ self.tags.ones
            for values in (weights, first)
        )
        return Votes(shares.toarray(), counts.toarray(), min(SHOWN_NEIGHBOURS, len(self.rows)))


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """What a set of tagged papers teaches.

    seen: rows of the labels that a paper has, (s,). counts: papers of each label (labels,). linear: (d, s).
    compatibility: (d, e), from a paper to the space of label vectors. near: the papers and their tags.
    name_rate: of each label, how often a paper that has its name has the label (labels,).
    """

    seen: Rows
    counts: Doubles
    linear: Floats
    compatibility: Floats
    near: NearestPapers
    name_rate: Doubles

    @classmethod
    def fit(cls, papers: Floats, tags: TagMatrix, label_vectors: Floats, matches: list[dict[int, Match]]) -> Sources:
        """Fit all sources. papers: (n, d) of a PaperSpace, label_vectors: (labels, e), matches: of each paper."""
        counts = tags.counts()
        seen = np.flatnonzero(counts)
        sums = torch.from_numpy((tags.ones.T @ papers)[seen].T.copy())  # X'Y, (d, s)
        rows = torch.from_numpy(papers)
        gram = rows.T @ rows
        linear = _solve(gram, sums, RIDGE)
        seen_vectors = torch.from_numpy(label_vectors[seen])
        weights = torch.from_numpy(1 / np.sqrt(np.maximum(counts[seen], 1))).float()
        pulled = (sums * weights) @ seen_vectors  # rare labels weigh nearly as much as common ones
        first, second = COMPATIBILITY_RIDGE
        left = _solve(gram, pulled, first)
        compatibility = _solve(seen_vectors.T @ seen_vectors, left.T.contiguous(), second).T.contiguous()
        rate = _name_rates(matches, tags)
        return cls(seen, counts, linear.numpy(), compatibility.numpy(), NearestPapers(papers, tags), rate)

    def score_linear(self, papers: Floats) -> torch.Tensor:
        """Return the linear scores of all labels (b, labels), 0 of those that no paper has."""
        scores = torch.zeros(len(papers), len(self.counts))
        scores[:, torch.from_numpy(self.seen)] = torch.from_numpy(papers) @ torch.from_numpy(self.linear)
        return scores

    def score_compatibility(self, papers: Floats, label_vectors: torch.Tensor) -> torch.Tensor:
        """Return the scores of all labels by their vectors, (b, labels): also of labels that no paper has."""
        return (torch.from_numpy(papers) @ torch.from_numpy(self.compatibility)) @ label_vectors.T


def _solve(gram: torch.Tensor, right: torch.Tensor, penalty: float) -> torch.Tensor:
    """Return (gram + penalty I)^-1 right."""
    factor = torch.linalg.cholesky(gram + penalty * torch.eye(len(gram)))
    return torch.cholesky_solve(right, factor)


def _name_rates(matches: list[dict[int, Match]], tags: TagMatrix) -> Doubles:
    """Return of each label how often a paper in which its name is found has it, drawn towards the mean of all."""
    owners = np.repeat(np.arange(len(matches)), [len(names) for names in matches])
    rows = np.array([row for names in matches for row in names], np.int64)
    right = tags.has(owners, rows)
    named = np.bincount(rows, minlength=tags.labels)
    correct = np.bincount(rows, right, tags.labels)
    mean = correct.sum() / max(1, named.sum())
    return np.asarray((correct + PRIOR_MATCHES * mean) / (named + PRIOR_MATCHES))
