"""The systems of result tables: encoders, other libraries' models, BM25 and the random baseline.

A system encodes texts as vectors, or ranks documents without vectors. A protocol that needs vectors calls
`encode`; a system without vectors raises `NotServedError`, and the table shows no number there. A system of
your own is a subclass of `VectorSystem` with `encode`, or of `RankingSystem` with `rank`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows, normalize_rows
from sciprism.datasets.inputs import RerankInput
from sciprism.encoders.cached_encoder import CachedEncoder
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.encoders.settings import find_title
from sciprism.errors import InputError
from sciprism.formats import FORMATS, Format, Role
from sciprism.index import exact, fusion
from sciprism.parallel import Progress
from sciprism.store.shard_files import Matrix
from sciprism.text.template import FIELDS, Item, Template

_TEMPLATE = Template(separator=" ")
Distance = Literal["encoder", "cosine", "dot", "euclidean", "cosine or dot"]
"""How vectors are compared. "encoder": as the encoder states; "cosine or dot": by dot products where it states them."""
Excluded = Sequence[Rows] | None  # for each query the document rows that are not returned, None where all may be


class NotServedError(Exception):
    """Report that a system cannot take part in a protocol, such as BM25 where vectors are needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingInput:
    """Items to encode, with the format, role and fields to encode them by."""

    items: Sequence[Item]
    format: Format
    role: Role = "paper"
    fields: tuple[str, ...] = FIELDS

    def take(self, rows: Rows) -> EncodingInput:
        """Return these rows of the items."""
        return replace(self, items=[self.items[row] for row in rows])

    def texts(self) -> list[str]:
        """Return the text of each item: a paper's fields (title, abstract), joined by a space."""
        return [_TEMPLATE.text(item, self.role, self.fields) for item in self.items]


class TemplateEncoder:
    """What encoders share that have one space of vectors, and whose texts a template makes."""

    formats = FORMATS
    template: Template

    def space(self, format: Format = "proximity", role: Role = "paper") -> str:
        """Return the one space: all its vectors compare."""
        return "all"

    def path(self, format: Format = "proximity", role: Role = "paper") -> str:
        """Return the name of its encoding path: one for all formats, and for roles of the same prompt."""
        prompt = self.template.prompts.get(role, "")
        return "all" + (f"|{prompt}" if prompt else "")

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format = "proximity",
        role: Role = "paper",
        fields: Sequence[str] = FIELDS,
    ) -> Floats:
        """Return one float32 row per item, (n, dim), in the order given."""
        return self.encode_texts(self.texts(items, role, fields), self.template.prompts.get(role, ""))

    def encode_texts(self, texts: Sequence[str], prompt: str) -> Floats:
        """Return one row per text; the prompt is part of each."""
        raise NotImplementedError

    def texts(self, items: Sequence[Item], role: Role = "paper", fields: Sequence[str] = FIELDS) -> list[str]:
        """Return the texts that are tokenized for these items."""
        return [self.template.text(item, role, fields) for item in items]


@runtime_checkable
class System(Protocol):
    """One row of a result table, with a `name`, and a `fingerprint` by which its results are recognized."""

    name: str

    @property
    def fingerprint(self) -> str:
        """Return a hash of all that decides its vectors or scores."""
        raise NotImplementedError

    def describe(self) -> dict[str, Any]:
        """Return what results record of it, as JSON values: its name and fingerprint."""
        return {"name": self.name, "fingerprint": self.fingerprint}

    def encode(self, texts: EncodingInput) -> Floats:
        """Return one row per item, (n, dim), perhaps memory-mapped. Raises NotServedError."""
        raise NotServedError(f"{self.name} has no vectors")

    def pool_scores(
        self, queries: EncodingInput, candidates: EncodingInput, pools: Sequence[Rows], distance: Distance
    ) -> Sequence[NDArray[np.floating]]:
        """Return the score of each candidate row in each query's pool; higher is better."""
        raise NotImplementedError

    def top(
        self, queries: EncodingInput, documents: EncodingInput, k: int, distance: Distance, excluded: Excluded
    ) -> tuple[Floats, Rows]:
        """Return scores and rows (m, k) of the k best documents per query, -inf and -1 where there are fewer."""
        raise NotImplementedError


