"""Search: rank the papers of a collection for a query in words, for one of them, or for papers from elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.index import FUSION_DEPTH, fuse_searches, lexical, vector_searches
from sciprism.index.boolean_query import parse_query, select
from sciprism.index.exact import Distance, sample_rows, topk
from sciprism.papers.bibliography_entries import find_doi, find_url
from sciprism.papers.cleaning import is_blank
from sciprism.papers.languages import count_other_languages
from sciprism.papers.records import Paper
from sciprism.store import Filter, Matrix, StoredCollection
from sciprism.store.collection import EncoderRecord, SpaceRecord
from sciprism.store.paper_lookup import find_copies, find_identified, find_paper
from sciprism.text.sentences import split_sentences

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.formats import Format
    from sciprism.index.approximate import TitleQueries


MAX_SENTENCES = 64  # sentences per abstract that are compared: some abstracts are whole books


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One paper of a ranking.

    score: more is better, whatever the distance. url: the address of the DOI, else of another system's id, else the
    one that was read. why: the sentence of the abstract that is nearest to the query, where it was asked for.
    paper: with all its fields.
    """

    rank: int
    score: float
    id: str
    title: str
    venue: str = ""
    year: int | None = None
    authors: tuple[str, ...] = ()
    doi: str = ""
    url: str = ""
    why: str = ""
    paper: Paper = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return all but the paper as JSON values."""
        row = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "paper"}
        return row | {"authors": list(self.authors)}


@dataclass(frozen=True, slots=True)
class Ranking:
    """The papers found for one query, best first."""

    query: str
    hits: tuple[Hit, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the ranking as JSON values."""
        return {"query": self.query, "hits": [hit.to_json() for hit in self.hits]}


def describe_paper(paper: Paper) -> dict[str, Any]:
    """Return a paper with the details of a hit, by the names of `Hit`."""
    details = {name: getattr(paper, name) for name in ("id", "title", "venue", "year", "authors")}
    return details | {"doi": find_doi(paper), "url": find_url(paper), "paper": paper}


def build_rankings(
    queries: Sequence[str],
    papers: Sequence[Sequence[Paper]],
    scores: Floats,
    *,
    encoder: Encoder | None = None,
    vectors: Floats | None = None,
    space: SpaceRecord,
    distance: Distance,
) -> list[Ranking]:
    """Return rankings of papers with scores (m, k), and with reasons where an encoder and vectors (m, d) are given.

    space, distance: of the vectors.
    """
    reasons = [["" for _ in ranked] for ranked in papers]
    if encoder is not None and vectors is not None:
        reasons = _find_nearest_sentences(encoder, space, distance, vectors, papers)
    return [
        Ranking(
            query,
            tuple(
                Hit(rank=rank, score=float(score), **describe_paper(paper), why=reason)
                for rank, (paper, score, reason) in enumerate(zip(*columns, strict=False), 1)
            ),
        )
        for query, *columns in zip(queries, papers, scores, reasons, strict=True)
    ]


def _find_nearest_sentences(
    encoder: Encoder, space: SpaceRecord, distance: Distance, query_vectors: Floats, papers: Sequence[Sequence[Paper]]
) -> list[list[str]]:
    """Return the sentence nearest to each query vector (m, d) in each of its papers; "" if there is none."""
    split = {p.id: split_sentences(p.abstract)[:MAX_SENTENCES] for ranked in papers for p in ranked}
    sentences = list(chain.from_iterable(split.values()))
    if not sentences:
        return [["" for _ in ranked] for ranked in papers]
    vectors = encoder.encode(sentences, format=cast("Format", space.formats[0]), role="paper")
    ends = accumulate(map(len, split.values()))
    matrices = {id: Matrix(part) for id, part in zip(split, np.split(vectors, list(ends)), strict=False)}

    def find(row: int, id: str) -> str:
        if not split[id]:
            return ""
        _, best = topk(query_vectors[[row]], [matrices[id]], 1, distance=distance)
        return split[id][int(best[0, 0])]

    return [[find(row, paper.id) for paper in ranked] for row, ranked in enumerate(papers)]


FORMATS: tuple[Format, ...] = ("search", "proximity")  # formats whose vectors serve queries, the better one first
QUERY_BATCH = 256  # queries, in words or papers from elsewhere, per batch: bounds the papers and sentences in memory


