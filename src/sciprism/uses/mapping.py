"""A map of papers: positions by UMAP of their nearest neighbours, topics with names; its files and its page."""

from __future__ import annotations

import base64
import gzip
import json
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.util import find_spec
from itertools import chain, combinations, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.drop_report import count_noun
from sciprism.errors import InputError, MissingExtraError
from sciprism.files import cache_folder, describe_wrong_path, join_cells, write_atomically, write_lines
from sciprism.index.exact import Distance, topk
from sciprism.pages import fill_file, fill_page
from sciprism.papers.bibliography_entries import find_url
from sciprism.papers.duplicates import DuplicateFinder
from sciprism.papers.records import Paper
from sciprism.parallel import Progress, show_nothing
from sciprism.seeding import sample as choose
from sciprism.store import StoredCollection
from sciprism.store.paper_lookup import iterate_papers
from sciprism.uses.collection import build_table
from sciprism.uses.recommending.interests import find_typical_terms
from sciprism.uses.search import choose_paper_space

if TYPE_CHECKING:
    import pyarrow as pa


NEIGHBOURS = 15
QUERIES = 2048  # papers whose nearest are looked up at once
SPECTRAL = 50  # papers from which UMAP can begin with eigenvectors of the graph
PLACED = 1 << 14  # papers that are placed at once
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
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder() / "numba"))  # else beside the packages, or in the home
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
    for start in range(0, len(placed), PLACED):
        part = nearest.take(slice(start, start + PLACED))
        points, pull = positions[part.numbers].astype(np.float64), (weights := weigh(part.distances))
        for _ in range(STEPS + 1):  # from the mean
            middle = (points * pull[..., None]).sum(axis=1) / pull.sum(axis=1, keepdims=True)
            pull = weights / np.maximum(np.linalg.norm(points - middle[:, None], axis=2), 1e-3)
        placed[start : start + PLACED] = middle
    return placed