class RankingSystem(System):
    """A system without vectors: a subclass has a `name`, a `fingerprint` and the method `rank`.

    floor: documents with this score or a lower one are not in a ranking.
    """

    floor: float = -np.inf

    def rank(self, queries: EncodingInput, documents: EncodingInput) -> Iterable[Floats]:
        """Yield the scores of all documents for each query, (n,); higher is better."""
        raise NotImplementedError

    def pool_scores(
        self, queries: EncodingInput, candidates: EncodingInput, pools: Sequence[Rows], distance: Distance
    ) -> list[Floats]:
        """Return the score of each candidate in each query's pool."""
        return [scores[pool] for scores, pool in zip(self.rank(queries, candidates), pools, strict=True)]

    def top(
        self, queries: EncodingInput, documents: EncodingInput, k: int, distance: Distance, excluded: Excluded
    ) -> tuple[Floats, Rows]:
        """Return scores and rows (m, k) of the documents with the k highest scores; ties go to the lower row."""
        best = np.full((len(queries.items), k), -np.inf, np.float32)
        rows = np.full(best.shape, -1, np.int64)
        for i, ranking in enumerate(self.rank(queries, documents)):
            scores = np.array(ranking, np.result_type(ranking, np.float32))
            if excluded is not None:
                scores[excluded[i]] = -np.inf
            least = np.partition(scores, -k)[-k] if k < len(scores) else -np.inf
            candidates = np.flatnonzero((scores >= least) & (scores > self.floor))
            best_rows = candidates[np.argsort(-scores[candidates], kind="stable")][:k]
            best[i, : len(best_rows)], rows[i, : len(best_rows)] = scores[best_rows], best_rows
        return best, rows


BM25_SETTINGS = {"k1": 1.2, "b": 0.75, "scoring": "lucene", "stopwords": "english", "stemming": "none"}
"""k1: saturation of term frequency; b: length normalization, 0 to 1."""


class BM25System(RankingSystem):
    """Rank by shared words: BM25 with Lucene's formula, without English stop words, no stemming.

    A document's text is its fields (title, abstract) joined by a space; so is a paper's that is a query. A
    word has at least two letters or digits and is lowercased. Lucene's idf is positive, so a score above 0 means a
    shared word. Distances are ignored.
    """

    name = "bm25"
    floor = 0.0

    def __init__(self) -> None:
        self._last: tuple[bytes, Callable[[str], Floats]] | None = None  # a digest of documents, and their index

    @property
    def fingerprint(self) -> str:
        """Return a hash of its settings and the version of `bm25s`, which tokenizes and scores."""
        settings = json.dumps([BM25_SETTINGS, version("bm25s")], sort_keys=True)
        return hashlib.sha256(settings.encode()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return its settings."""
        return {"name": self.name, **BM25_SETTINGS, "fingerprint": self.fingerprint}

    def rank(self, queries: EncodingInput, documents: EncodingInput) -> Iterator[Floats]:
        """Return the scores of all documents for each query, 0 where no word is shared.

        Document frequencies and lengths are those of all documents.
        """
        return map(self._index(documents), queries.texts())

    def _index(self, documents: EncodingInput) -> Callable[[str], Floats]:
        texts = documents.texts()
        digest = hashlib.sha256()
        for text in texts:
            content = text.encode("utf-8", "surrogatepass")
            digest.update(len(content).to_bytes(8, "little") + content)
        if self._last is None or self._last[0] != digest.digest():
            self._last = digest.digest(), _index_words(texts)
        return self._last[1]


def _index_words(texts: list[str]) -> Callable[[str], Floats]:
    """Return a function from a query to the BM25 score of every text, (n,)."""
    from bm25s import BM25
    from bm25s.tokenization import Tokenizer

    tokenizer = Tokenizer(stopwords="english")
    options: dict[str, Any] = {"show_progress": False, "allow_empty": False}
    documents = tokenizer.tokenize(texts, update_vocab=True, **options)
    bm25 = BM25(k1=BM25_SETTINGS["k1"], b=BM25_SETTINGS["b"], method="lucene")
    if found := any(documents):  # `bm25s` indexes nothing without a word
        bm25.index((documents, tokenizer.get_vocab_dict()), show_progress=False)

    def score(query: str) -> Floats:
        words = tokenizer.tokenize([query], update_vocab=False, **options)[0] if found else ()
        return np.array(bm25.get_scores_from_ids(words) if words else np.zeros(len(texts)), np.float32)

    return score


class HybridSystem(RankingSystem):
    """Rank by an encoder's vectors and by BM25 together, as `sciprism search` does (`index.fusion`)."""

    def __init__(self, meaning: VectorSystem) -> None:
        self.meaning, self.words = meaning, BM25System()
        self.name = f"hybrid:{meaning.name}"

    @property
    def fingerprint(self) -> str:
        """Return a hash of both parts and of what fuses them."""
        parts = [self.meaning.fingerprint, self.words.fingerprint, *fusion.CONSTANTS]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]

    def rank(self, queries: EncodingInput, documents: EncodingInput) -> Iterator[Floats]:
        """Yield the scores of all documents for each query."""
        near = self.meaning.top(queries, documents, fusion.FUSION_DEPTH, "encoder", None)
        for query, words, scores, rows in zip(queries.texts(), self.words.rank(queries, documents), *near, strict=True):
            share, found = fusion.choose_share(query), rows >= 0
            fused = share * fusion.scale(words)
            fused[rows[found]] += (1 - share) * fusion.scale(scores[found])
            yield fused.astype(np.float32)


