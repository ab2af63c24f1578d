"""BM25 as sparse vectors, for databases that multiply them: the scores are those of the local lexical index.

A paper's vector holds how much each of its terms counts in it, which depends on the paper and on the mean length of
all. A query's vector holds how rare each of its terms is. So new papers change the vectors of queries, not those of
other papers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats
from sciprism.index import lexical
from sciprism.store import StoredCollection

Terms = NDArray[np.uint32]
TERMS = 2**32 - 2  # terms are numbered below this: the databases reserve the numbers from here on


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Numbers of terms, ascending, and their weights."""

    terms: Terms
    weights: Floats


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """BM25's constants, and the number of documents and their mean length (tokens) of a lexical index."""

    documents: int
    mean_length: float
    k1: float
    b: float


def read_statistics(collection: StoredCollection) -> TermStatistics:
    """Return the statistics of a lexical index; InputError where there is none, or it is out of date."""
    settings = lexical.read_settings(collection)
    values = {name: float(settings[name]) for name in ("mean_length", "k1", "b")}
    return TermStatistics(documents=int(settings["documents"]), **values)


def read_frequencies(collection: StoredCollection) -> tuple[Terms, NDArray[np.uint32]]:
    """Return the terms of a lexical index, ascending, and how many documents have each."""
    words, counts = lexical.read_vocabulary(collection)
    terms = np.fromiter((number_term(word) for word in words), np.uint32, len(words))
    distinct, places = np.unique(terms, return_inverse=True)
    return distinct, np.bincount(places, weights=counts, minlength=len(distinct)).astype(np.uint32)


def number_term(word: str) -> int:
    """Return the number of a term, a hash: of a million terms, about a hundred share one with another."""
    return int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little") % TERMS


def weigh_documents(texts: Sequence[str], statistics: TermStatistics) -> list[SparseVector]:
    """Return tf / (tf + k1 (1 - b + b length / mean length)) of the terms of each text (Lucene's BM25)."""
    vectors = []
    for words in lexical.tokenize(texts):
        length = 1 - statistics.b + statistics.b * len(words) / statistics.mean_length
        terms, counts = _count_terms(words)
        vectors.append(SparseVector(terms, (counts / (counts + statistics.k1 * length)).astype(np.float32)))
    return vectors


def weigh_queries(
    queries: Sequence[str], documents: int, find_frequencies: Callable[[Terms], NDArray[np.uint32]]
) -> list[SparseVector]:
    """Return count * log(1 + (n - df + 0.5) / (df + 0.5)) of the terms of each query.

    documents: their number n. find_frequencies: the terms of all queries -> how many documents have each, df.
    """
    counted = [_count_terms(words) for words in lexical.tokenize(queries)]
    terms_of_all = np.unique(np.concatenate([np.empty(0, np.uint32), *(terms for terms, _ in counted)]))
    document_counts = find_frequencies(terms_of_all).astype(np.float64)
    rarity = np.log1p((documents - document_counts + 0.5) / (document_counts + 0.5))
    return [
        SparseVector(terms, (counts * rarity[np.searchsorted(terms_of_all, terms)]).astype(np.float32))
        for terms, counts in counted
    ]


def _count_terms(words: Sequence[str]) -> tuple[Terms, NDArray[np.float64]]:
    counts: Counter[int] = Counter()
    for word, count in Counter(words).items():
        counts[number_term(word)] += count
    terms = sorted(counts)
    return np.array(terms, np.uint32), np.array([counts[term] for term in terms], np.float64)
