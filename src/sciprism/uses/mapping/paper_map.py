"""A map of papers: positions by UMAP of their nearest neighbours, further papers among these, topics with names."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from itertools import chain, combinations, count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.drop_report import count_noun
from sciprism.errors import InputError, MissingExtraError
from sciprism.index.exact import Distance, topk
from sciprism.papers.duplicates import DuplicateFinder
from sciprism.papers.records import Paper
from sciprism.progress import Progress, show_nothing
from sciprism.seeding import sample as choose
from sciprism.store import StoredCollection
from sciprism.store.paper_lookup import iterate_papers
from sciprism.uses.collection import Collection
from sciprism.uses.recommending.interests import find_typical_terms
from sciprism.uses.search import choose_paper_space

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


def find_nearest(
    stored: StoredCollection, space: str, rows: Rows, among: Rows, progress: Progress = show_nothing
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


Codes = NDArray[np.int32]
"""Of each paper the number of its topic, -1 for none."""
MIN_TOPIC = 8  # of the smallest topic
FINEST = 1600  # a topic of the finest level has at least this part of the papers
FEWEST = 8  # topics of the coarsest level, where there are levels with so many
GROWTH = 1.5  # times the topics of a level are on the next
MAX_LEVELS = 4
SHOWN_TERMS = 2  # terms in a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic of one level: its name, its middle, how far half of its papers lie from it, and their number."""

    name: str
    x: float
    y: float
    radius: float
    papers: int