class StatedRanks(RankingSystem):
    """The recommender of a user study (Kanakia et al., 2019), by the ranks that the study's data state."""

    name = fingerprint = "kanakia"

    def rank(self, queries: EncodingInput, documents: EncodingInput) -> Iterable[Floats]:
        """Raise NotServedError."""
        raise NotServedError(f"{self.name} ranks the recommendations of its own user study alone")

    def stated_scores(self, data: RerankInput, queries: Sequence[int]) -> list[Floats]:
        """Return the score of each candidate of these queries, a higher one for a better rank; without a rank -inf."""
        if data.stated is None:
            raise NotServedError(
                "the data state no ranks; `sciprism prepare scimult` writes them where it reads the study"
            )
        names, stated = data.candidate_ids, data.stated
        return [
            np.array([-stated[query].get(names[row], np.inf) for row in data.pools[query]], np.float32)
            for query in queries
        ]


def resolve_distance(stated: str, encoder_distance: str) -> str:
    """Return the distance that vectors are compared by, given what a task states and the encoder's own."""
    if stated == "encoder":
        return encoder_distance
    if stated == "cosine or dot":
        return "dot" if encoder_distance == "dot" else "cosine"
    return stated


def encode_rows(system: System, texts: EncodingInput, rows: Rows) -> Floats:
    """Return the vectors of some rows of the texts; other rows are zero. (n, dim)."""
    encoded = system.encode(texts.take(rows))
    vectors = np.zeros((len(texts.items), encoded.shape[1]), np.float32)
    vectors[rows] = encoded
    return vectors


MAX_DOCUMENTS = 1 << 14  # maximum number of documents per query: more would not fit in memory for large query sets


class VectorSystem(System):
    """Score by vectors: a subclass has a `name`, a `fingerprint` and the method `encode`.

    distance: how the vectors are compared, where the task leaves it to the system.
    """

    distance: str = "cosine"

    def encode_both(self, queries: EncodingInput, documents: EncodingInput) -> tuple[Floats, Floats]:
        """Return the vectors of queries and documents."""
        return self.encode(queries), self.encode(documents)

    def pool_scores(
        self, queries: EncodingInput, candidates: EncodingInput, pools: Sequence[Rows], distance: Distance
    ) -> list[NDArray[np.float64]]:
        """Return the score of each candidate in each query's pool, computed in double precision."""
        (left, right), measure = self.encode_both(queries, candidates), self._distance(distance)
        return [exact.similarity(query, right[pool], measure) for query, pool in zip(left, pools, strict=True)]

    def top(
        self, queries: EncodingInput, documents: EncodingInput, k: int, distance: Distance, excluded: Excluded
    ) -> tuple[Floats, Rows]:
        """Search all documents exactly; a query's ranking has none of its excluded rows."""
        if k > MAX_DOCUMENTS:
            raise InputError(f"{k} documents per query are too many; at most {MAX_DOCUMENTS:,} are ranked")
        return self.search(*self.encode_both(queries, documents), k, distance, excluded)

    def search(
        self, left: Floats, right: Floats, k: int, distance: Distance, excluded: Excluded
    ) -> tuple[Floats, Rows]:
        """Return scores and rows (m, k) of the nearest of the rows `right` for each row of `left`."""
        mask, spare = _shared_mask(excluded, len(right))
        deep = min(k + spare, len(right))
        if not deep or not len(left):
            return np.full((len(left), k), -np.inf, np.float32), np.full((len(left), k), -1, np.int64)
        scores, rows = exact.topk(left, [Matrix(right)], deep, mask=mask, distance=self._distance(distance))
        if spare:
            for i, banned in enumerate(excluded or ()):
                out = np.isin(rows[i], banned)
                order = np.argsort(out, kind="stable")
                scores[i] = np.where(out, -np.inf, scores[i])[order]
                rows[i] = np.where(out, -1, rows[i])[order]
        return scores[:, :k], rows[:, :k]

    def _distance(self, wanted: Distance) -> exact.Distance:
        return cast(exact.Distance, resolve_distance(wanted, self.distance))