def vote(nearest: Nearest, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Give papers the topic that has most weight among their neighbours, -1 where it has little; codes (m,) -> (n,)."""
    voted = np.empty(len(nearest.numbers), np.int32)
    for start in range(0, len(voted), PLACED):
        part = nearest.take(slice(start, start + PLACED))
        theirs, weights = codes[part.numbers], weigh(part.distances)
        weights /= weights.sum(axis=1, keepdims=True)
        shares = (np.equal(theirs[:, :, None], theirs[:, None, :]) * weights[:, None, :]).sum(axis=2) * (theirs >= 0)
        best = np.arange(len(theirs)), shares.argmax(axis=1)
        voted[start : start + PLACED] = np.where(shares[best] >= SHARE, theirs[best], -1)
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
    ordered: list[Codes] = []
    for labels in reversed(found.cluster_layers_):  # the coarsest is last
        ranks = np.argsort(np.argsort(-np.bincount(labels[labels >= 0]), kind="stable"))  # by falling size
        ordered.append(np.where(labels >= 0, np.append(ranks, -1)[labels], -1).astype(np.int32))
    sizes = [int(codes.max()) + 1 for codes in ordered]
    least = min(FEWEST, max(sizes, default=0))
    levels: list[Codes] = []
    for codes, size in zip(ordered, sizes, strict=True):
        if size > 1 and size >= least:
            levels.append(codes)
            least = int(GROWTH * size) + 1
    return levels if len(levels) <= MAX_LEVELS else [*levels[: MAX_LEVELS - 1], levels[-1]]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLayout:
    """Papers on a map, each once: ids and positions (n, 2), float32. A later map retains them.

    laid_out: which papers UMAP laid out; the others were placed by their neighbours. names: of the topics by level, the
    coarsest first; codes: of each level the papers' topics (n,).
    """

    ids: list[str]
    positions: Floats
    laid_out: Flags
    origin: MapOrigin
    names: list[list[str]] = field(default_factory=list)
    codes: list[Codes] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperMap(MapLayout):
    """A map of a collection. rows: of its papers; nearest: numbers of papers on this map.

    counts: papers on the map, duplicates merged, and what became of a former layout.
    """

    rows: Rows
    nearest: Nearest
    counts: dict[str, int]

    @property
    def levels(self) -> list[list[Topic]]:
        """Return the topics, of the coarsest level first."""
        pairs = zip(self.names, self.codes, strict=True)
        return [describe_topics(names, codes, self.positions) for names, codes in pairs]

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


def draw_map(
    stored: StoredCollection,
    *,
    former: MapLayout | None = None,
    seed: int = 0,
    progress: Progress = show_nothing,
) -> PaperMap:
    """Draw the papers of a collection: near papers lie together, dense groups are topics with names.

    Duplicates are one paper. former: a layout whose papers do not move; new ones are placed among them. Raises
    InputError for fewer than 5 papers and a layout of another encoder, MissingExtraError without umap-learn or
    fast_hdbscan.
    """
    space = choose_paper_space(stored)
    fingerprint = stored.manifest.encoder.fingerprint
    if former is None and not has_packages():  # before any work is done
        raise MissingExtraError("map", "a map")
    rows, ids, texts = _list_papers(stored, progress)
    if len(rows) < MIN_PAPERS:
        what = count_noun(len(rows), "paper")
        raise InputError(f"{stored.folder} has {what}, duplicates merged; a map needs {MIN_PAPERS} or more")
    papers = _Papers(stored, rows, ids, texts, MapOrigin(fingerprint=fingerprint, space=space, seed=seed))
    drawn = _draw_anew(papers, progress) if former is None else _draw_again(papers, former, progress)
    drawn.counts["topics"] = sum(map(len, drawn.names))
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
        """Return a map whose papers have no topics yet."""
        counts = {"papers": len(self.rows), "duplicates": len(self.stored.live) - len(self.rows)} | counts
        return PaperMap(ids=self.ids, rows=self.rows, origin=origin, counts=counts, **arrays)


def _list_papers(stored: StoredCollection, progress: Progress) -> tuple[Rows, list[str], list[Paper]]:
    """Return rows, ids and what names are made of, of duplicates those of the first."""
    finder, ids, texts = DuplicateFinder(), list[str](), list[Paper]()
    few = len(stored.live) <= NAMED_BY_ABSTRACTS
    for papers in iterate_papers(stored):
        for paper in papers:
            finder.add(paper)
            ids.append(paper.id)
            texts.append(Paper(id="", title=paper.title, abstract=paper.abstract if few else ""))
        progress("reading", "papers", len(ids), len(stored))
    single = [group[0] for group in finder.find(progress=progress).list_papers()]
    return stored.live[single], [ids[number] for number in single], [texts[number] for number in single]


def _draw_anew(papers: _Papers, progress: Progress) -> PaperMap:
    """Lay out the papers, or a sample, and find topics."""
    rows, origin = papers.rows, papers.origin
    chosen = np.array(choose(range(len(rows)), LAID_OUT, "map", origin.seed), np.int64)
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
        drawn.names.append(name_topics(papers.texts, codes))
    return drawn


def _draw_again(papers: _Papers, former: MapLayout, progress: Progress) -> PaperMap:
    """Retain the positions and topics of a former layout, and place new papers among its papers."""
    if replace(former.origin, seed=papers.origin.seed) != papers.origin:
        raise InputError("the layout was made of vectors of another model or space; delete it to draw a new one")
    number_of = {id: number for number, id in enumerate(former.ids)}
    place_of = np.array([number_of.get(id, -1) for id in papers.ids], np.int64)
    old, new = np.flatnonzero(place_of >= 0), np.flatnonzero(place_of < 0)
    if not len(old):
        raise InputError("no paper of the layout is in the collection; delete it to draw a new one")
    positions, laid_out = former.positions[place_of], former.laid_out[place_of] & (place_of >= 0)
    among = np.arange(len(place_of)) if len(place_of) <= LAID_OUT or not laid_out.any() else np.flatnonzero(laid_out)
    nearest = papers.find_nearest(np.arange(len(place_of)), among, progress)
    near_old = papers.find_nearest(new, old, progress) if len(new) else nearest.take(new)
    positions[new] = place(near_old, positions)
    counts = {"laid out before": len(old), "placed": len(new), "gone": len(former.ids) - len(old)}
    arrays = {"nearest": nearest, "laid_out": laid_out, "positions": positions}
    drawn = papers.build(former.origin, counts, names=former.names, **arrays)
    for known in former.codes:
        codes = known[place_of]
        codes[new] = vote(near_old, codes)
        drawn.codes.append(codes)
    return drawn


KEY = b"sciprism.map"
TOPICS = "topic_{}"  # columns, the coarsest level is 1
SHOWN = ("id", "title", "authors", "venue", "year", "fields", "doi")


def write_parquet(drawn: PaperMap, stored: StoredCollection, path: Path) -> None:
    """Write the papers of a map with x, y, topics and neighbours, as embedding-atlas reads them.

    Neighbours are numbers of the file's rows, from 0, with distances. `read_layout` reads the positions again.
    """
    from pyarrow import parquet

    facts = {KEY: json.dumps({"origin": asdict(drawn.origin), "names": drawn.names}).encode("utf-8", "replace")}

    def write(file: BinaryIO) -> None:
        parts = (slice(start, start + PART) for start in range(0, len(drawn.rows), PART))
        tables = (_build_part(drawn, stored, part).replace_schema_metadata(facts) for part in parts)
        first = next(tables)
        with parquet.ParquetWriter(file, first.schema, compression="zstd") as writer:
            for table in chain([first], tables):
                writer.write_table(table)

    write_atomically(path, write)


def _build_part(drawn: PaperMap, stored: StoredCollection, part: slice) -> pa.Table:
    import pyarrow as pa

    table = build_table(stored.papers(drawn.rows[part])).select(SHOWN)
    columns: dict[str, Any] = {"x": pa.array(drawn.positions[part, 0]), "y": pa.array(drawn.positions[part, 1])}
    for number, (level, codes) in enumerate(zip(drawn.names, drawn.codes, strict=True), 1):
        values = pa.array(codes[part], pa.int32(), mask=codes[part] < 0)
        columns[TOPICS.format(number)] = pa.DictionaryArray.from_arrays(values, pa.array(level, pa.string()))
    numbers, distances = drawn.nearest.numbers[part], drawn.nearest.distances[part]
    there = numbers >= 0
    ends = pa.array(np.append(0, np.cumsum(there.sum(axis=1))).astype(np.int32))
    lists = [pa.ListArray.from_arrays(ends, pa.array(values[there])) for values in (numbers, distances)]
    columns["neighbors"] = pa.StructArray.from_arrays(lists, ["ids", "distances"])
    columns["laid_out"] = pa.array(drawn.laid_out[part])
    for name, values in columns.items():
        table = table.append_column(name, values)
    return table


def read_layout(path: Path) -> MapLayout:
    """Read the positions and topics of a map's Parquet file; InputError for another file."""
    from pyarrow import ArrowException, parquet

    try:
        facts = json.loads((parquet.read_schema(path).metadata or {})[KEY])
        names, origin = facts["names"], MapOrigin(**facts["origin"])
        columns = [TOPICS.format(number) for number in range(1, len(names) + 1)]
        table = parquet.read_table(path, columns=["id", "x", "y", "laid_out", *columns])
        codes = []
        for column, level in zip(columns, names, strict=True):
            number_of = {name: number for number, name in enumerate(level)}
            values = (number_of.get(name, -1) for name in table[column].to_pylist())
            codes.append(np.fromiter(values, np.int32, len(table)))
    except (ArrowException, IndexError, KeyError, OSError, TypeError, ValueError) as error:
        what = describe_wrong_path(path, binary=True) or "it holds no layout of sciprism"
        raise InputError(f"{path}: {what}; name a .parquet file that `sciprism map` wrote") from error
    x, y = (table[name].to_numpy().astype(np.float32) for name in ("x", "y"))
    return MapLayout(
        ids=table["id"].to_pylist(),
        positions=np.stack([x, y], axis=1),
        laid_out=table["laid_out"].to_numpy(),
        codes=codes,
        names=names,
        origin=origin,
    )


def write_neighbours(drawn: PaperMap, stored: StoredCollection, path: Path) -> int:
    """Write the graph of nearest papers as CSV, each pair once; return how many pairs."""
    there = drawn.nearest.numbers >= 0
    pairs = np.sort(np.stack([np.nonzero(there)[0], drawn.nearest.numbers[there]], axis=1), axis=1)
    pairs, first = np.unique(pairs, axis=0, return_index=True)
    distances = drawn.nearest.distances[there][first]
    similarities = 1 - distances if stored.manifest.encoder.distance != "euclidean" else 1 / (1 + distances)
    edges = zip(pairs.tolist(), similarities.tolist(), strict=True)
    named = ((drawn.ids[one], drawn.ids[other], f"{similarity:.6g}") for (one, other), similarity in edges)
    write_lines(path, map(join_cells, chain([("source", "target", "similarity")], named)), errors="replace")
    return len(pairs)


PAGE_PAPERS = 200_000
"""Papers on a page at most, of more a random sample; `sciprism serve` shows all."""
PAGE_BYTES = 60_000_000
NEAR = 5  # nearest papers that a card names
PART = 4096  # papers that are read at once
MAX_TITLE, MAX_AUTHORS = 240, 6
ABSTRACTS = (400, 200, 100, 0)  # characters of an abstract: the first with which the page is small enough
GRID = 65535  # of places, each way
NO_CODE, NO_YEAR = 65535, -9999


def write_page(drawn: PaperMap, stored: StoredCollection, path: Path, *, title: str = "", address: str = "") -> None:
    """Write a map as a page of HTML of at most 60 MB; of more than 200,000 papers it shows a random sample.

    title: of the page; the collection's name by default. address: of the collection in a service, which has pages of
    the papers, the script and the style. Raises InputError where the texts are too long for a page.
    """
    title = title or stored.folder.resolve().name
    shown = np.random.default_rng(drawn.origin.seed).permutation(len(drawn.rows))[:PAGE_PAPERS]  # order of drawing
    *texts_of, years, venues, fields = zip(*_read_rows(stored, drawn.rows[shown], address), strict=True)
    numbers = _pack_numbers(drawn, shown, np.array(years), venues, fields)
    for length in ABSTRACTS:
        texts_of[-1] = tuple(_cut(text, length) for text in texts_of[-1])
        texts = _compress("\0".join(map("\n".join, texts_of)).encode("utf-8", "replace"))  # columns of lines
        if len(numbers) + len(texts) < PAGE_BYTES - 1_000_000:
            break
    else:
        raise InputError(f"{path}: {len(shown):,} papers with their titles are more than 60 MB; map fewer papers")
    count = len(drawn.rows)
    listed = [f"{count:,} papers" if len(shown) == count else f"a random {len(shown):,} of {count:,} papers"]
    found = {"duplicate": drawn.counts["duplicates"], "topic": drawn.counts["topics"]}
    listed += [f"{n:,} {what}{'s' * (n > 1)}" for what, n in found.items() if n]
    data = {"title": title, "counts": ", ".join(listed), "address": address}
    data["root"] = address.rpartition("/library/")[0]
    packed = {"numbers": Markup(numbers), "texts": Markup(texts)}
    page = fill_page("map.html", **data, **packed) if address else fill_file("map.html", "map.js", **data, **packed)
    write_atomically(path, lambda file: file.write(page))


def _read_rows(stored: StoredCollection, rows: Rows, address: str) -> Iterator[tuple[Any, ...]]:
    """Yield title, authors, link, abstract, year, venue and field of each paper."""
    for start in range(0, len(rows), PART):
        for paper in stored.papers(rows[start : start + PART]):
            more = f" and {len(paper.authors) - MAX_AUTHORS} more" if len(paper.authors) > MAX_AUTHORS else ""
            url = f"{address}/papers/{quote(paper.id, safe='')}" if address else find_url(paper)
            yield (
                _cut(paper.title, MAX_TITLE),
                _cut(", ".join(paper.authors[:MAX_AUTHORS]) + more, MAX_TITLE),
                "".join(url.split()),
                _cut(paper.abstract, ABSTRACTS[0]),
                paper.year if paper.year and abs(paper.year) < -NO_YEAR else NO_YEAR,
                paper.venue,
                paper.fields[0] if paper.fields else "",
            )


def _pack_numbers(drawn: PaperMap, shown: Rows, years: Rows, venues: Sequence[str], fields: Sequence[str]) -> str:
    """Pack positions, years, codes, neighbours and topics as JSON, a list for each column."""
    low, high = drawn.positions.min(axis=0), drawn.positions.max(axis=0)
    scale = GRID / max(float((high - low).max()), 1e-9)

    def find_place(points: Any) -> Doubles:
        """Return places on the page's grid, which goes down."""
        places: Doubles = (np.asarray(points, np.float64) - (low + high) / 2) * (scale, -scale) + GRID / 2
        return places.round()

    number_of = np.full(len(drawn.rows) + 1, -1, np.int32)  # the last one: no neighbour
    number_of[shown] = np.arange(len(shown))
    near = number_of[drawn.nearest.numbers[shown][:, :NEAR]]
    (venues, venue), (fields, field) = _number(venues), _number(fields)
    x, y = find_place(drawn.positions[shown]).T
    columns = {"x": x, "y": y, "venue": venue, "field": field, "year": years, "near": near}

    def place_topic(topic: Topic) -> dict[str, Any]:
        x, y = find_place((topic.x, topic.y)).tolist()
        return {"name": topic.name, "x": x, "y": y, "radius": round(topic.radius * scale), "papers": topic.papers}

    codes = (np.where(codes < 0, NO_CODE, codes)[shown].tolist() for codes in drawn.codes)
    dated = years[years != NO_YEAR]
    data: dict[str, Any] = {name: values.astype(int).tolist() for name, values in columns.items()} | {
        "papers": len(shown),
        "years": [int(dated.min()), int(dated.max())] if len(dated) else None,
        "venues": venues,
        "fields": fields,
        "levels": [list(map(place_topic, topics)) for topics in drawn.levels],
        "codes": list(codes),
    }
    return _compress(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def _number(values: Sequence[str]) -> tuple[list[str], Rows]:
    """Return the names, the most frequent first, and of each value the number of its name, `NO_CODE` for none."""
    names = [name for name, _ in Counter(filter(None, values)).most_common(NO_CODE)]
    numbers = {name: number for number, name in enumerate(names)}
    return names, np.array([numbers.get(value, NO_CODE) for value in values], np.int64)


def _cut(text: str, length: int) -> str:
    """Return a text in one line, without what follows the last whole word that fits."""
    text = " ".join(text[: 2 * length + 100].replace("\0", " ").split())
    return text if len(text) <= length else f"{text[:length].rpartition(' ')[0]} …" * (length > 0)


def _compress(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii")