def search(
    collection: StoredCollection,
    encoder: Encoder | None,
    queries: str | Sequence[str],
    k: int = 10,
    *,
    mode: str = "auto",
    filter: Filter | None = None,
    why: bool = True,
) -> list[Ranking]:
    """Rank papers for each query; the paper whose identifier a query is comes first.

    mode: of `check_mode`; "lexical" with why=False needs no encoder. Auto: `choose_mode`. Quotes, AND, OR, NOT and
    parentheses have an effect in mode "lexical" alone (`parse_query`).
    """
    queries, mode = [queries] if isinstance(queries, str) else list(queries), choose_mode(collection, mode)
    made_by, spaces = collection.manifest.encoder, collection.manifest.spaces
    space, vectors = encode_queries(encoder, queries, k, mode, why, made_by, spaces, collection.folder)
    k = min(k, max(1, collection.rows))
    mask = collection.mask(filter)
    rankings: list[Ranking] = []
    for start in range(0, len(queries), QUERY_BATCH):
        part = slice(start, start + QUERY_BATCH)
        own = None if vectors is None else vectors[part]
        found = _search_batch(collection, space, queries[part], own, k, mode, mask)
        rankings += _rank(collection, encoder if why else None, space, queries[part], own, found)
    return rankings


def choose_mode(collection: StoredCollection, mode: str) -> str:
    """Return the mode of a search: where it is "auto", hybrid if the words of the papers are indexed, else exact."""
    return mode if mode != "auto" else "hybrid" if lexical.is_ready(collection) else "exact"


class Searchable:
    """Papers that are searched by words: those of a folder, or of a vector database."""

    @property
    def encoder(self) -> Encoder:
        """Return the encoder that made the vectors."""
        raise NotImplementedError

    def rank(
        self, encoder: Encoder | None, queries: Sequence[str], k: int, mode: str, filter: Filter | None, why: bool
    ) -> list[Ranking]:
        """Rank papers for each query, as the function `search` does. Raises InputError for a filter none passes."""
        raise NotImplementedError

    @overload
    def search(self, queries: str, k: int = 10, *, mode: str = ..., why: bool = ..., **filters: Any) -> list[Hit]: ...
    @overload
    def search(
        self, queries: Sequence[str], k: int = 10, *, mode: str = ..., why: bool = ..., **filters: Any
    ) -> list[list[Hit]]: ...
    def search(
        self, queries: str | Sequence[str], k: int = 10, *, mode: str = "auto", why: bool = False, **filters: Any
    ) -> list[Hit] | list[list[Hit]]:
        """Rank papers for a query in words; for a list of queries, a list of rankings.

        mode: hybrid, by words and meaning, exact, by meaning, lexical, by words, or approximate, by meaning with an
        index (`sciprism index`); auto is hybrid where the words are indexed, else exact. In mode lexical
        "quoted words" are phrases, and AND, OR, NOT and parentheses say which papers are ranked. why: find the sentence
        of each paper that is nearest to the query. filters: year_from, year_to, venue, field, author.
        """
        encoder = None if mode == "lexical" and not why else self.encoder
        texts = [queries] if isinstance(queries, str) else list(queries)
        ranked = self.rank(encoder, texts, k, mode, Filter(**filters), why)
        rankings = [list(ranking.hits) for ranking in ranked]
        return rankings[0] if isinstance(queries, str) else rankings


def check_mode(mode: str, k: int = 1, modes: Collection[str] = ()) -> None:
    """Raise InputError for an unknown mode, or for no papers."""
    if k < 1:
        raise InputError(f"k is {k}; ask for at least one paper")
    if mode not in (known := modes or ("auto", *vector_searches, "lexical", "hybrid")):
        raise InputError(f"mode {mode!r} is not one of {', '.join(known)}")


def check_queries(queries: Sequence[str], k: int, mode: str) -> None:
    """Raise InputError for an unknown mode, a query without words or with malformed operators, or for no papers."""
    check_mode(mode, k)
    for number, query in enumerate(queries, 1):
        if is_blank(query):
            raise InputError(f"query {number} is empty; write what to search for")
        try:
            _ = mode == "lexical" and parse_query(query)
        except InputError as error:
            raise InputError(f"query {number}: {error}") from None