class DenseSystem(VectorSystem):
    """Score by the vectors of an encoder, which a cache folder stores across tasks and runs.

    Its name is the model's or its folder's, with the options of loading (pooling, length, precision).
    """

    def __init__(self, encoder: EncoderProtocol, cache: Path | None = None) -> None:
        self.encoder = encoder
        self.name = display_name(encoder)
        self.distance = encoder.distance
        self._cached = CachedEncoder(encoder, cache)

    @property
    def fingerprint(self) -> str:
        """Return the encoder's fingerprint with the precision it computes in."""
        return self._cached.fingerprint

    @property
    def damaged_vectors(self) -> int:
        """Return how many cached vectors were found damaged so far, and computed again."""
        return self._cached.damaged

    def describe(self) -> dict[str, Any]:
        """Return the encoder's description."""
        return self.encoder.describe()

    def encode(self, texts: EncodingInput) -> Floats:
        """Return one row per item; texts seen before come from the cache."""
        return self._cached.encode(texts.items, format=texts.format, role=texts.role, fields=texts.fields)

    def encode_both(self, queries: EncodingInput, documents: EncodingInput) -> tuple[Floats, Floats]:
        """Return the vectors of queries and documents. InputError for different spaces."""
        spaces = [self.encoder.space(texts.format, texts.role) for texts in (queries, documents)]
        if len(set(spaces)) > 1:
            raise InputError(
                f"{self.name}: vectors of {queries.format} {queries.role} and {documents.format} "
                f"{documents.role} are in different spaces ({', '.join(spaces)}) and cannot be compared"
            )
        return super().encode_both(queries, documents)

    def watch(self, progress: Progress) -> None:
        """Show from now on how many texts are encoded."""
        self._cached.watch(progress)


def _shared_mask(excluded: Excluded, count: int) -> tuple[NDArray[np.bool_] | None, int]:
    """Return a mask without the rows that all queries exclude, and the most other rows that one excludes."""
    if not excluded:
        return None, 0
    common = reduce(np.intersect1d, excluded)
    mask = np.ones(count, bool)
    mask[common] = False
    return mask, max(len(np.setdiff1d(rows, common)) for rows in excluded)


class NestedSystem(DenseSystem):
    """Score by the first numbers of a system's vectors, whose whole ones the cache has. InputError for too many."""

    def __init__(self, system: DenseSystem, width: int, cache: Path | None = None) -> None:
        super().__init__(system.encoder, cache)
        self.width, self.name = width, f"{system.name}, first {width}"
        if not 0 < width < (dim := int(system.encoder.describe()["dim"])):
            raise InputError(f"{width} dimensions: vectors of {system.name} have {dim} numbers")

    @property
    def fingerprint(self) -> str:
        """Return the encoder's fingerprint with the precision it computes in, and the width."""
        return f"{super().fingerprint}-{self.width}"

    def describe(self) -> dict[str, Any]:
        """Return the encoder's description with the width."""
        return {**super().describe(), "dim": self.width, "truncate_dim": self.width}

    def encode(self, texts: EncodingInput) -> Floats:
        """Return the first numbers of each item's vector, scaled to length 1 again where the encoder's are."""
        rows = super().encode(texts)[:, : self.width]
        if not self.encoder.describe().get("normalize"):
            return np.ascontiguousarray(rows)
        return normalize_rows(rows)


def display_name(encoder: EncoderProtocol) -> str:
    """Return a model's name for tables, with the options of loading."""
    name = find_title(encoder)
    options = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in getattr(encoder, "options", {}).items())
    return f"{name} ({options})" if options else name
