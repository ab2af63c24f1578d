"""The space of tagged papers: weighted words in a sparse matrix, their directions (LSA), and the papers' vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch.nn.functional import embedding_bag

from sciprism.arrays import Floats, Rows, normalize_rows
from sciprism.papers.records import Paper
from sciprism.uses.tagging.vocabulary import stems_of

MAX_TERMS = 100_000
MAX_SHARE = 0.5  # words of more than this share of the texts say nothing
MIN_TEXTS = 2
OVERSAMPLE = 16  # further directions that are computed, which make the wanted ones exact sooner


@dataclass(frozen=True, slots=True, eq=False)
class TermMatrix:
    """A sparse matrix of texts by terms in compressed rows. starts: (n + 1,), terms and weights: (nonzeros,)."""

    starts: Rows
    terms: Rows
    weights: Floats
    width: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def transpose(self) -> TermMatrix:
        """Return the matrix of terms by texts."""
        order = np.argsort(self.terms, kind="stable")
        starts = np.searchsorted(self.terms[order], np.arange(self.width + 1))
        return TermMatrix(starts, self.owners()[order], self.weights[order], len(self))

    def owners(self) -> Rows:
        """Return the row of each weight (nonzeros,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def to_columns(self, rows: Sequence[int]) -> torch.Tensor:
        """Return some texts as the columns of a dense matrix (width, m)."""
        columns = torch.zeros(self.width, len(rows))
        for column, row in enumerate(rows):
            part = slice(self.starts[row], self.starts[row + 1])
            columns[self.terms[part], column] = torch.from_numpy(self.weights[part])
        return columns

    def multiply(self, right: torch.Tensor) -> torch.Tensor:
        """Multiply with a dense matrix (width, m) -> (n, m)."""
        terms, starts, weights = (torch.from_numpy(part) for part in (self.terms, self.starts[:-1], self.weights))
        if not len(terms):
            return torch.zeros(len(self), right.shape[1])
        return embedding_bag(terms, right, starts, mode="sum", per_sample_weights=weights)


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The terms of a set of texts -> their columns, and how rare each is. idf: (t,)."""

    columns: dict[str, int]
    idf: Floats

    @classmethod
    def learn(cls, texts: Sequence[Sequence[str]], max_share: float = MAX_SHARE) -> Terms:
        """Choose the terms of texts, given as words: not those of one text, nor those of more than a share of them."""
        counts = Counter(word for words in texts for word in set(words))
        least, most = (MIN_TEXTS, max_share * len(texts)) if len(texts) >= 2 * MIN_TEXTS else (1, len(texts))
        usable = [(word, count) for word, count in counts.most_common() if least <= count <= most][:MAX_TERMS]
        idf = np.log((1 + len(texts)) / (1 + np.array([count for _, count in usable], np.float64))) + 1
        return cls({word: number for number, (word, _) in enumerate(usable)}, idf.astype(np.float32))

    def weigh(self, texts: Iterable[Sequence[str]]) -> TermMatrix:
        """Return texts, given as words, by terms: (1 + log tf) idf, rows of length 1; unknown words are left out."""
        starts, terms, counts = [0], list[int](), list[int]()
        for words in texts:
            counted = Counter(self.columns[word] for word in words if word in self.columns)
            terms += counted.keys()
            counts += counted.values()
            starts.append(len(terms))
        rows = np.array(terms, np.int64)
        weights = (1 + np.log(np.array(counts, np.float64))) * self.idf[rows]
        matrix = TermMatrix(np.array(starts, np.int64), rows, weights.astype(np.float32), len(self.columns))
        squares = np.bincount(matrix.owners(), np.square(matrix.weights, dtype=np.float64), len(matrix))
        lengths = np.sqrt(squares).astype(np.float32)[matrix.owners()]
        return replace(matrix, weights=matrix.weights / lengths)


def truncated_svd(matrix: TermMatrix, dim: int, *, seed: int = 0, rounds: int = 1) -> Floats:
    """Return the `dim` leading right singular vectors (width, dim) of a matrix (Halko et al., 2011, algorithm 4.4)."""
    dim = min(dim, len(matrix), matrix.width)
    size = min(dim + OVERSAMPLE, len(matrix), matrix.width)
    columns = matrix.transpose()
    start = torch.randn(matrix.width, size, generator=torch.Generator().manual_seed(seed))
    basis = torch.linalg.qr(matrix.multiply(start)).Q
    for _ in range(rounds):
        basis = torch.linalg.qr(matrix.multiply(columns.multiply(basis))).Q
    small = columns.multiply(basis)  # (width, size): the transpose of Q'A
    values, turns = torch.linalg.eigh(small.T @ small)  # of its squares: cheaper than its own decomposition
    chosen = torch.arange(size - 1, size - 1 - dim, -1)
    lengths = values[chosen].clamp_min(1e-12).sqrt()
    return np.asarray((small @ turns[:, chosen] / lengths).contiguous())


DIRECTIONS = 1024
"""Directions of words. nDCG@5 of linear scores alone on PubMed dev papers: 512 0.845, 768 0.848, 1024 0.852."""


@dataclass(frozen=True, slots=True, eq=False)
class PaperSpace:
    """The map from papers to rows (n, directions + dim + 1): words, vector and a constant, each part of length 1.

    directions: (terms, k), of latent semantic analysis. centre: (dim,), the mean vector of the training papers.
    """

    terms: Terms
    directions: Floats
    centre: Floats

    @classmethod
    def learn(cls, papers: Sequence[Paper], vectors: Floats, *, directions: int = DIRECTIONS) -> PaperSpace:
        """Learn terms and directions from papers, without their tags."""
        words = [stems_of(f"{paper.title} {paper.abstract}") for paper in papers]
        terms = Terms.learn(words)
        return cls(terms, truncated_svd(terms.weigh(words), directions), vectors.mean(axis=0))

    def locate(self, papers: Sequence[Paper], vectors: Floats) -> Floats:
        """Return the row of each paper, float32 (n, d)."""
        words = self.terms.weigh(stems_of(f"{paper.title} {paper.abstract}") for paper in papers)
        latent = words.multiply(torch.from_numpy(self.directions)).numpy()
        one = np.ones((len(papers), 1), np.float32)
        return np.hstack([normalize_rows(latent), normalize_rows(vectors - self.centre), one])
