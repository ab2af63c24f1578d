"""Similar papers: rank a collection's papers by similarity to one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sciprism.errors import InputError
from sciprism.index import vector_searches
from sciprism.store import Filter, StoredCollection
from sciprism.store.named_papers import find_paper
from sciprism.uses.rankings import Ranking, build_rankings, read_papers
from sciprism.uses.reasons import find_nearest_sentences

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder


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

    paper: its id or title.
    The encoder, if given, only adds the reasons.
    """
    if k < 1:
        raise InputError(f"k is {k}; ask for at least one paper")
    if mode not in vector_searches:
        raise InputError(f"mode {mode!r} is not {' or '.join(vector_searches)}")
    if encoder is not None:
        collection.check_encoder(encoder)
    row = find_paper(collection, paper)
    k = min(k, collection.rows)
    space = choose_paper_space(collection)
    mask = collection.mask(filter)
    mask = np.ones(collection.rows, bool) if mask is None else mask.copy()
    mask[row] = False
    query_vectors = collection.vector(row, space)[None]
    scores, rows = vector_searches[mode](collection, space, query_vectors, k, mask)
    papers = read_papers(collection, rows)
    reasons = [[""] * len(papers[0])]
    if encoder is not None:
        reasons = find_nearest_sentences(collection, encoder, space, query_vectors, papers)
    return build_rankings([paper], papers, scores, reasons)[0]


def choose_paper_space(collection: StoredCollection) -> str:
    """Return the space in which papers are compared: that of proximity, or the first one stored."""
    spaces = collection.manifest.spaces
    return next((name for name, space in spaces.items() if "proximity" in space.formats), next(iter(spaces)))
