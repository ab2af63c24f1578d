"""Search: rank the papers of a collection for a query in words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.index import lexical, reciprocal_rank_fusion, vector_searches
from sciprism.papers.cleaning import is_blank
from sciprism.store import Filter, StoredCollection
from sciprism.uses.rankings import Ranking, build_rankings, read_papers
from sciprism.uses.reasons import find_nearest_sentences

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format

FORMATS: tuple[Format, ...] = ("search", "proximity")
"""Formats whose vectors serve queries, the better one first."""
FUSION_DEPTH = 100
"""Papers of each ranking that a hybrid search fuses."""
QUERY_BATCH = 256
"""Queries per batch: bounds the papers and sentences in memory."""


def search(
    collection: StoredCollection,
    encoder: Encoder | None,
    queries: str | Sequence[str],
    k: int = 10,
    *,
    mode: str = "exact",
    filter: Filter | None = None,
    why: bool = True,
) -> list[Ranking]:
    """Rank papers for each query.

    mode: one of `vector_searches`, "lexical", which with why=False needs no encoder, or "hybrid".
    """
    queries = [queries] if isinstance(queries, str) else list(queries)
    check_mode(mode)
    check_queries(queries, k)
    if encoder is not None:
        collection.check_encoder(encoder)
    k = min(k, max(1, collection.rows))
    mask = collection.mask(filter)
    rankings: list[Ranking] = []
    for start in range(0, len(queries), QUERY_BATCH):
        rankings += _search_batch(collection, encoder, queries[start : start + QUERY_BATCH], k, mode, mask, why)
    return rankings


def check_queries(queries: Sequence[str], k: int) -> None:
    """Raise InputError for a query without words, or for no papers."""
    if k < 1:
        raise InputError(f"k is {k}; ask for at least one paper")
    for number, query in enumerate(queries, 1):
        if is_blank(query):
            raise InputError(f"query {number} is empty; write what to search for")


def choose_query_space(stored: Collection[str], place: object, encoder: Encoder) -> tuple[Format, str]:
    """Return the format whose query vectors are in a space that is stored at a place, and that space."""
    spaces: list[str] = []
    for format in (format for format in FORMATS if format in encoder.formats):
        space = encoder.space(format, "query")
        if space in stored:
            return format, space
        if space not in spaces:
            spaces.append(space)
    raise InputError(
        f"queries of {encoder.name} are in the space {' or '.join(spaces) or '(none)'}; {place} "
        f"holds {', '.join(stored)}; embed the papers with --formats search"
    )


def check_mode(mode: str) -> None:
    """Raise InputError for an unknown mode."""
    known = (*vector_searches, "lexical", "hybrid")
    if mode not in known:
        raise InputError(f"mode {mode!r} is not one of {', '.join(known)}")


def _search_batch(
    collection: StoredCollection,
    encoder: Encoder | None,
    queries: list[str],
    k: int,
    mode: str,
    mask: NDArray[np.bool_] | None,
    why: bool,
) -> list[Ranking]:
    query_vectors, space = None, ""
    if mode != "lexical" or why:
        if encoder is None:
            raise InputError(f"a search of mode {mode} {'with reasons ' if why else ''}needs an encoder")
        format, space = choose_query_space(collection.manifest.spaces, collection.folder, encoder)
        query_vectors = encoder.encode(queries, format=format, role="query")
    if mode == "lexical" or query_vectors is None:
        scores, rows = lexical.search(collection, queries, k, mask)
    elif mode == "hybrid":
        depth = max(k, FUSION_DEPTH)
        _, by_words = lexical.search(collection, queries, depth, mask)
        _, by_meaning = vector_searches["exact"](collection, space, query_vectors, depth, mask)
        scores, rows = reciprocal_rank_fusion([by_meaning, by_words], k)
    else:
        scores, rows = vector_searches[mode](collection, space, query_vectors, k, mask)
    papers = read_papers(collection, rows)
    reasons = [["" for _ in found] for found in papers]
    if why and encoder is not None and query_vectors is not None:
        reasons = find_nearest_sentences(
            encoder, collection.manifest.spaces[space], collection.manifest.encoder.distance, query_vectors, papers
        )
    return build_rankings(queries, papers, scores, reasons)
