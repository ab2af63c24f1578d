"""Copies of collections in vector databases: `push` makes one equal to a collection, `RemoteCollection` searches it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from sciprism.arrays import Rows
from sciprism.databases.database import Conditions, Query, RemoteRecord, VectorDatabase, open_database
from sciprism.errors import InputError, RunFailedError
from sciprism.index import FUSION_DEPTH, choose_share, fuse, lexical, vector_searches
from sciprism.index.boolean_query import parse_query, select
from sciprism.papers.records import Paper
from sciprism.parallel import Progress, show_nothing
from sciprism.store import Filter, StoredCollection
from sciprism.store.paper_lookup import MAX_VALUES, list_conditions
from sciprism.store.shard_files import hash64
from sciprism.uses.collection import load_recorded_encoder
from sciprism.uses.search import Ranking, Searchable, build_rankings, encode_queries

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder

BATCH = 128  # papers that are sent at once
SAMPLE, DEPTH = 20, 10  # papers whose vectors are searched for, and of each ranking that are compared
TOLERANCE = 1e-4  # difference of scores, relative to the best, that rounding explains


class PushReport(NamedTuple):
    """What a push did, and what its check found.

    papers: there now. unfinished: whether more papers are still to be embedded here. recall: of searches for sampled
    papers, exact ones where there is no approximate index: the share of the ten best scores here that was found there.
    """

    address: str
    papers: int
    unfinished: bool
    new: int
    changed: int
    unchanged: int
    deleted: int
    recall: float


def push(
    folder: Path | str,
    address: str,
    *,
    approximate: bool = False,
    prune: bool = False,
    progress: Progress = show_nothing,
) -> PushReport:
    """Make the collection at an address equal to a local one; killed at any moment, the same call continues.

    approximate: build an index for approximate search. prune: delete papers there that are not in the collection, even
    if they are more than half. Raises InputError for a database that cannot be used, and for one with papers of another
    encoder; RunFailedError where it fails, or its check does. What was there before stays.
    """
    stored = StoredCollection.open(folder)
    if not len(stored):
        raise InputError(f"{folder} holds no papers; there is nothing to push")
    here, own = stored.manifest, _read_versions(stored)
    record = RemoteRecord(encoder=here.encoder, spaces=here.spaces, approximate=approximate)
    with open_database(address) as database:
        before = database.read_record()
        if before and (before.encoder.fingerprint, before.spaces) != (record.encoder.fingerprint, record.spaces):
            raise InputError(f"{address} holds vectors of {before}, {folder} of {record}; push to another name")
        there = database.read_versions() if before else {}
        gone = [key for key in there if key not in own]
        if 2 * len(gone) > len(there) and not prune:
            raise InputError(
                f"{address} has {len(there):,} papers, of which {folder} lacks {len(gone):,}: is it another "
                "collection? Push to another name, or delete them with --prune; nothing was changed"
            )
        database.write(record)
        sent = stored.live[[there.get(key) != version for key, version in own.items()]]
        for start in range(0, len(sent), BATCH):
            rows = _build_rows(stored, record, sent[start : start + BATCH], own)
            database.upsert([record.column(space) for space in record.spaces], rows)
            progress("pushing", "papers", start + len(rows), len(sent))
        for start in range(0, len(gone), BATCH):
            database.delete(gone[start : start + BATCH])
        progress("indexing and checking")
        database.index(record)
        recall = _check(stored, database, record)
        database.write(record.model_copy(update={"complete": True}))
    new, unfinished = len(own.keys() - there.keys()), here.input is None
    changed, unchanged = len(sent) - new, len(own) - len(sent)
    return PushReport(address, len(own), unfinished, new, changed, unchanged, len(gone), recall)


def _read_versions(stored: StoredCollection) -> dict[int, int]:
    """Return, by row, key and version of all papers: hashes of the id, and of record, text and encoder."""
    keys, records = (stored.column(name).astype(np.uint64)[stored.live] for name in ("id_hash", "record_hash"))
    versions = records ^ np.uint64(hash64(stored.manifest.encoder.fingerprint))
    return dict(zip(keys.view(np.int64).tolist(), versions.view(np.int64).tolist(), strict=True))


def _build_rows(
    stored: StoredCollection, record: RemoteRecord, rows: Rows, own: dict[int, int]
) -> list[dict[str, Any]]:
    keys = stored.column("id_hash").astype(np.uint64)[rows].view(np.int64).tolist()
    built: list[dict[str, Any]] = []
    for key, paper in zip(keys, stored.papers(rows), strict=True):
        row = {"key": key, "version": own[key], "paper": json.dumps(paper.to_json(), ensure_ascii=False)}
        row |= {"id": paper.id, "title": paper.title, "venue": paper.venue, "year": paper.year}
        row |= {"fields": list(paper.fields), "authors": list(paper.authors)}
        built.append(row | {"text": lexical.join_text(paper.title, paper.abstract)})
    for space in record.spaces:
        for row, vector in zip(built, stored.read_rows(space, rows).block(0, len(rows)), strict=True):
            row[record.column(space)] = vector.tolist()
    return built


def _check(stored: StoredCollection, database: VectorDatabase, record: RemoteRecord) -> float:
    """Return the recall of searches there for sampled papers, against exact ones here.

    Raises RunFailedError where counts differ, or where searches that are exact there do not find what they find here.
    """
    papers, k, distance, exact = len(stored), min(DEPTH, len(stored)), record.encoder.distance, not record.approximate
    rows = stored.live[np.linspace(0, papers - 1, min(SAMPLE, papers)).astype(np.int64)]
    recalls = []
    for space in record.spaces:
        vectors = stored.read_rows(space, rows).block(0, len(rows))
        scores = vector_searches["exact"](stored, space, vectors, k, stored.mask())[0]
        for vector, here in zip(vectors, scores, strict=True):
            query = Query("vectors", "", vector.tolist(), record.column(space), distance, k, exact, {})
            there = [score for score, _ in database.search(query)] + [np.inf] * k
            recalls.append((np.abs(here - there[:k]) <= TOLERANCE * max(1.0, float(np.abs(here).max()))).mean())
    recall, found = float(np.mean(recalls)), database.count({})
    if found != papers or (exact and recall < 1):
        raise RunFailedError(
            f"{database.address.string} has {found:,} papers after the push, the collection {papers:,}; searches find "
            f"{recall:.1%} of what they find here: is something else writing there? Run the same command again"
        )
    return recall


class RemoteCollection(Searchable):
    """A collection in a vector database, as `sciprism push` wrote it, and searched as a local one.

    Searches by vectors give the scores of the local search. Words are found and weighed as the database does. Close it,
    or use it in a `with`: Qdrant's folder serves one process at a time.

    >>> from sciprism.databases import RemoteCollection, push
    >>> push("three", "qdrant:///tmp/databases/three").papers  # doctest: +SKIP
    3
    >>> with RemoteCollection("qdrant:///tmp/databases/three") as library:  # doctest: +SKIP
    ...     [hit.id for hit in library.search("the shape of DNA", k=1)]
    ['dna']
    """

    def __init__(self, address: str, *, model: str = "") -> None:
        """Connect, and read the record of the collection. model: where its model is now, if it was moved.

        Raises InputError where nothing was pushed to the address.
        """
        self.address, self._model = address, model
        self._encoder: Encoder | None = None
        with ExitStack() as stack:
            self._database = stack.enter_context(open_database(address))
            record = self._database.read_record()
            if record is None:
                raise InputError(f"{address} holds no collection; run: sciprism push COLLECTION --to {address}")
            self.record, self._stack = record, stack.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        """Count the papers."""
        with self._database.explained():
            return self._database.count({})

    def close(self) -> None:
        """Close the connection."""
        self._stack.close()

    @property
    def encoder(self) -> Encoder:
        """Return the encoder that made the vectors; InputError where its fingerprint is another."""
        if self._encoder is None:
            self._encoder = load_recorded_encoder(self.record.encoder, self.address, self._model)
        return self._encoder

    def rank(
        self, encoder: Encoder | None, queries: Sequence[str], k: int, mode: str, filter: Filter | None, why: bool
    ) -> list[Ranking]:
        """Rank papers for each query, as the function `search` does."""
        mode = "hybrid" if mode == "auto" else mode
        made_by, spaces, distance = self.record.encoder, self.record.spaces, self.record.encoder.distance
        space, vectors = encode_queries(encoder, queries, k, mode, why, made_by, spaces, self.address)
        exact = mode == "exact" or not self.record.approximate
        if exact and mode == "approximate":
            raise InputError(f"{self.address} has no approximate index; push the collection again with --approximate")
        depth = max(k, FUSION_DEPTH) if mode == "hybrid" else k
        given = zip(queries, [None] * len(queries) if vectors is None else vectors.tolist(), strict=True)
        with self._database.explained():
            conditions = self._build_conditions(filter or Filter())
            kind = "words" if mode == "lexical" else "vectors"
            asked = Query(kind, "", None, self.record.column(space), distance, depth, exact, conditions)
            found = [self._search(asked._replace(text=text, vector=vector), mode, k) for text, vector in given]
        papers = [[_read_paper(row) for row in rows] for rows in found]
        scores = np.array([[score for score, _ in rows] + [-np.inf] * (k - len(rows)) for rows in found], np.float32)
        made: dict[str, Any] = {"vectors": vectors, "space": spaces[space], "distance": distance}
        return build_rankings(queries, papers, scores, encoder=encoder if why else None, **made)

    def _search(self, query: Query, mode: str, k: int) -> list[tuple[float, str]]:
        if mode == "hybrid":
            meaning, words = (self._database.search(query._replace(mode=part)) for part in ("vectors", "words"))
            return fuse(meaning, words, choose_share(query.text), k)
        parsed = parse_query(query.text) if mode == "lexical" else None
        if parsed is None:
            return self._database.search(query)
        ranked = query._replace(text=" ".join(parsed.list_ranked_words()))
        return select(
            parsed,
            query.k,
            lambda depth: self._database.search(ranked._replace(k=depth)),
            lambda rows: list(map(_read_paper, rows)),
        )

    def _build_conditions(self, filter: Filter) -> Conditions:
        """Return the filter in the exact names of the database. Raises InputError for one that no paper passes."""
        years = (("year_from", filter.year_from), ("year_to", filter.year_to))
        conditions: Conditions = {name: year for name, year in years if year is not None}
        for column, condition, what in list_conditions(filter):
            counts = self._database.count_names(column)
            conditions[column] = _match_names(list(counts), condition)
            if not conditions[column]:
                most = sorted(counts.keys() - {""}, key=lambda name: (-counts[name], name))[:MAX_VALUES]
                raise InputError(f"no paper of {self.address} has {what}; most have {', '.join(most) or 'none'}")
        if conditions and not self._database.count(conditions):
            raise InputError(f"no paper of {self.address} is from these years and meets all conditions; leave one out")
        return conditions


def _match_names(names: list[str], filter: Filter) -> list[str]:
    """Return the names that pass a filter by venue, field or author, as the local search compares them."""
    import pyarrow as pa

    lists = pa.chunked_array([[[name] for name in names]], pa.list_(pa.string()))
    columns = {"venue": pa.chunked_array([names], pa.string()), "fields": lists, "authors": lists}
    passes = filter.passes(len(names), columns.__getitem__)
    return [name for name, passed in zip(names, passes, strict=True) if passed]


def _read_paper(row: tuple[float, str]) -> Paper:
    return Paper.from_json(json.loads(row[1]))
