"""Candidate labels of papers, and what speaks for each, as numbers that a ranker weighs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from sciprism.arrays import Floats, Rows, normalize_rows
from sciprism.papers.records import Label, Paper
from sciprism.uses.tagging.paper_space import list_texts
from sciprism.uses.tagging.tagged_papers import NearestPapers, Sources
from sciprism.uses.tagging.vocabulary import (
    ALTERNATIVE,
    DERIVED,
    PREFERRED,
    Match,
    NameMatcher,
    Vocabulary,
    list_names,
    stems_of,
)

CANDIDATES = 50  # labels of each source that are considered for a paper
MAX_LINKS = 8  # labels directly above and below each that are looked at
NAME_FEATURES = (
    "in title", "in abstract", "place", "words", "inside longer", "exact", "preferred", "alternative", "derived",
    "coverage", "coverage rank", "rarity", "cosine", "cosine above mean", "cosine rank", "parent named", "child named",
)  # fmt: skip
"""What the vocabulary and the paper alone give."""
NEAR_FEATURES = ("near", "votes", "votes rank", "near papers")
TRAINED_FEATURES = (
    "seen", "log papers", "linear", "linear rank", "compatibility", "compatibility rank", "name rate",
    "named rate", "parent linear", "child linear",
)  # fmt: skip
FEATURES = (*NAME_FEATURES, *NEAR_FEATURES, *TRAINED_FEATURES)  # all columns of the evidence, in their order


@dataclass(frozen=True, slots=True, eq=False)
class LabelSide:
    """What labels alone give: known from the vocabulary, without any tagged paper.

    vectors: (labels, e), of length 1, around their mean. matcher: finds names in texts. words: finds their words.
    names: a row for each name, its words weighted by rarity, which sum to 1. owners: first row of each label's.
    rarity: (labels,), the mean rarity of the words of each label's own name.
    """

    vectors: Floats
    centre: Floats
    matcher: NameMatcher
    words: CountVectorizer
    names: csr_array
    owners: Rows
    rarity: Floats

    @classmethod
    def build(cls, labels: Sequence[Label], vectors: Floats) -> LabelSide:
        """Prepare labels and their vectors (labels, e)."""
        named = [[name for _, name in list_names(label)] for label in labels]
        owners = np.cumsum([0, *map(len, named)])
        words = CountVectorizer(analyzer=stems_of, binary=True, dtype=np.float32)
        found = csr_array(words.fit_transform(["name", *chain(*named)])[1:])  # names of signs alone have no word
        of_labels = csr_array((np.ones(owners[-1]), np.arange(owners[-1]), owners)) @ found
        rarity = np.log((1 + len(labels)) / np.maximum(1, (of_labels > 0).sum(axis=0)))
        weights = csr_array(found * rarity.astype(np.float32))
        mean = (weights.sum(axis=1) / np.maximum(1, found.sum(axis=1)))[owners[:-1]]
        centre = vectors.mean(axis=0)
        unit, names = normalize_rows(vectors - centre), normalize(weights, "l1")
        return cls(unit, centre, NameMatcher(labels), words, names, owners[:-1], mean.astype(np.float32))

    def cover(self, papers: Sequence[Paper]) -> torch.Tensor:
        """Return the largest share of the words of one of each label's names in each paper, (b, labels)."""
        shares = (self.names @ self.words.transform(list_texts(papers)).T).toarray()
        return torch.from_numpy(np.maximum.reduceat(shares, self.owners, axis=0).T.copy())

    def compare(self, vectors: Floats) -> torch.Tensor:
        """Return the cosines of papers' vectors (b, e), around the papers' own mean, with all labels, (b, labels)."""
        return torch.from_numpy(normalize_rows(vectors)) @ torch.from_numpy(self.vectors).T


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Candidates of some papers. papers, labels: (c,), of each candidate; features: (c, f)."""

    papers: Rows
    labels: Rows
    features: Floats
    matches: list[dict[int, Match]]
    neighbours: int


class EvidenceCollector:
    """Collect candidates and what speaks for them: from the labels alone, from near papers, from fitted sources."""

    def __init__(self, vocabulary: Vocabulary, side: LabelSide) -> None:
        self.side = side
        self._label_vectors = torch.from_numpy(side.vectors)
        self._up, self._down = _pad(vocabulary.parents), _pad(vocabulary.children)

    def collect(
        self,
        papers: Sequence[Paper],
        vectors: Floats,
        *,
        near: NearestPapers | None = None,
        sources: Sources | None = None,
        located: Floats | None = None,
        matches: list[dict[int, Match]] | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Evidence:
        """Return the candidates of a block of papers.

        vectors: (b, e), around their mean. located: (b, d), the same papers where near papers and sources have theirs.
        allowed: which labels may be candidates (labels,); the first of these of each source are, too.
        """
        if matches is None:
            matches = self.find_names(papers)
        votes = near.vote(located) if near is not None and located is not None else None
        scores = {"coverage": self.side.cover(papers), "cosine": self.side.compare(vectors)}  # (b, labels) each
        if votes is not None:
            scores["votes"] = torch.from_numpy(votes.shares)
        if sources is not None and located is not None:
            scores["linear"] = sources.score_linear(located)
            scores["compatibility"] = sources.score_compatibility(located, self._label_vectors)
        ranks = {name: _rank(values) for name, values in scores.items()}
        chosen: NDArray[np.bool_] = np.logical_or.reduce([rank < CANDIDATES for rank in ranks.values()])
        for owner, named in enumerate(matches):
            chosen[owner, list(named)] = True
        if allowed is not None and not allowed.all():
            chosen = (chosen | _choose_allowed(scores, allowed)) & allowed
        owners, labels = np.nonzero(chosen)
        columns = self._compare_names(owners, labels, matches, scores["cosine"])
        columns |= {name: values.numpy()[owners, labels] for name, values in scores.items()}
        columns |= {f"{name} rank": np.log1p(values[owners, labels]) for name, values in ranks.items()}
        if votes is not None:
            share = votes.first[owners, labels] / np.float32(max(1, votes.neighbours))
            columns |= {"near papers": share, "near": np.ones(len(owners), np.float32)}
        if sources is not None:
            columns |= self._weigh_sources(owners, labels, sources, scores, columns)
        features = np.zeros((len(owners), len(FEATURES)), np.float32)
        for number, name in enumerate(FEATURES):
            features[:, number] = columns.get(name, 0)
        return Evidence(owners, labels, features, matches, votes.neighbours if votes is not None else 0)

    def find_names(self, papers: Sequence[Paper]) -> list[dict[int, Match]]:
        """Return what is found of the labels' names in each paper."""
        return [self.side.matcher.find(paper.title, paper.abstract) for paper in papers]

    def _compare_names(
        self, owners: Rows, labels: Rows, matches: list[dict[int, Match]], cosines: torch.Tensor
    ) -> dict[str, Floats]:
        """Return the columns of names found, and of cosines within each paper."""
        described = np.zeros((len(owners), 9), np.float32)
        for place, (owner, label) in enumerate(zip(owners.tolist(), labels.tolist(), strict=True)):
            if (match := matches[owner].get(label)) is not None:
                described[place] = _describe(match)
        named = np.zeros((len(matches), cosines.shape[1] + 1), np.float32)
        for owner, names in enumerate(matches):
            named[owner, list(names)] = 1
        return dict(zip(FEATURES[:9], described.T, strict=True)) | {
            "rarity": self.side.rarity[labels],
            "cosine above mean": _standardize(cosines, owners, labels),
            "parent named": named[owners[:, None], self._up[labels]].max(axis=1),
            "child named": named[owners[:, None], self._down[labels]].max(axis=1),
        }

    def _weigh_sources(
        self, owners: Rows, labels: Rows, sources: Sources, scores: dict[str, torch.Tensor], columns: dict[str, Floats]
    ) -> dict[str, Floats]:
        """Return the columns of fitted sources beyond their scores."""
        counts = sources.counts[labels]
        linear = torch.nn.functional.pad(scores["linear"], (0, 1)).numpy()  # a column for labels without parents
        rate = sources.name_rate[labels].astype(np.float32)
        named = (columns["in title"] + columns["in abstract"]) > 0
        return {
            "seen": (counts > 0).astype(np.float32),
            "log papers": np.log1p(counts).astype(np.float32),
            "compatibility": _standardize(scores["compatibility"], owners, labels),
            "name rate": rate,
            "named rate": rate * named,
            "parent linear": linear[owners[:, None], self._up[labels]].max(axis=1),
            "child linear": linear[owners[:, None], self._down[labels]].max(axis=1),
        }


