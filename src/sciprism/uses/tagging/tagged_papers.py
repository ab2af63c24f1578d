"""Papers with their tags, a sparse matrix, and vectors: what a tagger is trained on, and stores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch.nn.functional import embedding_bag

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.papers.records import Paper


@dataclass(frozen=True, slots=True, eq=False)
class TagMatrix:
    """The labels of each paper, ascending. starts: (n + 1,), rows: of labels, labels: how many there are."""

    starts: Rows
    rows: Rows
    labels: int

    @classmethod
    def build(cls, tags: Iterable[Iterable[int]], labels: int) -> TagMatrix:
        """Build the matrix of each paper's rows of labels."""
        sets = [sorted(set(rows)) for rows in tags]
        starts = np.cumsum([0, *map(len, sets)])
        return cls(starts.astype(np.int64), np.array([row for rows in sets for row in rows], np.int64), labels)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, paper: int) -> Rows:
        """Return the labels of a paper."""
        return self.rows[self.starts[paper] : self.starts[paper + 1]]

    def owners(self) -> Rows:
        """Return the paper of each tag."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def counts(self) -> Doubles:
        """Return how many papers have each label (labels,)."""
        return np.bincount(self.rows, minlength=self.labels).astype(np.float64)

    def take(self, papers: Sequence[int] | Rows) -> TagMatrix:
        """Return some papers, in the order given."""
        return TagMatrix.build((self[int(paper)] for paper in papers), self.labels)

    def without(self, labels: Rows) -> TagMatrix:
        """Return the papers without some labels."""
        keep = ~np.isin(self.rows, labels)
        counts = np.bincount(self.owners()[keep], minlength=len(self))
        return TagMatrix(np.concatenate([[0], np.cumsum(counts)]), self.rows[keep], self.labels)

    def has(self, papers: Rows, labels: Rows) -> Rows:
        """Return whether each paper (p,) has each label (p,), as 0 and 1."""
        keys = self.owners() * self.labels + self.rows
        return np.isin(papers * self.labels + labels, keys).astype(np.int64)

    def sum_rows(self, values: Floats) -> Floats:
        """Return of each label the sum of its papers' values (n, d) -> (labels, d)."""
        order = np.argsort(self.rows, kind="stable")
        starts = np.searchsorted(self.rows[order], np.arange(self.labels))
        if not len(order):
            return np.zeros((self.labels, values.shape[1]), np.float32)
        papers = torch.from_numpy(self.owners()[order])
        sums: Floats = embedding_bag(papers, torch.from_numpy(values), torch.from_numpy(starts), mode="sum").numpy()
        return sums


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
