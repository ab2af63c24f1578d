"""Find papers like a paper that is already in the collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from sciprism.errors import InputError
from sciprism.store import Collection, Filter
from sciprism.uses.rankings import Ranking, papers_of, rankings_of
from sciprism.uses.reasons import nearest_sentences
from sciprism.uses.search import nearest

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder


def similar(
    collection: Collection,
    encoder: Encoder | None,
    paper_id: str,
    k: int = 10,
    *,
    mode: Literal["exact", "approximate"] = "exact",
    filter: Filter | None = None,
) -> Ranking:
    """Rank the papers nearest to a stored one, which is left out. The encoder, if given, only says why."""
    if k < 1:
        raise InputError(f"k is {k}; ask for at least one paper")
    if mode not in ("exact", "approximate"):
        raise InputError(f"mode {mode!r} is not exact or approximate")
    if encoder is not None:
        collection.check_encoder(encoder)
    row = collection.find(paper_id)
    k = min(k, collection.rows)
    space = paper_space(collection)
    mask = collection.mask(filter)
    mask = np.ones(collection.rows, bool) if mask is None else mask.copy()
    mask[row] = False
    asked = collection.vector(row, space)[None]
    scores, rows = nearest(collection, space, asked, k, mode, mask)
    papers = papers_of(collection, rows)
    reasons = [[""] * len(papers[0])]
    if encoder is not None:
        reasons = nearest_sentences(collection, encoder, space, asked, papers)
    return rankings_of([paper_id], papers, scores, reasons)[0]


def paper_space(collection: Collection) -> str:
    """Choose the space in which papers are compared: that of proximity, or else the first one stored."""
    spaces = collection.manifest.spaces
    return next((name for name, space in spaces.items() if "proximity" in space.formats), next(iter(spaces)))
