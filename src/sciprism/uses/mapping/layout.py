"""Positions of papers on a map: UMAP of their nearest neighbours; further papers are placed among these."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.errors import MissingExtraError
from sciprism.index.exact import Distance, topk
from sciprism.store import StoredCollection

Progress = Callable[[str, str, int, int | None], None]
"""Called with the work, its unit, how many are done and of how many."""
NEIGHBOURS = 15
QUERIES = 2048  # papers whose nearest are looked up at once
SPECTRAL = 50  # papers from which UMAP can begin with eigenvectors of the graph
PART = 1 << 14  # papers that are placed at once
SHARE = 0.4  # of the neighbours' weight that a topic has which a paper takes from them
ROUNDS = 3
STEPS = 12  # of a geometric median; its error is then below a pixel


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest other papers of each: numbers of papers and distances (n, k), the nearest first, -1 for none.

    A distance is 1 - cosine, or Euclidean where the encoder's vectors are compared so.
    """

    numbers: Rows
    distances: Floats

    def take(self, rows: Rows | slice) -> Nearest:
        """Return those of some papers."""
        return Nearest(self.numbers[rows], self.distances[rows])


def has_packages() -> bool:
    """Return whether the packages that maps need are there."""
    return bool(find_spec("umap") and find_spec("fast_hdbscan"))


def check_packages() -> None:
    """Raise MissingExtraError where a package that maps need is not there, before any work is done."""
    if not has_packages():
        raise MissingExtraError("map", "a map")


def find_nearest(
    stored: StoredCollection, space: str, rows: Rows, among: Rows, progress: Progress | None = None
) -> Nearest:
    """Find the nearest other papers of each row, exactly. rows, among: rows of the collection; among are numbered.

    Numbers are positions in `among`. A paper is never its own neighbour, also where many have one vector.
    """
    count = max(1, min(NEIGHBOURS, len(among) - 1))
    own = np.full(stored.rows, -1, np.int64)
    own[among] = np.arange(len(among))
    candidates = [stored.read_rows(space, among)]  # a mask on all rows would cost the products with all
    distance: Distance = "euclidean" if stored.manifest.encoder.distance == "euclidean" else "cosine"
    numbers = np.full((len(rows), count), -1, np.int64)
    distances = np.full((len(rows), count), np.inf, np.float32)
    for start in range(0, len(rows), QUERIES):
        part = rows[start : start + QUERIES]
        vectors = stored.read_rows(space, part).take(slice(None))
        scores, near = topk(vectors, candidates, count + 1, distance=distance)
        order = np.argsort(near == own[part][:, None], axis=1, kind="stable")[:, :count]  # the paper itself is last
        numbers[start : start + len(part)] = np.take_along_axis(near, order, axis=1)
        scores = np.take_along_axis(scores, order, axis=1)
        apart = -scores if distance == "euclidean" else 1 - scores
        distances[start : start + len(part)] = np.maximum(apart, 0)
        if progress:
            progress("nearest papers", "papers", start + len(part), len(rows))
    return Nearest(numbers, distances)


def lay_out(vectors: Floats, nearest: Nearest, *, seed: int = 0) -> Floats:
    """Lay papers out in the plane by UMAP (McInnes et al. 2018) of their neighbours; (n, d) -> float32 (n, 2).

    The same input and seed give the same positions on one machine: a seed lets UMAP use one thread. vectors: only for
    the first places of parts of the graph without a link.
    """
    from umap import UMAP

    papers, count = nearest.numbers.shape
    itself = np.arange(papers)[:, None]  # UMAP takes the first neighbour for the paper itself, without looking
    numbers = np.hstack([itself, nearest.numbers])
    distances = np.hstack([np.zeros((papers, 1), np.float32), nearest.distances])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one thread, and of new data, which are placed here
        layout = UMAP(
            n_neighbors=count + 1,
            min_dist=0.05,
            random_state=seed,
            n_jobs=1,
            precomputed_knn=(numbers, distances),
            init="spectral" if papers >= SPECTRAL else "random",
        ).fit_transform(vectors)
    return center(np.asarray(layout, np.float32))


def center(positions: Floats) -> Floats:
    """Move positions (n, 2) so that their median is in the middle; a paper without a link gets a place at the rim."""
    lost = ~np.isfinite(positions).all(axis=1)
    middle = np.zeros(2) if lost.all() else np.median(positions[~lost], axis=0)
    moved: Floats = np.where(lost.reshape(-1, 1), 0, positions - middle).astype(np.float32)
    radius = float(np.abs(moved[~lost]).max(initial=1.0))
    angles = np.linspace(0, 2 * np.pi, int(lost.sum()), endpoint=False)
    moved[lost] = 1.05 * radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return moved


def weigh(distances: Floats) -> Doubles:
    """Weight the neighbours of each paper by their distances (n, k): 1 for the nearest, less for the others."""
    beyond = np.where(np.isfinite(distances), distances, np.nan) - distances[:, :1]
    scale = np.nanmean(beyond, axis=1, keepdims=True)
    weights: Doubles = np.exp(-np.nan_to_num(beyond, nan=np.inf) / np.maximum(scale, 1e-6)).astype(np.float64)
    return weights


def place(nearest: Nearest, positions: Floats) -> Floats:
    """Place papers at the geometric median of their neighbours' positions (m, 2), weighted; -> (n, 2).

    Where the neighbours are in two parts of the map, a mean would lie in the empty space between them.
    """
    placed = np.empty((len(nearest.numbers), 2), np.float32)
    for start in range(0, len(placed), PART):
        part = nearest.take(slice(start, start + PART))
        points, pull = positions[part.numbers].astype(np.float64), (weights := weigh(part.distances))
        for _ in range(STEPS + 1):  # from the mean
            middle = (points * pull[..., None]).sum(axis=1) / pull.sum(axis=1, keepdims=True)
            pull = weights / np.maximum(np.linalg.norm(points - middle[:, None], axis=2), 1e-3)
        placed[start : start + PART] = middle
    return placed


def vote(nearest: Nearest, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Give papers the topic that has most weight among their neighbours, -1 where it has little; codes (m,) -> (n,)."""
    voted = np.empty(len(nearest.numbers), np.int32)
    for start in range(0, len(voted), PART):
        part = nearest.take(slice(start, start + PART))
        theirs, weights = codes[part.numbers], weigh(part.distances)
        weights /= weights.sum(axis=1, keepdims=True)
        shares = (np.equal(theirs[:, :, None], theirs[:, None, :]) * weights[:, None, :]).sum(axis=2) * (theirs >= 0)
        best = np.arange(len(theirs)), shares.argmax(axis=1)
        voted[start : start + PART] = np.where(shares[best] >= SHARE, theirs[best], -1)
    return voted


def fill(nearest: Nearest, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Give papers without a topic that of their neighbours, where these agree; what was filled votes too."""
    filled = codes.copy()
    for _ in range(ROUNDS):
        lost = np.flatnonzero(filled < 0)
        filled[lost] = vote(nearest.take(lost), filled)
    return filled
