"""Find papers for a query in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.index import approximate, lexical, reciprocal_rank_fusion, topk
from sciprism.store import Collection, Filter
from sciprism.uses.rankings import Ranking, papers_of, rankings_of
from sciprism.uses.reasons import nearest_sentences

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format

Mode = Literal["exact", "approximate", "lexical", "hybrid"]

FORMATS: tuple[Format, ...] = ("search", "proximity")
"""Formats whose vectors answer a query, the better one first."""
DEPTH = 100
"""Papers of each ranking that a hybrid search unites."""
TOGETHER = 256
"""Queries answered together: bounds the papers and sentences in memory."""


def search(
    collection: Collection,
    encoder: Encoder | None,
    queries: str | Sequence[str],
    k: int = 10,
    *,
    mode: Mode = "exact",
    filter: Filter | None = None,
    why: bool = True,
) -> list[Ranking]:
    """Rank papers for each query. No encoder is needed where mode is lexical and why is False."""
    queries = [queries] if isinstance(queries, str) else list(queries)
    _check(collection, encoder, queries, k, mode)
    k = min(k, max(1, collection.rows))
    mask = collection.mask(filter)
    rankings: list[Ranking] = []
    for start in range(0, len(queries), TOGETHER):
        rankings += _search(collection, encoder, queries[start : start + TOGETHER], k, mode, mask, why)
    return rankings


def query_space(collection: Collection, encoder: Encoder) -> tuple[Format, str]:
    """Choose the format whose query vectors live in a stored space; returns format and space."""
    asked: list[str] = []
    for format in (format for format in FORMATS if format in encoder.formats):
        space = encoder.space(format, "query")
        if space in collection.manifest.spaces:
            return format, space
        if space not in asked:
            asked.append(space)
    raise InputError(
        f"queries of {encoder.name} live in the space {' or '.join(asked) or '(none)'}; {collection.folder} "
        f"holds {', '.join(collection.manifest.spaces)}; embed the papers with --formats search"
    )


def check_mode(mode: str) -> None:
    """Refuse an unknown mode."""
    if mode not in get_args(Mode):
        raise InputError(f"mode {mode!r} is not one of {', '.join(get_args(Mode))}")


def _check(collection: Collection, encoder: Encoder | None, queries: list[str], k: int, mode: str) -> None:
    check_mode(mode)
    if k < 1:
        raise InputError(f"k is {k}; ask for at least one paper")
    for number, query in enumerate(queries, 1):
        if not query.strip():
            raise InputError(f"query {number} is empty; write what you look for")
    if encoder is not None:
        collection.check_encoder(encoder)


def _search(
    collection: Collection,
    encoder: Encoder | None,
    queries: list[str],
    k: int,
    mode: Mode,
    mask: NDArray[np.bool_] | None,
    why: bool,
) -> list[Ranking]:
    asked, space = None, ""
    if mode != "lexical" or why:
        if encoder is None:
            raise InputError(f"a search of mode {mode} {'with reasons ' if why else ''}needs an encoder")
        format, space = query_space(collection, encoder)
        asked = encoder.encode(queries, format=format, role="query")
    scores, rows = _rank(collection, space, queries, asked, k, mode, mask)
    papers = papers_of(collection, rows)
    reasons = [["" for _ in found] for found in papers]
    if why and encoder is not None and asked is not None:
        reasons = nearest_sentences(collection, encoder, space, asked, papers)
    return rankings_of(queries, papers, scores, reasons)


def _rank(
    collection: Collection,
    space: str,
    queries: list[str],
    asked: Floats | None,
    k: int,
    mode: Mode,
    mask: NDArray[np.bool_] | None,
) -> tuple[Floats, Rows]:
    if mode == "lexical" or asked is None:
        return lexical.search(collection, queries, k, mask)
    if mode == "hybrid":
        depth = max(k, DEPTH)
        _, by_words = lexical.search(collection, queries, depth, mask)
        _, by_meaning = nearest(collection, space, asked, depth, "exact", mask)
        return reciprocal_rank_fusion([by_meaning, by_words], k)
    return nearest(collection, space, asked, k, mode, mask)


def nearest(
    collection: Collection, space: str, asked: Floats, k: int, mode: Mode, mask: NDArray[np.bool_] | None
) -> tuple[Floats, Rows]:
    """Find the k rows nearest to each vector asked for (m, d), exactly or approximately."""
    if mode == "approximate":
        return approximate.search(collection, space, asked, k, mask)
    distance = collection.manifest.encoder.distance
    return topk(asked, collection.vectors(space), k, mask=mask, distance=distance)
