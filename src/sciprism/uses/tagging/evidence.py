"""What tagged papers teach, candidate labels of papers and what speaks for each as numbers, and the ranker of these."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from math import log
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd
from torch import nn

from sciprism.arrays import Doubles, Floats, Rows, normalize_rows
from sciprism.index.exact import topk
from sciprism.papers.records import Paper
from sciprism.store import Matrix
from sciprism.uses.calibration import Calibration
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

MAX_TERMS = 100_000
MAX_SHARE = 0.5  # words of more than this share of the texts say nothing
OVERSAMPLE = 16  # further directions that are computed, which make the wanted ones exact sooner
WEIGHTS: dict[str, Any] = {"sublinear_tf": True, "dtype": np.float32}
"""Texts are rows of length 1 of (1 + log tf) idf."""


def learn_terms(
    texts: Sequence[str], split: Callable[[str], list[str]], max_share: float = MAX_SHARE
) -> TfidfVectorizer:
    """Return what weighs the terms of texts: not those of one text, nor those of more than a share of the texts."""
    bounds = {"min_df": 2, "max_df": max_share} if len(texts) >= 4 else {}
    try:
        return TfidfVectorizer(analyzer=split, max_features=MAX_TERMS, **bounds, **WEIGHTS).fit(texts)
    except ValueError:  # no word is left
        return TfidfVectorizer(analyzer=split, vocabulary=[""], **WEIGHTS).fit(texts)


def list_texts(papers: Iterable[Paper]) -> list[str]:
    """Return the text of each paper whose words count."""
    return [f"{paper.title} {paper.abstract}" for paper in papers]


DIRECTIONS = 1024
"""Directions of words. nDCG@5 of linear scores alone on PubMed dev papers: 512 0.845, 768 0.848, 1024 0.852."""


@dataclass(frozen=True, slots=True, eq=False)
class PaperSpace:
    """The map from papers to rows (n, directions + dim + 1): words, vector and a constant, each part of length 1.

    directions: (terms, k), of latent semantic analysis. centre: (dim,), the mean vector of the training papers.
    """

    terms: TfidfVectorizer
    directions: Floats
    centre: Floats

    @classmethod
    def learn(cls, papers: Sequence[Paper], vectors: Floats) -> PaperSpace:
        """Learn terms, and the leading right singular vectors of the texts in them, from papers without their tags."""
        texts = list_texts(papers)
        terms = learn_terms(texts, stems_of)
        matrix = terms.transform(texts)
        options = {"n_oversamples": OVERSAMPLE, "n_iter": 1, "power_iteration_normalizer": "QR", "random_state": 0}
        _, _, found = randomized_svd(matrix, min(DIRECTIONS, *matrix.shape), **options)  # Halko et al., 2011
        return cls(terms, np.ascontiguousarray(found.T), vectors.mean(axis=0))

    @classmethod
    def restore(cls, terms: Sequence[str], idf: Floats, directions: Floats, centre: Floats) -> PaperSpace:
        """Return the space of stored terms, with their rarity (t,)."""
        weigh = TfidfVectorizer(analyzer=stems_of, vocabulary=terms, **WEIGHTS)
        weigh.idf_ = idf
        return cls(weigh, directions, centre)

    def locate(self, papers: Sequence[Paper], vectors: Floats) -> Floats:
        """Return the row of each paper, float32 (n, d)."""
        latent = self.terms.transform(list_texts(papers)) @ self.directions
        one = np.ones((len(papers), 1), np.float32)
        return np.hstack([normalize_rows(latent), normalize_rows(vectors - self.centre), one])


NEIGHBOURS = 30
SHOWN_NEIGHBOURS = 5  # the nearest papers that a reason counts
SHARPNESS = 3  # a neighbour votes with this power of its cosine
RIDGE = 1.0  # penalty of the linear scores
COMPATIBILITY_RIDGE = (10.0, 10.0)  # penalties of the map to label vectors: on the papers' side, on the labels'
PRIOR_MATCHES = 2.0  # matches that a label's own rate needs to weigh as much as the rate of all labels


Tags: TypeAlias = csr_array
"""Which labels each paper has: ones (n, labels), the labels of a paper ascending."""


def build_tags(tags: Iterable[Iterable[int]], labels: int) -> Tags:
    """Build the matrix of each paper's rows of labels."""
    sets = [sorted(set(rows)) for rows in tags]
    rows = np.array([row for rows in sets for row in rows], np.int64)
    starts = np.cumsum([0, *map(len, sets)])
    return csr_array((np.ones(len(rows), np.float32), rows, starts), shape=(len(sets), labels))