def check_languages(encoder: Encoder, texts: Sequence[str], what: str) -> None:
    """Warn of texts in a language that the model does not know. what: they are, such as "queries"."""
    from sciprism.encoders.languages import warn_of_other_languages

    if others := count_other_languages(texts):
        warn_of_other_languages(encoder, others, len(texts), what)


def encode_queries(
    encoder: Encoder | None,
    queries: Sequence[str],
    k: int,
    mode: str,
    why: bool,
    made_by: EncoderRecord,
    spaces: Mapping[str, SpaceRecord],
    place: object,
) -> tuple[str, Floats | None]:
    """Check a search of vectors that are stored at a place; return their space and the queries' vectors (m, d).

    None where a search by words needs no vectors. made_by, spaces: of the stored vectors.
    """
    check_queries(queries, k, mode)
    if encoder is not None:
        made_by.check(encoder, place)
        check_languages(encoder, [] if mode == "lexical" else queries, "queries")
    if mode == "lexical" and not why:
        return next(iter(spaces)), None
    if encoder is None:
        raise InputError(f"a search of mode {mode} {'with reasons ' if why else ''}needs an encoder")
    format, space = choose_query_space(spaces, place, encoder)
    return space, encoder.encode(queries, format=format, role="query")


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


def _search_batch(
    collection: StoredCollection,
    space: str,
    queries: list[str],
    query_vectors: Floats | None,
    k: int,
    mode: str,
    mask: NDArray[np.bool_] | None,
) -> tuple[Floats, Rows]:
    if mode == "lexical" or query_vectors is None:
        ranked = [_search_words(collection, query, k, mask) for query in queries]
        scores, rows = (np.concatenate(column) for column in zip(*ranked, strict=True))
    elif mode == "hybrid":
        depth = max(k, FUSION_DEPTH)
        by_meaning = vector_searches["exact"](collection, space, query_vectors, depth, mask)
        by_words = lexical.search(collection, queries, depth, mask)
        scores, rows = fuse_searches(queries, by_meaning, by_words, k)
    else:
        scores, rows = vector_searches[mode](collection, space, query_vectors, k, mask)
    for number, query in enumerate(queries):
        for row in find_identified(collection, query)[:1]:
            if mask is None or mask[row]:  # first, whatever its words
                order = np.argsort(rows[number] != row, kind="stable")
                scores[number], rows[number] = scores[number, order], rows[number, order]
                if rows[number, 0] != row:
                    scores[number], rows[number] = np.roll(scores[number], 1), np.roll(rows[number], 1)
                    scores[number, 0], rows[number, 0] = mode == "hybrid", row
                    if query_vectors is not None and mode in vector_searches:
                        only = np.zeros(collection.rows, bool)
                        only[row] = True
                        found, _ = vector_searches["exact"](collection, space, query_vectors[[number]], 1, only)
                        scores[number, 0] = found[0, 0]
    return scores, rows


def _search_words(
    collection: StoredCollection, query: str, k: int, mask: NDArray[np.bool_] | None
) -> tuple[Floats, Rows]:
    """Return scores and rows (1, k) of the papers that share words with a query and pass its operators."""
    parsed = parse_query(query)
    if parsed is None:
        return lexical.search(collection, [query], k, mask)
    words = [" ".join(parsed.list_ranked_words())]
    passes, certain = parsed.find_rows(partial(lexical.find_rows, collection), collection.rows)
    if mask is not None:
        passes &= mask

    def rank(depth: int) -> list[int]:
        return [row for row in lexical.search(collection, words, depth, passes)[1][0].tolist() if row >= 0]

    if not certain:
        selected = select(parsed, k, rank, collection.papers)
        passes = np.zeros_like(passes)
        passes[selected] = True
    return lexical.search(collection, words, k, passes)


def encode_titles(collection: StoredCollection, encoder: Encoder) -> dict[str, TitleQueries]:
    """Return the space of queries -> the titles of randomly chosen papers, encoded as queries.

    An approximate search is measured with them. Raises InputError where no vectors compare with queries.
    """
    from sciprism.index.approximate import QUERIES

    format, space = choose_query_space(collection.manifest.spaces, collection.folder, encoder)
    titles = [paper.title for paper in collection.papers(sample_rows(collection, QUERIES, 1)) if paper.title]
    return {space: (titles, encoder.encode(titles, format=format, role="query"))} if titles else {}


