"""Similar papers: rank a collection's papers by similarity to one of them, or to papers from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.index import vector_searches
from sciprism.papers.cleaning import is_blank
from sciprism.papers.records import Paper
from sciprism.store import Filter, StoredCollection
from sciprism.store.named_papers import find_copies, find_paper
from sciprism.uses.rankings import Ranking, build_rankings, read_papers
from sciprism.uses.reasons import find_nearest_sentences

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format

PAPER_BATCH = 256
"""Papers from elsewhere that are ranked at once: bounds the papers and sentences in memory."""


@dataclass(frozen=True, slots=True)
class _Request:
    """How many papers of a collection are wanted, found how, and which may be."""

    k: int
    mode: str
    filter: Filter | None

    def __post_init__(self) -> None:
        if self.k < 1:
            raise InputError(f"k is {self.k}; ask for at least one paper")
        if self.mode not in vector_searches:
            raise InputError(f"mode {self.mode!r} is not {' or '.join(vector_searches)}")


def similar(
    collection: StoredCollection,
    encoder: Encoder | None,
    paper: str,
    k: int = 10,
    *,
    mode: str = "exact",
    filter: Filter | None = None,
) -> Ranking:
    """Rank the papers nearest to a stored one, without it, by one of `vector_searches`.

    paper: its id, DOI or title, or the beginning of one id.
    The encoder, if given, only adds the reasons.
    """
    request = _Request(k, mode, filter)
    if encoder is not None:
        collection.check_encoder(encoder)
    row = find_paper(collection, paper)
    space = choose_paper_space(collection)
    query_vectors = collection.vector(row, space)[None]
    found = _search(collection, space, query_vectors, [row], request)
    return _explain(collection, encoder, [paper], query_vectors, found)[0]


def similar_to_papers(
    collection: StoredCollection,
    encoder: Encoder,
    papers: Sequence[Paper],
    k: int = 10,
    *,
    mode: str = "exact",
    filter: Filter | None = None,
    why: bool = True,
) -> list[Ranking]:
    """Rank the stored papers nearest to each of some papers, which the collection's encoder encodes.

    A ranking's query is the paper's id. A copy of the paper in the collection is left out of its ranking. why: add
    the reasons. Raises InputError for a paper without title and abstract, before any is encoded.
    """
    request = _Request(k, mode, filter)
    collection.check_encoder(encoder)
    for paper in papers:
        if is_blank(f"{paper.title}{paper.abstract}"):
            place = f"{paper.place}: " if paper.place else ""
            raise InputError(f"{place}paper {paper.id!r} has no title and no abstract; there is nothing to compare")
    space = choose_paper_space(collection)
    format = cast("Format", collection.manifest.spaces[space].formats[0])
    rankings: list[Ranking] = []
    for start in range(0, len(papers), PAPER_BATCH):
        part = papers[start : start + PAPER_BATCH]
        vectors = encoder.encode(part, format=format, role="paper")
        found = _search(collection, space, vectors, find_copies(collection, part), request)
        ids = [paper.id for paper in part]
        rankings += _explain(collection, encoder if why else None, ids, vectors, found)
    return rankings


def choose_paper_space(collection: StoredCollection) -> str:
    """Return the space in which papers are compared: that of proximity, or the first one stored."""
    spaces = collection.manifest.spaces
    return next((name for name, space in spaces.items() if "proximity" in space.formats), next(iter(spaces)))


def _search(
    collection: StoredCollection,
    space: str,
    queries: Floats,
    own: Sequence[int | None],
    request: _Request,
) -> tuple[Floats, Rows]:
    """Return the k best rows of each query (m, d) without the row of its own paper, if it has one."""
    k = min(request.k, max(1, collection.rows))
    mask = collection.mask(request.filter)
    scores, rows = vector_searches[request.mode](collection, space, queries, k + 1, mask)
    owners = np.array([-2 if row is None else row for row in own], np.int64)
    order = np.argsort(rows == owners[:, None], axis=1, kind="stable")[:, :k]  # the own row is last
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


def _explain(
    collection: StoredCollection,
    encoder: Encoder | None,
    names: Sequence[str],
    vectors: Floats,
    found: tuple[Floats, Rows],
) -> list[Ranking]:
    """Return the rankings of scores and rows (m, k), with reasons where there is an encoder."""
    scores, rows = found
    papers = read_papers(collection, rows)
    reasons = [["" for _ in ranked] for ranked in papers]
    if encoder is not None:
        space = collection.manifest.spaces[choose_paper_space(collection)]
        reasons = find_nearest_sentences(encoder, space, collection.manifest.encoder.distance, vectors, papers)
    return build_rankings(names, papers, scores, reasons)