def without_labels(tags: Tags, labels: Rows) -> Tags:
    """Return the tags of papers without some labels."""
    keep = np.ones(tags.shape[1], np.float32)
    keep[labels] = 0
    left = csr_array(tags * keep)
    left.eliminate_zeros()
    return left


@dataclass(frozen=True, slots=True, eq=False)
class TaggedPapers:
    """Tagged papers. vectors: (n, e).

    judged: paper -> the labels that were judged, right or wrong, where a person judged only some; of all other papers
    the tags are taken to be complete.
    """

    papers: Sequence[Paper]
    vectors: Floats
    tags: Tags
    judged: dict[int, frozenset[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class NearestPapers:
    """Papers with tags, found by their rows (n, d)."""

    rows: Floats
    tags: Tags

    def vote(self, queries: Floats) -> tuple[Floats, Floats]:
        """Return what the papers nearest to each query (b, d) say of all labels, (b, labels) each.

        The share of their votes, and how many of the `SHOWN_NEIGHBOURS` first have the label.
        """
        count = min(NEIGHBOURS, len(self.rows))
        cosines, near = topk(queries, [Matrix(self.rows)], count)
        weights = np.maximum(cosines, 0) ** SHARPNESS
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
        starts = np.arange(len(near) + 1) * count
        first = np.broadcast_to(np.arange(count) < SHOWN_NEIGHBOURS, near.shape)
        shares, counts = (
            csr_array((values.astype(np.float32).ravel(), near.ravel(), starts), shape=(len(near), len(self.rows)))
            @ self.tags
            for values in (weights, first)
        )
        return shares.toarray(), counts.toarray()


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
    def fit(cls, papers: Floats, tags: Tags, label_vectors: Floats, matches: list[dict[int, Match]]) -> Sources:
        """Fit all sources. papers: (n, d) of a PaperSpace, label_vectors: (labels, e), matches: of each paper."""
        counts = tags.sum(axis=0, dtype=np.float64)
        seen = np.flatnonzero(counts)
        sums = torch.from_numpy((tags.T @ papers)[seen].T.copy())  # X'Y, (d, s)
        rows = torch.from_numpy(papers)
        gram = rows.T @ rows
        linear = _solve(gram, sums, RIDGE)
        seen_vectors = torch.from_numpy(label_vectors[seen])
        weights = torch.from_numpy(1 / np.sqrt(np.maximum(counts[seen], 1))).float()
        pulled = (sums * weights) @ seen_vectors  # rare labels weigh nearly as much as common ones
        first, second = COMPATIBILITY_RIDGE
        left = _solve(gram, pulled, first)
        compatibility = _solve(seen_vectors.T @ seen_vectors, left.T.contiguous(), second).T.contiguous()
        owners = np.repeat(np.arange(len(matches)), [len(names) for names in matches])
        found = np.array([row for names in matches for row in names], np.int64)
        named = np.bincount(found, minlength=tags.shape[1])
        correct = np.bincount(found, tags[owners, found], tags.shape[1])
        mean = correct.sum() / max(1, named.sum())  # towards which the rates of few papers are drawn
        rate = np.asarray((correct + PRIOR_MATCHES * mean) / (named + PRIOR_MATCHES))
        return cls(seen, counts, linear.numpy(), compatibility.numpy(), NearestPapers(papers, tags), rate)


def _solve(gram: torch.Tensor, right: torch.Tensor, penalty: float) -> torch.Tensor:
    """Return (gram + penalty I)^-1 right."""
    factor = torch.linalg.cholesky(gram + penalty * torch.eye(len(gram)))
    return torch.cholesky_solve(right, factor)


Mask: TypeAlias = NDArray[np.bool_] | None
"""Which labels are allowed (labels,); None: all."""
CANDIDATES = 50  # labels of each source that are considered for a paper
FEW = 10  # labels, whose deviation is half that of many; papers, of which half as much is taken off
USUAL_DEVIATION = 0.1  # of the cosines of a paper with all labels
NO_SHARE = 10  # logarithm of the number of labels from which on nothing is taken off
MAX_LINKS = 8  # labels directly above and below each that are looked at
NAME_FEATURES = (
    "in title", "in abstract", "place", "words", "inside longer", "exact", "preferred", "alternative", "derived",
    "coverage", "coverage rank", "rarity", "cosine", "cosine above mean", "cosine rank", "parent named", "child named",
    "named", "log labels", "named of many",
)  # fmt: skip
"""What the vocabulary and the paper alone give."""
NEAR_FEATURES = ("near", "votes", "votes rank", "near papers")
TRAINED_FEATURES = (
    "seen", "log papers", "linear", "linear rank", "compatibility", "compatibility rank", "name rate",
    "named rate", "parent linear", "child linear",
)  # fmt: skip
FEATURES = (*NAME_FEATURES, *NEAR_FEATURES, *TRAINED_FEATURES)  # all columns of the evidence, in their order


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Candidates of some papers. papers, labels: (c,), of each candidate; features: (c, f)."""

    papers: Rows
    labels: Rows
    features: Floats
    matches: list[dict[int, Match]]
    neighbours: int


class EvidenceCollector:
    """Collect candidates and what speaks for them: from the labels alone, from near papers, from fitted sources.

    vectors: of the labels (labels, e), of length 1, around their mean. matcher: finds names in texts. share: of what
    papers, and labels, have in common, how much is taken off. Where nothing is trained, less of more labels: among a
    few classes one that is near all papers wins too often, of many labels general ones fit most papers.
    """

    def __init__(self, vocabulary: Vocabulary, vectors: Floats, *, is_trained: bool = True) -> None:
        labels = vocabulary.labels
        named = [[name for _, name in list_names(label)] for label in labels]
        owners = np.cumsum([0, *map(len, named)])  # the first row of each label's names
        self._words = CountVectorizer(analyzer=stems_of, binary=True, dtype=np.float32)
        found = csr_array(self._words.fit_transform(["name", *chain(*named)])[1:])  # names of signs alone have no word
        of_labels = csr_array((np.ones(owners[-1]), np.arange(owners[-1]), owners)) @ found
        rarity = np.log((1 + len(labels)) / np.maximum(1, (of_labels > 0).sum(axis=0)))
        weights = csr_array(found * rarity.astype(np.float32))
        mean = weights.sum(axis=1) / np.maximum(1, found.sum(axis=1))
        self._owners, self._rarity = owners[:-1], mean[owners[:-1]].astype(np.float32)  # of each label's own name
        self._names = normalize(weights, "l1")
        self._usual, few = (0.0, 1.0) if is_trained else (USUAL_DEVIATION, 1 - log(len(labels)) / NO_SHARE)
        self.share = max(0.0, few)
        self.matcher, self.vectors = NameMatcher(labels), normalize_rows(vectors - self.share * vectors.mean(axis=0))
        self._up, self._down = _pad(vocabulary.parents), _pad(vocabulary.children)

    def find_centre(self, vectors: Floats) -> Floats:
        """Return what papers' vectors (n, e) are taken around, (e,), nearer to zero for few papers."""
        return np.asarray(self.share / (len(vectors) + FEW) * vectors.sum(axis=0))

    def compare(self, vectors: Floats) -> torch.Tensor:
        """Return the cosines of papers' vectors (b, e), around the papers' own mean, with all labels, (b, labels)."""
        return torch.from_numpy(normalize_rows(vectors)) @ torch.from_numpy(self.vectors).T

    def collect(
        self,
        papers: Sequence[Paper],
        vectors: Floats,
        *,
        near: NearestPapers | None = None,
        sources: Sources | None = None,
        located: Floats | None = None,
        matches: list[dict[int, Match]] | None = None,
        allowed: Mask = None,
    ) -> Evidence:
        """Return the candidates of a block of papers.

        vectors: (b, e), around their mean. located: (b, d), the same papers where near papers and sources have theirs.
        allowed: which labels may be candidates (labels,), all by default.
        """
        if matches is None:
            matches = self.find_names(papers)
        shares = (self._names @ self._words.transform(list_texts(papers)).T).toarray()  # of the words of each name
        cover = torch.from_numpy(np.maximum.reduceat(shares, self._owners, axis=0).T.copy())
        scores = {"coverage": cover, "cosine": self.compare(vectors)}  # (b, labels) each
        if near is not None and located is not None:
            shares, first = near.vote(located)
            scores["votes"] = torch.from_numpy(shares)
        if sources is not None and located is not None:
            rows = torch.from_numpy(located)
            scores["linear"] = torch.zeros(len(rows), len(sources.counts))  # 0 of labels that no paper has
            scores["linear"][:, torch.from_numpy(sources.seen)] = rows @ torch.from_numpy(sources.linear)
            scores["compatibility"] = rows @ torch.from_numpy(sources.compatibility) @ torch.from_numpy(self.vectors).T
        barred = torch.from_numpy(np.zeros(len(self.vectors), bool) if allowed is None else ~allowed)
        up = {"cosine": 2.0 * (self._usual > 0)}  # without training, labels with a cosine below 0 are ranked too
        ranks = {name: _rank((each + up.get(name, 0)).masked_fill(barred, -torch.inf)) for name, each in scores.items()}
        chosen: NDArray[np.bool_] = np.logical_or.reduce([rank < CANDIDATES for rank in ranks.values()])
        for owner, named in enumerate(matches):
            chosen[owner, list(named)] = True
        chosen &= ~barred.numpy()
        owners, labels = np.nonzero(chosen)
        neighbours = 0 if near is None else min(SHOWN_NEIGHBOURS, len(near.rows))
        columns = self._compare_names(owners, labels, matches, scores["cosine"])
        columns |= {name: values.numpy()[owners, labels] for name, values in scores.items()}
        columns |= {f"{name} rank": np.log1p(values[owners, labels]) for name, values in ranks.items()}
        if near is not None and located is not None:
            share = first[owners, labels] / np.float32(max(1, neighbours))
            columns |= {"near papers": share, "near": np.ones(len(owners), np.float32)}
        if sources is not None:
            columns |= self._weigh_sources(owners, labels, sources, scores, columns)
        none = np.zeros(len(owners))
        features = np.stack(
            [columns.get(name, none) for name in FEATURES], axis=1, dtype=np.float32, casting="same_kind"
        )
        return Evidence(owners, labels, features, matches, neighbours)

    def find_names(self, papers: Sequence[Paper]) -> list[dict[int, Match]]:
        """Return what is found of the labels' names in each paper."""
        return [self.matcher.find(paper.title, paper.abstract) for paper in papers]

    def _compare_names(
        self, owners: Rows, labels: Rows, matches: list[dict[int, Match]], cosines: torch.Tensor
    ) -> dict[str, Floats]:
        """Return the columns of names found, and of cosines within each paper."""
        described = np.zeros((len(owners), 9), np.float32)
        for place, (owner, label) in enumerate(zip(owners.tolist(), labels.tolist(), strict=True)):
            if (match := matches[owner].get(label)) is not None:
                counts = np.log1p(match.title), np.log1p(match.abstract)
                kinds = (match.kind == kind for kind in (PREFERRED, ALTERNATIVE, DERIVED))
                described[place] = (*counts, 1 - match.place, match.words, match.inside, match.exact, *kinds)
        named = np.zeros((len(matches), cosines.shape[1] + 1), np.float32)
        for owner, names in enumerate(matches):
            named[owner, list(names)] = 1
        found, many = named[owners, labels], np.log(np.float32(cosines.shape[1]))
        return dict(zip(FEATURES[:9], described.T, strict=True)) | {
            "rarity": self._rarity[labels],
            "cosine above mean": _standardize(cosines, owners, labels, self._usual),
            "parent named": named[owners[:, None], self._up[labels]].max(axis=1),
            "child named": named[owners[:, None], self._down[labels]].max(axis=1),
            "named": found,
            "log labels": np.full(len(owners), many),
            "named of many": found * many,
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


def _standardize(scores: torch.Tensor, owners: Rows, labels: Rows, usual: float = 0.0) -> Floats:
    """Return the scores of candidates (c,), of all scores (b, labels), around the mean of each paper, by deviation.

    usual: the deviation to which that over few labels is drawn; 0 to draw it to none.
    """
    values, count = scores.numpy(), scores.shape[1]
    variances = count * values.var(axis=1, ddof=min(1, count - 1)) + FEW * usual**2
    deviations = np.maximum(np.sqrt(variances / (count + FEW * (usual > 0))), 1e-6)
    return np.asarray((values[owners, labels] - values.mean(axis=1)[owners]) / deviations[owners])


def _rank(scores: torch.Tensor) -> Floats:
    """Rank each paper's labels by score, best 0 (n, labels); beyond `CANDIDATES` or without a score: 2 * CANDIDATES."""
    count = min(CANDIDATES, scores.shape[1])
    best = scores.topk(count, dim=1)
    ranks = torch.full(scores.shape, 2.0 * CANDIDATES)
    places = torch.arange(count, dtype=torch.float32).expand(len(scores), -1)
    ranks.scatter_(1, best.indices, torch.where(best.values > 0, places, 2.0 * CANDIDATES))
    return np.asarray(ranks)


def _pad(links: Sequence[Sequence[int]]) -> Rows:
    """Return links as a matrix (labels, `MAX_LINKS`); missing ones point beyond the last label."""
    padded = np.full((len(links), MAX_LINKS), len(links))
    for row, rows in enumerate(links):
        padded[row, : len(rows)] = rows[:MAX_LINKS]
    return padded


HIDDEN = (64, 32)
EPOCHS = 4
BATCH = 4096
RATE = 3e-3
WEIGHT_DECAY = 1e-4
MIN_DEVIATION = 1e-2
CONSTANT = np.float32(1e12)  # the scale of a feature that was constant in training


@dataclass(frozen=True, slots=True, eq=False)
class Ranker:
    """A network over some features of the evidence. mean, scale: (f,) of the features; layers: weights and biases."""

    columns: tuple[int, ...]
    mean: Floats
    scale: Floats
    layers: tuple[tuple[Floats, Floats], ...]

    @classmethod
    def fit(cls, features: Floats, right: Floats, columns: Sequence[int], *, seed: int = 0) -> Ranker:
        """Train on candidates (c, f) and whether each is right (c,), by cross-entropy."""
        chosen = np.ascontiguousarray(features[:, list(columns)])
        mean = chosen.mean(axis=0)
        scale = chosen.std(axis=0)
        scale[scale < MIN_DEVIATION] = CONSTANT  # nothing was learned of it: no value of it is evidence
        chosen -= mean
        chosen /= scale
        network = _train(torch.from_numpy(chosen), torch.from_numpy(right.astype(np.float32)), seed)
        linear = [layer for layer in network if isinstance(layer, nn.Linear)]
        layers = tuple((layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in linear)
        return cls(tuple(columns), mean, scale, layers)

    def score(self, features: Floats) -> Doubles:
        """Return the log odds of candidates (c, f), (c,)."""
        values = (features[:, list(self.columns)] - self.mean) / self.scale
        for number, (weight, bias) in enumerate(self.layers):
            values = values @ weight.T + bias
            if number < len(self.layers) - 1:
                values = np.maximum(values, 0)
        return values[:, 0].astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Weighing:
    """How evidence becomes a probability.

    threshold: the one with the best F1 on held-out papers. sharpness: the power of the odds where labels exclude one
    another.
    """

    ranker: Ranker
    calibration: Calibration
    threshold: float
    sharpness: float = 1.0

    def weigh(self, features: Floats) -> Doubles:
        """Return the probability of each candidate (c,)."""
        return self.calibration.apply(self.ranker.score(features))

    def share(self, probabilities: Doubles) -> Doubles:
        """Return the probability of each candidate of one paper (c,), if exactly one of them is right."""
        within = np.clip(probabilities, 1e-6, 1 - 1e-6)
        odds = (within / (1 - within)) ** self.sharpness
        return np.asarray(odds / odds.sum())

    def to_json(self) -> dict[str, Any]:
        """Return ranker, calibration and threshold as JSON values; features by name."""
        ranker, calibration = self.ranker, self.calibration
        return {
            "ranker": {
                "columns": [FEATURES[column] for column in ranker.columns],
                "mean": ranker.mean.tolist(),
                "scale": ranker.scale.tolist(),
                "layers": [{"weight": weight.tolist(), "bias": bias.tolist()} for weight, bias in ranker.layers],
            },
            "calibration": {"scores": calibration.scores.tolist(), "probabilities": calibration.probabilities.tolist()},
            "threshold": self.threshold,
            "sharpness": self.sharpness,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Weighing:
        """Return what `to_json` gave; ValueError for an unknown feature."""
        given = values["ranker"]
        columns = tuple(FEATURES.index(name) for name in given["columns"])
        mean, scale = (np.array(given[name], np.float32) for name in ("mean", "scale"))
        pairs = ((part["weight"], part["bias"]) for part in given["layers"])
        layers = tuple((np.array(weight, np.float32), np.array(bias, np.float32)) for weight, bias in pairs)
        steps = (np.array(values["calibration"][name], np.float64) for name in ("scores", "probabilities"))
        calibration, more = Calibration(*steps), (values["threshold"], values.get("sharpness", 1.0))
        return cls(Ranker(columns, mean, scale, layers), calibration, *map(float, more))


def _train(features: torch.Tensor, right: torch.Tensor, seed: int) -> nn.Sequential:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        sizes = (features.shape[1], *HIDDEN)
        hidden = [part for pair in pairwise(sizes) for part in (nn.Linear(*pair), nn.ReLU())]
        network = nn.Sequential(*hidden, nn.Linear(sizes[-1], 1))
        optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=WEIGHT_DECAY)
        batches = max(1, -(-len(features) // BATCH))
        epochs = max(EPOCHS, min(200, 400 // batches))
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=epochs * batches)
        for _ in range(epochs):
            order = torch.randperm(len(features))
            for start in range(0, len(features), BATCH):
                rows = order[start : start + BATCH]
                scores = network(features[rows])[:, 0]
                loss = nn.functional.binary_cross_entropy_with_logits(scores, right[rows])
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                schedule.step()
    return network
