"""BM25, the lexical baseline of result tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from importlib.metadata import version
from time import perf_counter
from typing import Any

import numpy as np

from sciprism.arrays import Floats
from sciprism.evaluation.systems import EncodingInput, RankingSystem, SearchTimes

SETTINGS = {"k1": 1.2, "b": 0.75, "scoring": "lucene", "stopwords": "english", "stemming": "none"}
"""k1: saturation of term frequency; b: length normalization, 0 to 1."""
MAX_INDEXES = 2  # indexes kept in memory, the most recently used ones


class BM25System(RankingSystem):
    """Rank by shared words: BM25 with Lucene's formula, without English stop words, no stemming.

    A document's text is its fields (title, abstract) joined by a space; so is a paper's that is a query. A
    word has at least two letters or digits and is lowercased. Lucene's idf is positive, so a score above 0 means a
    shared word. Distances are ignored.
    """

    name = "bm25"
    floor = 0.0

    def __init__(self) -> None:
        self._indexes: dict[bytes, _Index] = {}

    @property
    def fingerprint(self) -> str:
        """Return a hash of its settings and the version of `bm25s`, which tokenizes and scores."""
        settings = json.dumps([SETTINGS, version("bm25s")], sort_keys=True)
        return hashlib.sha256(settings.encode()).hexdigest()[:16]

    def describe(self) -> dict[str, Any]:
        """Return its settings."""
        return {"name": self.name, **SETTINGS, "fingerprint": self.fingerprint}

    def rank(self, queries: EncodingInput, documents: EncodingInput) -> Iterator[Floats]:
        """Return the scores of all documents for each query, 0 where no word is shared.

        Document frequencies and lengths are those of all documents.
        """
        stored, began = set(self._indexes), perf_counter()
        index = self._index(documents)
        seconds = perf_counter() - began if stored != set(self._indexes) else None
        self.search_times = SearchTimes(documents=seconds, queries=0.0)
        return map(index.scores, queries.texts())

    def _index(self, documents: EncodingInput) -> _Index:
        texts = documents.texts()
        digest = hashlib.sha256()
        for text in texts:
            content = text.encode("utf-8", "surrogatepass")
            digest.update(len(content).to_bytes(8, "little") + content)
        key = digest.digest()
        index = self._indexes.pop(key, None) or _Index(texts)
        self._indexes[key] = index
        while len(self._indexes) > MAX_INDEXES:
            del self._indexes[next(iter(self._indexes))]
        return index


class _Index:
    """The BM25 index of some documents."""

    def __init__(self, texts: list[str]) -> None:
        from bm25s import BM25
        from bm25s.tokenization import Tokenizer

        self.size = len(texts)
        self._tokenizer = Tokenizer(stopwords="english")
        documents = self._tokenizer.tokenize(texts, update_vocab=True, show_progress=False, allow_empty=False)
        self._bm25: Any = None
        if any(documents):  # `bm25s` indexes nothing without a word
            self._bm25 = BM25(k1=SETTINGS["k1"], b=SETTINGS["b"], method="lucene")
            self._bm25.index((documents, self._tokenizer.get_vocab_dict()), show_progress=False)

    def scores(self, query: str) -> Floats:
        """Return the score of every document, (n,); a new array."""
        if self._bm25 is not None:
            (words,) = self._tokenizer.tokenize([query], update_vocab=False, show_progress=False, allow_empty=False)
            if words:
                return np.array(self._bm25.get_scores_from_ids(words), np.float32)
        return np.zeros(self.size, np.float32)
