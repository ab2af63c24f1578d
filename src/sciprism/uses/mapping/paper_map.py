"""A map of the papers of a collection: positions, topics and neighbours as plain arrays, without a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.papers.duplicates import DuplicateFinder
from sciprism.seeding import sample as choose
from sciprism.store import StoredCollection
from sciprism.store.paper_lookup import iterate_papers
from sciprism.uses.collection import Collection
from sciprism.uses.mapping.layout import Nearest, Progress, check_packages, fill, find_nearest, lay_out, place, vote
from sciprism.uses.mapping.topics import Codes, Topic, describe_topics, find_topics, name_topics
from sciprism.uses.search import choose_paper_space

LAID_OUT = 100_000
"""Papers that UMAP lays out; the others are placed among them."""
MIN_PAPERS = 5  # of a map


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
    laid_out: NDArray[np.bool_]
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
    laid_out: NDArray[np.bool_]
    codes: Sequence[Codes]
    names: Sequence[Sequence[str]]
    origin: MapOrigin


def draw_map(
    collection: Collection | StoredCollection | Path | str,
    *,
    former: FormerLayout | None = None,
    seed: int = 0,
    sample: int = LAID_OUT,
    progress: Progress | None = None,
) -> PaperMap:
    """Draw the papers of a collection: near papers lie together, dense groups are topics with names.

    Duplicates are one paper. former: a layout whose papers do not move; new ones are placed among them. sample: papers
    that are laid out where there are more. Raises InputError for fewer than 5 papers and a layout of another encoder,
    MissingExtraError without umap-learn or fast_hdbscan.
    """
    if isinstance(collection, (str, Path)):
        collection = StoredCollection.open(collection)
    stored = collection if isinstance(collection, StoredCollection) else collection.stored
    space = choose_paper_space(stored)
    origin = MapOrigin(fingerprint=stored.manifest.encoder.fingerprint, space=space, seed=seed)
    if former is None:
        check_packages()
    rows, ids, titles = _list_papers(stored, progress)
    if len(rows) < MIN_PAPERS:
        what = f"{len(rows)} papers" if len(rows) != 1 else "1 paper"
        raise InputError(f"{stored.folder} has {what}, duplicates merged; a map needs {MIN_PAPERS} or more")
    counts = {"papers": len(rows), "duplicates": len(stored) - len(rows)}
    if former is None:
        drawn = _draw_anew(stored, rows, origin, sample, progress)
    else:
        drawn = _draw_again(stored, rows, ids, former, origin, sample, progress)
    positions, laid_out, codes, names, nearest, more = drawn
    names = names or [name_topics(titles, level) for level in codes]
    levels = [describe_topics(*level, positions) for level in zip(names, codes, strict=True)]
    counts |= more | {"topics": sum(map(len, levels))}
    return PaperMap(
        ids=ids,
        rows=rows,
        positions=positions,
        laid_out=laid_out,
        nearest=nearest,
        origin=origin if former is None else former.origin,
        levels=levels,
        codes=codes,
        counts=counts,
    )


Drawn = tuple[Floats, NDArray[np.bool_], list[Codes], list[list[str]], Nearest, dict[str, int]]


def _list_papers(stored: StoredCollection, progress: Progress | None) -> tuple[Rows, list[str], list[str]]:
    """Return rows, ids and titles of the papers, of duplicates those of the first."""
    finder, ids, titles = DuplicateFinder(near_duplicates=None), list[str](), list[str]()
    for papers in iterate_papers(stored):
        for paper in papers:
            finder.add(paper)
            ids.append(paper.id)
            titles.append(paper.title)
        if progress:
            progress("reading", "papers", len(ids), len(stored))
    surplus = set(chain.from_iterable(group.positions[1:] for group in finder.find().groups))
    single = [number for number in range(len(ids)) if number not in surplus]
    return stored.live[single], [ids[number] for number in single], [titles[number] for number in single]


def _draw_anew(
    stored: StoredCollection, rows: Rows, origin: MapOrigin, sample: int, progress: Progress | None
) -> Drawn:
    """Lay out the papers, or a sample, and find topics."""
    chosen = np.array(choose(range(len(rows)), sample, "map", origin.seed), np.int64)
    nearest = find_nearest(stored, origin.space, rows, rows[chosen], progress)
    if progress:
        progress("layout, some minutes for 100,000 papers", "", 0, None)
    vectors = stored.read_rows(origin.space, rows[chosen]).take(slice(None))
    inside = Nearest(nearest.numbers[chosen], nearest.distances[chosen])
    laid = lay_out(vectors, inside, seed=origin.seed)
    levels = [fill(inside, codes) for codes in find_topics(laid)]
    positions, codes, laid_out = laid, levels, np.ones(len(rows), bool)
    if len(chosen) < len(rows):
        positions, codes = place(nearest, laid), [vote(nearest, level) for level in levels]
        positions[chosen], laid_out[:] = laid, False
        laid_out[chosen] = True
        for level, known in zip(codes, levels, strict=True):
            level[chosen] = known
    more = {"laid out": len(chosen), "placed": len(rows) - len(chosen)}
    return positions, laid_out, codes, [], Nearest(_renumber(nearest, chosen), nearest.distances), more


def _draw_again(
    stored: StoredCollection,
    rows: Rows,
    ids: Sequence[str],
    former: FormerLayout,
    origin: MapOrigin,
    sample: int,
    progress: Progress | None,
) -> Drawn:
    """Retain the positions and topics of a former layout, and place new papers among its papers."""
    if (former.origin.fingerprint, former.origin.space) != (origin.fingerprint, origin.space):
        raise InputError("the layout was made of vectors of another model or space; --new-layout draws a new one")
    number_of = {id: number for number, id in enumerate(former.ids)}
    place_of = np.array([number_of.get(id, -1) for id in ids], np.int64)
    old, new = np.flatnonzero(place_of >= 0), np.flatnonzero(place_of < 0)
    if not len(old):
        raise InputError("no paper of the layout is in the collection; --new-layout draws a new one")
    positions = former.positions[place_of]
    codes = [level[place_of] for level in former.codes]
    laid_out = former.laid_out[place_of] & (place_of >= 0)
    if len(new):
        near = find_nearest(stored, origin.space, rows[new], rows[old], progress)
        positions[new] = place(near, positions[old])
        for level in codes:
            level[new] = vote(near, level[old])
    among = np.arange(len(rows)) if len(rows) <= sample or not laid_out.any() else np.flatnonzero(laid_out)
    nearest = find_nearest(stored, origin.space, rows, rows[among], progress)
    more = {"laid out before": len(old), "placed": len(new), "gone": len(former.ids) - len(old)}
    names = [list(level) for level in former.names]
    return positions, laid_out, codes, names, Nearest(_renumber(nearest, among), nearest.distances), more


def _renumber(nearest: Nearest, among: Rows) -> Rows:
    """Return the neighbours' numbers among all papers of the map."""
    return np.where(nearest.numbers >= 0, among[nearest.numbers], -1)
