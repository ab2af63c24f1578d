"""Search of a pushed collection: the queries are encoded here, the papers are found there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from sciprism.arrays import Floats
from sciprism.databases.address import open_database
from sciprism.databases.database import FoundRow, RowFilter, VectorDatabase
from sciprism.databases.record import RemoteRecord, TextMap, check_table, read_record, weigh_words
from sciprism.databases.rows import read_paper
from sciprism.errors import InputError
from sciprism.index import reciprocal_rank_fusion
from sciprism.index.boolean_query import BooleanQuery, parse_query, select
from sciprism.store import Filter
from sciprism.store.paper_lookup import list_conditions
from sciprism.uses.collection import load_recorded_encoder
from sciprism.uses.rankings import Ranking, build_rankings, find_nearest_sentences
from sciprism.uses.search import (
    FUSION_DEPTH,
    QUERY_BATCH,
    Searchable,
    check_languages,
    check_queries,
    choose_query_space,
)

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

MAX_NAMED = 5  # venues or fields that a message names


class RemoteCollection(Searchable):
    """A collection in a vector database, as `sciprism push` wrote it, and searched as a local one.

    Close it, or use it in a `with`: a database in a folder serves one process at a time.

    >>> from sciprism.databases import RemoteCollection, push
    >>> push("three", "qdrant:///tmp/databases/three").papers  # doctest: +SKIP
    3
    >>> with RemoteCollection("qdrant:///tmp/databases/three") as library:  # doctest: +SKIP
    ...     [hit.id for hit in library.search("the shape of DNA", k=1)]
    ['dna']
    """

    def __init__(self, address: str, *, model: str = "") -> None:
        """Connect, and read the record of the collection. model: where its model is now, if it was moved.

        Raises InputError where nothing was pushed to the address, or where a table was changed since.
        """
        self.address, self._database = open_database(address)
        self._model = model
        self._encoder: Encoder | None = None
        try:
            self.record = self._read_record()
        except BaseException:
            self.close()
            raise

    def _read_record(self) -> RemoteRecord:
        record = read_record(self._database, self.address)
        if record is None:
            raise InputError(f"{self.address} holds no collection; run: sciprism push COLLECTION --to {self.address}")
        layouts = {}
        for space in record.spaces:
            if (layout := check_table(self._database, self.address, record, space)) is None:
                table = record.table(self.address.name, space)
                raise InputError(f"{self.address} lacks the collection {table}; push again, which makes it anew")
            layouts[space] = layout
        self._layouts = layouts
        return record

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Count the papers."""
        space = next(iter(self.record.spaces))
        return self._database.count(self.record.table(self.address.name, space))

    def __repr__(self) -> str:
        return f"RemoteCollection({str(self.address)!r})"

    def close(self) -> None:
        """Close the connection."""
        self._database.__exit__()

    @property
    def encoder(self) -> Encoder:
        """Return the encoder that made the vectors; InputError where its fingerprint is another."""
        if self._encoder is None:
            precision = str(self.record.encoder.options.get("precision", "float32"))
            self._encoder = load_recorded_encoder(self.record.encoder, self.address, self._model, precision=precision)
        return self._encoder

    def _rank(
        self, encoder: Encoder | None, queries: Sequence[str], k: int, mode: str, filter: Filter | None, why: bool
    ) -> list[Ranking]:
        check_queries(queries, k, mode)
        if encoder is not None:
            self.record.encoder.check(encoder, self.address)
            check_languages(encoder, [] if mode == "lexical" else queries, "queries")
        elif mode != "lexical" or why:
            raise InputError(f"a search of mode {mode} {'with reasons ' if why else ''}needs an encoder")
        chosen = build_row_filter(self._database, self.address.name, self.address, self.record, filter)
        rankings: list[Ranking] = []
        for start in range(0, len(queries), QUERY_BATCH):
            rankings += self._rank_batch(encoder, queries[start : start + QUERY_BATCH], k, mode, chosen, why)
        return rankings

    def _rank_batch(
        self, encoder: Encoder | None, queries: Sequence[str], k: int, mode: str, filter: RowFilter, why: bool
    ) -> list[Ranking]:
        vectors, space = None, ""
        if encoder is not None and (mode != "lexical" or why):
            format, space = choose_query_space(self.record.spaces, self.address, encoder)
            vectors = encoder.encode(queries, format=format, role="query")
        if mode == "lexical" or vectors is None:
            parsed = [parse_query(query) for query in queries]
            plain = [query for query, operators in zip(queries, parsed, strict=True) if operators is None]
            by_words = iter(self._search_words(plain, k, filter))
            rankings = [self._select(query, k, filter) if query else next(by_words) for query in parsed]
        elif mode == "hybrid":
            depth = max(k, FUSION_DEPTH)
            by_meaning = self._search_vectors(space, vectors, depth, filter, exact=not self.record.approximate)
            rankings = _fuse(by_meaning, self._search_words(queries, depth, filter), k)
        else:
            rankings = self._search_vectors(space, vectors, k, filter, exact=mode == "exact")
        papers = [[read_paper(row.paper) for row in rows] for rows in rankings]
        scores = np.full((len(queries), k), -np.inf, np.float32)
        for line, rows in zip(scores, rankings, strict=True):
            line[: len(rows)] = [row.score for row in rows]
        reasons = [["" for _ in rows] for rows in papers]
        if why and encoder is not None and vectors is not None:
            distance = self.record.encoder.distance
            reasons = find_nearest_sentences(encoder, self.record.spaces[space], distance, vectors, papers)
        return build_rankings(queries, papers, scores, reasons)

    def _search_vectors(
        self, space: str, vectors: Floats, k: int, filter: RowFilter, *, exact: bool
    ) -> list[list[FoundRow]]:
        layout, table = self._layouts[space], self.record.table(self.address.name, space)
        if not exact and not self.record.approximate:
            raise InputError(f"{self.address} has no approximate index; push the collection again with --approximate")
        return self._database.search_vectors(table, layout, vectors, k, filter, exact=exact)

    def _select(self, query: BooleanQuery, k: int, filter: RowFilter) -> list[FoundRow]:
        """Return the rows for a Boolean query: they are ranked there, and texts are compared here."""
        words = [" ".join(query.list_ranked_words())]
        return select(
            query,
            k,
            lambda depth: self._search_words(words, depth, filter)[0],
            lambda rows: [read_paper(row.paper) for row in rows],
            self._database.max_rows,
        )

    def _search_words(self, queries: Sequence[str], k: int, filter: RowFilter) -> list[list[FoundRow]]:
        lexical = self.record.lexical
        if lexical is None:
            raise InputError(
                f"{self.address} has no lexical weights; run: sciprism index COLLECTION --lexical, and push again"
            )
        words = weigh_words(self._database, self.address.name, self.record, queries)
        return self._database.search_words(self.record.table(self.address.name, lexical.space), words, k, filter)