def _standardize(scores: torch.Tensor, owners: Rows, labels: Rows) -> Floats:
    """Return the scores of candidates (c,), of all scores (b, labels), around the mean of each paper."""
    means, deviations = scores.mean(dim=1).numpy(), scores.std(dim=1).numpy()
    return np.asarray((scores.numpy()[owners, labels] - means[owners]) / np.maximum(deviations[owners], 1e-6))


def _describe(match: Match) -> tuple[float, ...]:
    """Return the columns of a name that was found, the first of `FEATURES`."""
    counts = np.log1p(match.title), np.log1p(match.abstract)
    kinds = (match.kind == kind for kind in (PREFERRED, ALTERNATIVE, DERIVED))
    return *counts, 1 - match.place, match.words, match.inside, match.exact, *kinds


def _rank(scores: torch.Tensor) -> Floats:
    """Rank each paper's labels by score, best 0 (n, labels); beyond `CANDIDATES` or without a score: 2 * CANDIDATES."""
    count = min(CANDIDATES, scores.shape[1])
    best = scores.topk(count, dim=1)
    ranks = torch.full(scores.shape, 2.0 * CANDIDATES)
    places = torch.arange(count, dtype=torch.float32).expand(len(scores), -1)
    ranks.scatter_(1, best.indices, torch.where(best.values > 0, places, 2.0 * CANDIDATES))
    return np.asarray(ranks)


def _choose_allowed(scores: dict[str, torch.Tensor], allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark the first of each source among the allowed labels (b, labels)."""
    barred = torch.from_numpy(~allowed)
    inside = [_rank(values.masked_fill(barred, -torch.inf)) < CANDIDATES for values in scores.values()]
    return np.asarray(np.logical_or.reduce(inside))


def _pad(links: Sequence[Sequence[int]]) -> Rows:
    """Return links as a matrix (labels, `MAX_LINKS`); missing ones point beyond the last label."""
    padded = np.full((len(links), MAX_LINKS), len(links))
    for row, rows in enumerate(links):
        padded[row, : len(rows)] = rows[:MAX_LINKS]
    return padded
