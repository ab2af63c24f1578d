"""Search of a pushed collection: the queries are encoded here, the papers are found there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.databases.address import open_database
from sciprism.databases.database import MAX_FIELDS, FoundRow, Hashes, RowFilter, TableRows, VectorDatabase
from sciprism.databases.record import RemoteRecord, TextMap, check_table, read_record, weigh_words
from sciprism.databases.term_weights import SparseVector, TermStatistics, weigh_documents
from sciprism.errors import InputError
from sciprism.index import reciprocal_rank_fusion
from sciprism.index.boolean_query import BooleanQuery, parse_query, select
from sciprism.index.lexical import join_text
from sciprism.papers.records import Paper
from sciprism.store import Filter, StoredCollection
from sciprism.store.known_papers import hash64
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


MAX_BYTES = 60_000  # UTF-8 bytes of a paper's record that are stored: Milvus takes 65,535 for a text
MAX_TITLE = 8_000  # characters of a title, venue or field in its own column; the record has all of them


@dataclass(frozen=True, slots=True)
class PaperHashColumns:
    """Of each row of a collection: the hash of its id (its key) and of its text, and the version that it is sent as."""

    keys: Hashes
    texts: NDArray[np.uint64]
    versions: Hashes


def read_hashes(stored: StoredCollection, statistics: TermStatistics | None) -> PaperHashColumns:
    """Return the hashes of all rows. The version changes with the record, text, encoder, or lexical weights."""
    keys, texts, records = (
        stored.column(name).astype(np.uint64, copy=False) for name in ("id_hash", "text_hash", "record_hash")
    )
    weights = "" if statistics is None else f"{statistics.mean_length} {statistics.k1} {statistics.b}"
    common = np.uint64(hash64(f"{stored.manifest.encoder.fingerprint} {weights}"))
    return PaperHashColumns(keys.view(np.int64), texts, (records ^ common).view(np.int64))


@dataclass(frozen=True, slots=True)
class RowBuilder:
    """Turns rows of a space of a collection into rows of a table. statistics: None for no lexical weights."""

    stored: StoredCollection
    space: str
    hashes: PaperHashColumns
    statistics: TermStatistics | None

    def build(self, rows: Rows) -> tuple[TableRows, int]:
        """Return the rows of some papers, and how many records were too long and were shortened."""
        papers = self.stored.papers(rows)
        vectors = self.stored.read_rows(self.space, rows)
        words: Sequence[SparseVector] = [_EMPTY] * len(papers)
        if self.statistics is not None:
            words = weigh_documents([join_text(paper.title, paper.abstract) for paper in papers], self.statistics)
        records = [_write_paper(paper) for paper in papers]
        columns = [
            self._build_columns(paper, record, int(row))
            for paper, (record, _), row in zip(papers, records, rows, strict=True)
        ]
        built = TableRows(self.hashes.keys[rows], vectors.block(0, len(rows)), words, columns)
        return built, sum(shortened for _, shortened in records)

    def _build_columns(self, paper: Paper, record: str, row: int) -> dict[str, Any]:
        return {
            "id": paper.id,
            "title": paper.title[:MAX_TITLE],
            "venue": paper.venue[:MAX_TITLE],
            "year": paper.year,
            "fields": [field[:MAX_TITLE] for field in paper.fields[:MAX_FIELDS]],
            "authors": [author[:MAX_TITLE] for author in paper.authors[:MAX_FIELDS]],
            "text_hash": f"{int(self.hashes.texts[row]):016x}",
            "fingerprint": self.stored.manifest.encoder.fingerprint,
            "paper": record,
            "version": int(self.hashes.versions[row]),
        }


_EMPTY = SparseVector(np.empty(0, np.uint32), np.empty(0, np.float32))


def _write_paper(paper: Paper) -> tuple[str, bool]:
    """Return the JSON of a paper, and whether it was too long: then without references, and its abstract is cut."""
    text = _to_json(paper)
    if len(text.encode("utf-8", "replace")) <= MAX_BYTES:
        return text, False
    paper = replace(paper, references=())
    while len((text := _to_json(paper)).encode("utf-8", "replace")) > MAX_BYTES:
        longest = max(("abstract", "title"), key=lambda name: len(getattr(paper, name)))
        if not getattr(paper, longest):
            return _to_json(Paper(id=paper.id, year=paper.year, ids=paper.ids)), True
        paper = replace(paper, **{longest: getattr(paper, longest)[: len(getattr(paper, longest)) // 2]})
    return text, True


def _to_json(paper: Paper) -> str:
    return json.dumps(paper.to_json(), ensure_ascii=False)


def read_paper(text: str) -> Paper:
    """Return the paper of a row."""
    return Paper.from_json(json.loads(text))