def find_topics(positions: Floats) -> list[Codes]:
    """Find groups of dense positions (n, 2) by PLSCAN (Bot et al. 2025), the coarsest level first.

    The largest group of a level is number 0; papers between groups are in none.
    """
    from fast_hdbscan import PLSCAN

    if len(positions) < 2 * MIN_TOPIC:
        return []
    smallest = max(MIN_TOPIC, len(positions) // FINEST)
    found = PLSCAN(base_min_cluster_size=smallest, reproducible=True).fit(positions.astype(np.float64))
    ordered = [_order(labels) for labels in reversed(found.cluster_layers_)]  # the coarsest is last
    sizes = [int(codes.max()) + 1 for codes in ordered]
    least = min(FEWEST, max(sizes, default=0))
    levels: list[Codes] = []
    for codes, size in zip(ordered, sizes, strict=True):
        if size > 1 and size >= least:
            levels.append(codes)
            least = int(GROWTH * size) + 1
    return levels if len(levels) <= MAX_LEVELS else [*levels[: MAX_LEVELS - 1], levels[-1]]


def _order(labels: NDArray[np.integer]) -> Codes:
    """Number groups by falling size."""
    sizes = np.bincount(labels[labels >= 0])
    ranks = np.argsort(np.argsort(-sizes, kind="stable"))
    return np.where(labels >= 0, np.append(ranks, -1)[labels], -1).astype(np.int32)


def name_topics(papers: Sequence[Paper], codes: Codes) -> list[str]:
    """Name the topics of a level by phrases typical of their titles; no name is there twice."""
    groups = [np.flatnonzero(codes == number) for number in range(int(codes.max(initial=-1)) + 1)]
    names: dict[str, None] = {}
    for terms in find_typical_terms(papers, groups) if groups else ():
        choices = [*combinations(terms, SHOWN_TERMS), terms, *combinations(terms, 1)]
        best = ", ".join(terms[:SHOWN_TERMS]) or "topic"
        options = chain((", ".join(words) for words in choices if words), (f"{best} {n}" for n in count(2)))
        names[next(name for name in options if name not in names)] = None
    return list(names)


def describe_topics(names: Sequence[str], codes: Codes, positions: Floats) -> list[Topic]:
    """Return the topics of a level, with the median of their papers' positions as their middle."""
    topics = []
    for number, name in enumerate(names):
        members = positions[codes == number]
        middle = np.median(members, axis=0) if len(members) else np.zeros(2)
        radius = float(np.median(np.linalg.norm(members - middle, axis=1))) if len(members) else 0.0
        x, y = map(float, middle)
        topics.append(Topic(name=name, x=x, y=y, radius=radius, papers=len(members)))
    return topics


LAID_OUT = 100_000
"""Papers that UMAP lays out; the others are placed among them."""
MIN_PAPERS = 5  # of a map
NAMED_BY_ABSTRACTS = 5000  # papers at most whose abstracts count for names too: it takes ten times as long
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapOrigin:
    """What the positions of a map come from: only maps of one encoder and space compare."""

    fingerprint: str
    space: str
    seed: int = 0


@dataclass(slots=True, kw_only=True)
class PaperMap:
    """Papers on a map, each once: ids, rows of the collection, positions (n, 2), float32.

    laid_out: which papers UMAP laid out; the others were placed by their neighbours. levels: the topics, of the
    coarsest level first; codes: of each level the papers' topics (n,). nearest: numbers of papers on this map.
    counts: papers on the map, duplicates merged, and what became of a former layout.
    """

    ids: list[str]
    rows: Rows
    positions: Floats
    laid_out: Flags
    nearest: Nearest
    origin: MapOrigin
    levels: list[list[Topic]] = field(default_factory=list)
    codes: list[Codes] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the map as JSON values: columns of the papers, topics by level, counts."""
        x, y = self.positions.T.round(4).tolist()
        return {
            "counts": self.counts,
            "origin": asdict(self.origin),
            "ids": self.ids,
            "x": x,
            "y": y,
            "topics": [codes.tolist() for codes in self.codes],
            "levels": [[asdict(topic) for topic in topics] for topics in self.levels],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerLayout:
    """The positions of an earlier map, which its papers retain. names: of the topics, by level."""

    ids: Sequence[str]
    positions: Floats
    laid_out: Flags
    codes: Sequence[Codes]
    names: Sequence[Sequence[str]]
    origin: MapOrigin


def draw_map(
    collection: Collection | StoredCollection | Path | str,
    *,
    former: FormerLayout | None = None,
    seed: int = 0,
    sample: int = LAID_OUT,
    progress: Progress = show_nothing,
) -> PaperMap:
    """Draw the papers of a collection: near papers lie together, dense groups are topics with names.

    Duplicates are one paper. former: a layout whose papers do not move; new ones are placed among them. sample: papers
    that are laid out where there are more. Raises InputError for fewer than 5 papers and a layout of another encoder,
    MissingExtraError without umap-learn or fast_hdbscan.
    """
    if not 0 <= seed < 1 << 32:
        raise InputError(f"the seed is {seed}; name a number from 0 to {(1 << 32) - 1}")
    if isinstance(collection, (str, Path)):
        collection = StoredCollection.open(collection)
    stored = collection if isinstance(collection, StoredCollection) else collection.stored
    space = choose_paper_space(stored)
    fingerprint = stored.manifest.encoder.fingerprint
    if former is None and not has_packages():  # before any work is done
        raise MissingExtraError("map", "a map")
    rows, ids, texts = _list_papers(stored, progress)
    if len(rows) < MIN_PAPERS:
        what = count_noun(len(rows), "paper")
        raise InputError(f"{stored.folder} has {what}, duplicates merged; a map needs {MIN_PAPERS} or more")
    papers = _Papers(stored, rows, ids, texts, MapOrigin(fingerprint=fingerprint, space=space, seed=seed))
    drawn = _draw_anew(papers, sample, progress) if former is None else _draw_again(papers, former, sample, progress)
    drawn.counts["topics"] = sum(map(len, drawn.levels))
    return drawn


@dataclass(frozen=True, slots=True)
class _Papers:
    """The papers of a collection, each once."""

    stored: StoredCollection
    rows: Rows
    ids: list[str]
    texts: list[Paper]
    origin: MapOrigin

    def find_nearest(self, numbers: Rows, among: Rows, progress: Progress) -> Nearest:
        """Find the nearest papers of some; all are numbered among all papers."""
        near = find_nearest(self.stored, self.origin.space, self.rows[numbers], self.rows[among], progress)
        return Nearest(np.where(near.numbers >= 0, among[near.numbers], -1), near.distances)

    def build(self, origin: MapOrigin, counts: dict[str, int], **arrays: Any) -> PaperMap:
        """Return a map without topics."""
        counts = {"papers": len(self.rows), "duplicates": len(self.stored.live) - len(self.rows)} | counts
        return PaperMap(ids=self.ids, rows=self.rows, origin=origin, counts=counts, **arrays)


def _list_papers(stored: StoredCollection, progress: Progress) -> tuple[Rows, list[str], list[Paper]]:
    """Return rows, ids and what names are made of, of duplicates those of the first."""
    finder, ids, texts = DuplicateFinder(near_duplicates=None), list[str](), list[Paper]()
    few = len(stored.live) <= NAMED_BY_ABSTRACTS
    for papers in iterate_papers(stored):
        for paper in papers:
            finder.add(paper)
            ids.append(paper.id)
            texts.append(Paper(id="", title=paper.title, abstract=paper.abstract if few else ""))
        progress("reading", "papers", len(ids), len(stored))
    surplus = set(chain.from_iterable(group.positions[1:] for group in finder.find().groups))
    single = [number for number in range(len(ids)) if number not in surplus]
    return stored.live[single], [ids[number] for number in single], [texts[number] for number in single]


def _draw_anew(papers: _Papers, sample: int, progress: Progress) -> PaperMap:
    """Lay out the papers, or a sample, and find topics."""
    rows, origin = papers.rows, papers.origin
    chosen = np.array(choose(range(len(rows)), sample, "map", origin.seed), np.int64)
    nearest = papers.find_nearest(np.arange(len(rows)), chosen, progress)
    progress("laying out")
    number = np.full(len(rows) + 1, -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    inside = Nearest(number[nearest.numbers[chosen]], nearest.distances[chosen])
    laid = lay_out(papers.stored.read_rows(origin.space, rows[chosen]).take(slice(None)), inside, seed=origin.seed)
    laid_out, positions = np.zeros(len(rows), bool), np.zeros((len(rows), 2), np.float32)
    laid_out[chosen], positions[chosen] = True, laid
    others = np.flatnonzero(~laid_out)
    apart = nearest.take(others)
    positions[others] = place(apart, positions)
    counts = {"laid out": len(chosen), "placed": len(others)}
    drawn = papers.build(origin, counts, nearest=nearest, laid_out=laid_out, positions=positions)
    progress("finding and naming topics")
    for found in find_topics(laid):
        codes = np.full(len(rows), -1, np.int32)
        codes[chosen] = fill(inside, found)
        codes[others] = vote(apart, codes)
        drawn.codes.append(codes)
        drawn.levels.append(describe_topics(name_topics(papers.texts, codes), codes, positions))
    return drawn


def _draw_again(papers: _Papers, former: FormerLayout, sample: int, progress: Progress) -> PaperMap:
    """Retain the positions and topics of a former layout, and place new papers among its papers."""
    if replace(former.origin, seed=papers.origin.seed) != papers.origin:
        raise InputError("the layout was made of vectors of another model or space; --new-layout draws a new one")
    number_of = {id: number for number, id in enumerate(former.ids)}
    place_of = np.array([number_of.get(id, -1) for id in papers.ids], np.int64)
    old, new = np.flatnonzero(place_of >= 0), np.flatnonzero(place_of < 0)
    if not len(old):
        raise InputError("no paper of the layout is in the collection; --new-layout draws a new one")
    positions, laid_out = former.positions[place_of], former.laid_out[place_of] & (place_of >= 0)
    among = np.arange(len(place_of)) if len(place_of) <= sample or not laid_out.any() else np.flatnonzero(laid_out)
    nearest = papers.find_nearest(np.arange(len(place_of)), among, progress)
    near_old = papers.find_nearest(new, old, progress) if len(new) else nearest.take(new)
    positions[new] = place(near_old, positions)
    counts = {"laid out before": len(old), "placed": len(new), "gone": len(former.ids) - len(old)}
    drawn = papers.build(former.origin, counts, nearest=nearest, laid_out=laid_out, positions=positions)
    for names, known in zip(former.names, former.codes, strict=True):
        codes = known[place_of]
        codes[new] = vote(near_old, codes)
        drawn.codes.append(codes)
        drawn.levels.append(describe_topics(names, codes, positions))
    return drawn