def _fuse(
    by_meaning: Sequence[Sequence[FoundRow]], by_words: Sequence[Sequence[FoundRow]], k: int
) -> list[list[FoundRow]]:
    """Fuse two rankings of each query by their ranks, as the local search; the databases' own fusions differ."""
    fused = []
    for pair in zip(by_meaning, by_words, strict=True):
        rows = list({row.key: row for ranking in pair for row in ranking}.values())
        numbers = {row.key: number for number, row in enumerate(rows)}
        ranks = [np.array([[numbers[row.key] for row in ranking]], np.int64).reshape(1, -1) for ranking in pair]
        scores, best = (column[0] for column in reciprocal_rank_fusion(ranks, k))
        fused.append([replace(rows[n], score=float(score)) for score, n in zip(scores, best, strict=True) if n >= 0])
    return fused


def build_row_filter(
    database: VectorDatabase, name: str, place: object, record: RemoteRecord, filter: Filter | None
) -> RowFilter:
    """Return the filter in exact names. Raises InputError for a condition that no paper meets."""
    if not filter:
        return RowFilter()
    if filter.year_from is not None or filter.year_to is not None:
        _check_years(place, record, filter)
    chosen: dict[str, tuple[str, ...]] = {}
    for column, condition, what in list_conditions(filter):
        counts = TextMap(database, name, column, record.buckets[column]).read_all()
        if not (names := _match_names(counts, condition)):
            most = ", ".join(sorted(counts, key=lambda name: (-counts[name], name))[:MAX_NAMED])
            there = f"it has {len(counts):,}, the most frequent: {most}" if counts else "its papers have none"
            raise InputError(f"no paper of {place} has {what}; {there}")
        chosen["venues" if column == "venue" else column] = names
    return RowFilter(year_from=filter.year_from, year_to=filter.year_to, **chosen)


def _check_years(place: object, record: RemoteRecord, filter: Filter) -> None:
    if record.years is None:
        raise InputError(f"no paper of {place} is from these years; none of its papers has a year")
    first, last = record.years
    begins_later = filter.year_from is not None and filter.year_from > last
    ends_before = filter.year_to is not None and filter.year_to < first
    if begins_later or ends_before:
        raise InputError(f"no paper of {place} is from these years; its first year is {first}, its last {last}")


def _match_names(counts: dict[str, int], filter: Filter) -> tuple[str, ...]:
    """Return the names that pass a filter by venue, field or author, as the local search compares them."""
    import pyarrow as pa

    names = sorted(counts)
    columns = {"venue": pa.chunked_array([names], pa.string())}
    columns |= dict.fromkeys(
        ("fields", "authors"), pa.chunked_array([[[name] for name in names]], pa.list_(pa.string()))
    )
    passes = filter.passes(len(names), columns.__getitem__)
    return tuple(name for name, passed in zip(names, passes, strict=True) if passed)