def explain(collection: StoredCollection, encoder: Encoder, query: str, papers: Sequence[Paper]) -> list[str]:
    """Return the sentence of each paper that is nearest to a query in words; "" where its abstract has none."""
    collection.check_encoder(encoder)
    format, space = choose_query_space(collection.manifest.spaces, collection.folder, encoder)
    vectors, manifest = encoder.encode([query], format=format, role="query"), collection.manifest
    return _find_nearest_sentences(encoder, manifest.spaces[space], manifest.encoder.distance, vectors, [papers])[0]


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

    paper: its id, an identifier such as a DOI or arXiv id, or a link to one, its title, or the beginning of one id.
    The encoder, if given, only adds the reasons.
    """
    check_mode(mode, k, vector_searches)
    if encoder is not None:
        collection.check_encoder(encoder)
    row = find_paper(collection, paper)
    space = choose_paper_space(collection)
    vectors = collection.vector(row, space)[None]
    nearest = _find_nearest(collection, space, vectors, [row], k, mode, collection.mask(filter))
    return _rank(collection, encoder, space, [paper], vectors, nearest)[0]


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
    check_mode(mode, k, vector_searches)
    collection.check_encoder(encoder)
    for paper in papers:
        if is_blank(f"{paper.title}{paper.abstract}"):
            place = f"{paper.place}: " if paper.place else ""
            raise InputError(f"{place}paper {paper.id!r} has no title and no abstract; there is nothing to compare")
    check_languages(encoder, [f"{paper.title} {paper.abstract}" for paper in papers], "papers")
    space = choose_paper_space(collection)
    format = cast("Format", collection.manifest.spaces[space].formats[0])
    mask = collection.mask(filter)
    rankings: list[Ranking] = []
    for start in range(0, len(papers), QUERY_BATCH):
        part = papers[start : start + QUERY_BATCH]
        vectors = encoder.encode(part, format=format, role="paper")
        nearest = _find_nearest(collection, space, vectors, find_copies(collection, part), k, mode, mask)
        ids = [paper.id for paper in part]
        rankings += _rank(collection, encoder if why else None, space, ids, vectors, nearest)
    return rankings


def choose_paper_space(collection: StoredCollection) -> str:
    """Return the space in which papers are compared: that of proximity, or the first one stored."""
    spaces = collection.manifest.spaces
    return next((name for name, space in spaces.items() if "proximity" in space.formats), next(iter(spaces)))


def _find_nearest(
    collection: StoredCollection,
    space: str,
    queries: Floats,
    copies: Sequence[int | None],
    k: int,
    mode: str,
    mask: NDArray[np.bool_] | None,
) -> tuple[Floats, Rows]:
    """Return scores and rows (m, k) of each query (m, d) without the row of the same paper (copies), if any."""
    k = min(k, max(1, collection.rows))
    scores, rows = vector_searches[mode](collection, space, queries, k + 1, mask)
    owners = np.array([-2 if row is None else row for row in copies], np.int64)
    order = np.argsort(rows == owners[:, None], axis=1, kind="stable")[:, :k]  # the own row is last
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(rows, order, axis=1)


def _rank(
    collection: StoredCollection,
    encoder: Encoder | None,
    space: str,
    queries: Sequence[str],
    vectors: Floats | None,
    best: tuple[Floats, Rows],
) -> list[Ranking]:
    """Return the rankings of scores and rows (m, k), with reasons where there is an encoder."""
    scores, rows = best
    distinct = np.unique(rows[rows >= 0])  # each is read once
    read = dict(zip(distinct.tolist(), collection.papers(distinct), strict=True))
    manifest, papers = collection.manifest, [[read[row] for row in line if row >= 0] for line in rows.tolist()]
    made_by: dict[str, Any] = {"space": manifest.spaces[space], "distance": manifest.encoder.distance}
    return build_rankings(queries, papers, scores, encoder=encoder, vectors=vectors, **made_by)
