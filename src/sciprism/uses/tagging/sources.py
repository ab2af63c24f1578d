"""What tagged papers teach about labels: linear scores, nearest papers, a map from papers to label vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.uses.tagging.name_matches import Match
from sciprism.uses.tagging.nearest import NearestPapers
from sciprism.uses.tagging.tag_matrix import TagMatrix

RIDGE = 1.0
"""Penalty of the linear scores."""
COMPATIBILITY_RIDGE = (10.0, 10.0)
"""Penalties of the map to label vectors: on the papers' side, on the labels'."""
PRIOR_MATCHES = 2.0
"""Matches that a label's own rate needs to weigh as much as the rate of all labels."""


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
        sums = torch.from_numpy(tags.sum_rows(papers)[seen].T.copy())  # X'Y, (d, s)
        rows = torch.from_numpy(papers)
        gram = rows.T @ rows
        linear = _solve(gram, sums, RIDGE)
        own = torch.from_numpy(label_vectors[seen])
        weights = torch.from_numpy(1 / np.sqrt(np.maximum(counts[seen], 1))).float()
        pulled = (sums * weights) @ own  # rare labels weigh nearly as much as common ones
        first, second = COMPATIBILITY_RIDGE
        left = _solve(gram, pulled, first)
        compatibility = _solve(own.T @ own, left.T.contiguous(), second).T.contiguous()
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
    owners = np.repeat(np.arange(len(matches)), [len(found) for found in matches])
    rows = np.array([row for found in matches for row in found], np.int64)
    right = tags.has(owners, rows)
    found = np.bincount(rows, minlength=tags.labels)
    correct = np.bincount(rows, right, tags.labels)
    mean = correct.sum() / max(1, found.sum())
    rates: Doubles = (correct + PRIOR_MATCHES * mean) / (found + PRIOR_MATCHES)
    return rates
