"""The nearest tagged papers of a paper, and their votes for labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from sciprism.arrays import Floats, Rows
from sciprism.uses.tagging.tag_matrix import TagMatrix

NEIGHBOURS = 30
SHOWN_NEIGHBOURS = 5
"""The nearest papers that a reason counts."""
SHARPNESS = 3
"""A neighbour votes with this power of its cosine."""
PAPER_BLOCK = 16_384


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
        near, cosines = self.find(queries)
        weights = np.maximum(cosines, 0) ** SHARPNESS
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
        shares = np.zeros((len(near), self.tags.labels), np.float32)
        first = np.zeros_like(shares)
        for query, (papers, votes) in enumerate(zip(near.tolist(), weights.tolist(), strict=True)):
            for rank, (paper, vote) in enumerate(zip(papers, votes, strict=True)):
                labels = self.tags[paper]
                shares[query, labels] += vote
                if rank < SHOWN_NEIGHBOURS:
                    first[query, labels] += 1
        return Votes(shares, first, min(SHOWN_NEIGHBOURS, len(self.rows)))

    def find(self, queries: Floats) -> tuple[Rows, Floats]:
        """Return the nearest papers of each query and their cosines, best first, in blocks of papers."""
        asked = torch.from_numpy(queries)
        asked = asked / asked.norm(dim=1, keepdim=True).clamp_min(1e-9)
        count = min(NEIGHBOURS, len(self.rows))
        best, rows = torch.empty(len(asked), 0), torch.empty(len(asked), 0, dtype=torch.int64)
        for start in range(0, len(self.rows), PAPER_BLOCK):
            block = torch.from_numpy(self.rows[start : start + PAPER_BLOCK])
            products = asked @ block.T / block.norm(dim=1).clamp_min(1e-9)
            places = torch.arange(start, start + len(block)).expand(len(asked), -1)
            best, chosen = torch.cat([best, products], dim=1).topk(min(count, best.shape[1] + len(block)), dim=1)
            rows = torch.cat([rows, places], dim=1).gather(1, chosen)
        return rows.numpy(), best.numpy()
