"""Lexical search: BM25 over title and abstract, for exact names, formulas and rare words."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError, ShownWarning
from sciprism.files import PARTIAL_SUFFIX, explain_write_errors, sync_tree
from sciprism.index.build_record import RECORD_NAME, IndexChecks, write_record
from sciprism.papers.cleaning import fold_text
from sciprism.parallel import Progress, show_nothing
from sciprism.store import StoredCollection

WORDS = 2
"""Version of how a text is split into words, stored with an index; one of another version is refused. 2: folded."""
_CHARACTERS = "\u3040-\u30ff\u3400-\u9fff"  # Japanese and Chinese: each is a word


def _compile(letters: int) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the words of at least so many letters or digits: of ASCII texts (faster), of others."""
    several = f"{{{letters},}}"
    return re.compile(rf"\w{several}"), re.compile(rf"[{_CHARACTERS}]|[^\W{_CHARACTERS}]{several}")


_ALL_WORDS, _INDEXED_WORDS = _compile(1), _compile(2)
BATCH = 1 << 16  # documents whose terms are counted at once
ZEROS = bytes(1 << 20)
COUNT = np.dtype([("term", np.int32), ("document", np.int32), ("count", np.int32)])
POSTINGS = ("data.csc.index.npy", "indices.csc.index.npy")
"""Files of an index that are mapped: for each word the scores of the papers that have it, and their rows."""


class PostingsBuilder:
    """Counts the terms of documents, and then writes for each term the documents that have it, with their scores.

    file: for the counts. Memory is that of one batch, of the lengths of all documents, and of a number for each term.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._waiting: list[Sequence[int]] = []
        self._batches: list[int] = []
        self._lengths = [np.zeros(0, np.int32)]
        self._frequencies = np.zeros(0, np.int64)
        self.documents = 0

    def add(self, documents: Sequence[Sequence[int]]) -> None:
        """Count documents, given as numbers of terms."""
        self._waiting += documents
        self.documents += len(documents)
        if len(self._waiting) >= BATCH:
            self._count()

    def write(self, data: Path, indices: Path, terms: int, k1: float, b: float) -> NDArray[np.int64]:
        """Write the scores and the documents by term, ascending, as arrays of numpy; return where each term begins.

        A score is idf * tf / (tf + k1 (1 - b + b length / mean length)), as of Lucene and bm25s.
        """
        self._count()
        frequencies = _grow(self._frequencies, terms)
        starts = np.concatenate([[0], np.cumsum(frequencies)])
        rarity = np.log(1 + (self.documents - frequencies + 0.5) / (frequencies + 0.5)).astype(np.float32)
        lengths = np.concatenate(self._lengths)
        lengths = k1 * ((1 - b) + b * lengths / (lengths.sum(dtype=np.int64) / self.documents))
        scores, rows = _allocate(data, np.float32, starts[-1]), _allocate(indices, np.int32, starts[-1])
        ends = starts[:-1].copy()
        self._file.seek(0)
        for size in self._batches:
            batch = np.fromfile(self._file, COUNT, size)
            term, document, count = (batch[name] for name in ("term", "document", "count"))
            terms_here, first, many = np.unique(term, return_index=True, return_counts=True)
            places = np.repeat(ends[terms_here] - first, many) + np.arange(size)
            scores[places] = rarity[term] * (count / (lengths[document] + count))
            rows[places] = document
            ends[terms_here] += many
        for array in (scores, rows):
            array.flush()
        return starts

    def _count(self) -> None:
        """Write the counts of the documents that wait, by term and document."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        first = self.documents - len(waiting)
        lengths = np.fromiter(map(len, waiting), np.int32, len(waiting))
        terms = np.fromiter(chain.from_iterable(waiting), np.int64, int(lengths.sum()))
        owners = np.repeat(np.arange(len(waiting)), lengths)
        pairs, counts = np.unique(terms * len(waiting) + owners, return_counts=True)
        batch = np.empty(len(pairs), COUNT)
        batch["term"], batch["document"] = np.divmod(pairs, len(waiting))
        batch["document"] += first
        batch["count"] = counts
        self._file.write(batch.tobytes())  # unlike tofile, it says that a disk is full
        self._batches.append(len(batch))
        self._lengths.append(lengths)
        frequencies = np.bincount(batch["term"])
        self._frequencies = _grow(self._frequencies, len(frequencies))
        self._frequencies[: len(frequencies)] += frequencies


def _grow(numbers: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return np.concatenate([numbers, np.zeros(max(0, size - len(numbers)), np.int64)])


def _allocate(path: Path, dtype: Any, count: int) -> np.memmap[Any, Any]:
    """Write an array of zeros and map it: a full disk fails here, with an error, not when a page is written."""
    size = int(count) * np.dtype(dtype).itemsize
    with path.open("wb") as file:
        header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": (int(count),)}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, size, len(ZEROS)):
            file.write(ZEROS[: size - start])
    return np.lib.format.open_memmap(path, "r+")


def is_ready(collection: StoredCollection) -> bool:
    """Return whether a collection has an index; warn of one that cannot be searched, and say what to do."""
    if not (_index_folder(collection) / RECORD_NAME).is_file():
        return False
    try:
        _load_index(collection)
    except InputError as error:
        warnings.warn(ShownWarning(f"{error}; until then papers are ranked by meaning alone"), stacklevel=2)
        return False
    return True


def update(collection: StoredCollection, progress: Progress = show_nothing) -> None:
    """Build the index where it is missing or of another state of the collection, and papers have words."""
    try:
        _load_index(collection)
    except InputError:
        build(collection, progress=progress)


def build(collection: StoredCollection, *, progress: Progress = show_nothing) -> bool:
    """Build the BM25 index of all papers and store it in the collection's folder; False where none has words."""
    import bm25s

    folder = _index_folder(collection)
    for path in (folder / RECORD_NAME, *folder.glob(f"*{PARTIAL_SUFFIX}")):  # it does not count until it is built
        path.unlink(missing_ok=True)
    tokenizer = _build_tokenizer()
    with explain_write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with explain_write_errors(folder), TemporaryFile(dir=folder) as file:
        builder, has_words = PostingsBuilder(file), False
        for texts in _read_texts(collection):
            documents = tokenizer.tokenize(texts, update_vocab=True, show_progress=False)
            has_words = has_words or any(documents)
            builder.add(documents)
            progress("lexical index", "papers", builder.documents, collection.rows)
        if not has_words:
            return False
        index = bm25s.BM25()
        # the files of an index as bm25s writes them, and its postings in their place
        data, rows = written = [folder / f"{name}{PARTIAL_SUFFIX}" for name in POSTINGS]
        vocabulary = tokenizer.get_vocab_dict()
        starts = builder.write(data, rows, len(vocabulary), index.k1, index.b)
        vocabulary.setdefault("", len(vocabulary))
        kind = np.int64 if starts[-1] > np.iinfo(np.int32).max else np.int32
        nothing = {"data": np.empty(0, np.float32), "indices": np.empty(0, np.int32)}
        index.scores = nothing | {"indptr": starts.astype(kind), "num_docs": builder.documents}
        index.vocab_dict, index.nonoccurrence_array = vocabulary, None
        index.save(folder, show_progress=False)
        for path, name in zip(written, POSTINGS, strict=True):
            path.replace(folder / name)
        sync_tree(folder)
    write_record(folder, collection, {"k1": index.k1, "b": index.b, "method": index.method, "words": WORDS})
    return True


def search(
    collection: StoredCollection, queries: Sequence[str], k: int, mask: NDArray[np.bool_] | None
) -> tuple[Floats, Rows]:
    """Return the k best rows of each query, as `exact.topk`; rows that share no word with it are dropped."""
    index = _load_index(collection)
    best = np.full((len(queries), k), -np.inf, np.float32)
    rows = np.full((len(queries), k), -1, np.int64)
    for i, query in enumerate(queries):
        scores = np.zeros(collection.rows, np.float32)
        for word in _find_words(_INDEXED_WORDS, query):
            having, added = index.read(word)
            scores[having] += added
        best_rows = _top_rows(scores if mask is None else np.where(mask, scores, 0), k)
        best[i, : len(best_rows)], rows[i, : len(best_rows)] = scores[best_rows], best_rows
    return best, rows


def tokenize(texts: Sequence[str]) -> list[list[str]]:
    """Split texts into the words of the index."""
    tokenizer = _build_tokenizer()
    numbers = tokenizer.tokenize(list(texts), update_vocab=True, show_progress=False, allow_empty=False)
    words: list[list[str]] = tokenizer.decode(numbers)
    return words


def split_words(text: str) -> list[str]:
    """Return all words of a text as they are compared, also those that are not indexed."""
    return _find_words(_ALL_WORDS, text)


def _build_tokenizer() -> Any:
    """Return what splits texts into the words of the index: folded, without English stop words and single letters."""
    from bm25s.tokenization import Tokenizer

    return Tokenizer(lower=False, splitter=partial(_find_words, _INDEXED_WORDS), stopwords="english")


def _find_words(patterns: tuple[re.Pattern[str], re.Pattern[str]], text: str) -> list[str]:
    folded = fold_text(text)
    words: list[str] = patterns[not folded.isascii()].findall(folded)
    return words


def join_text(title: str, abstract: str) -> str:
    """Return the text of a paper that is indexed."""
    return f"{title} {abstract}"


def find_rows(collection: StoredCollection, word: str) -> NDArray[np.bool_]:
    """Mark the rows whose text has a word of the index."""
    has_word = np.zeros(collection.rows, bool)
    has_word[_load_index(collection).read(word)[0]] = True
    return has_word


def _top_rows(scores: Floats, k: int) -> Rows:
    """Return the rows of the k highest scores above zero; ties go to the lower row."""
    floor = np.partition(scores, -k)[-k] if k < len(scores) else 0
    rows = np.flatnonzero((scores >= floor) & (scores > 0))
    return rows[np.lexsort((rows, -scores[rows]))][:k]


def _read_texts(collection: StoredCollection) -> Iterator[list[str]]:
    """Yield title and abstract of every row, shard by shard; "" for a superseded row."""
    live = collection.mask()
    first = 0
    for titles, abstracts in collection.columns("title", "abstract"):
        texts = [join_text(title, abstract) for title, abstract in zip(titles, abstracts, strict=True)]
        if live is not None:
            texts = [text if alive else "" for text, alive in zip(texts, live[first:], strict=False)]
        first += len(texts)
        yield texts


class _Index:
    """The words of an index and two mapped files, scores and rows by word; a part is compared before it is read.

    It is read without bm25s, whose import takes a quarter of a second. Raises InputError where its words are split as
    an earlier version did.
    """

    def __init__(self, collection: StoredCollection) -> None:
        folder = _index_folder(collection)
        checks = IndexChecks(folder, collection, "lexical")
        if checks.settings.get("words") != WORDS:
            raise InputError(
                f"the lexical index of {collection.folder} is of an earlier version of sciprism, which split words "
                f"otherwise; {checks.remedy}"
            )
        checks.check_whole(*POSTINGS)
        self._numbers: dict[str, int] = json.loads((folder / "vocab.index.json").read_bytes())
        self._starts = np.load(folder / "indptr.csc.index.npy")
        self._files = [(checks.open(name), np.memmap(folder / name, np.uint8, "r")) for name in POSTINGS]
        for blocks, content in self._files:  # what they hold before their numbers
            blocks.check(content, 0, 1)
        self._postings = [np.load(folder / name, mmap_mode="r") for name in POSTINGS]

    def read(self, word: str) -> tuple[Rows, Floats]:
        """Return the rows that have a word, and what it adds to their scores. Raises DamagedFileError."""
        number = self._numbers.get(word, -1)
        start, stop = self._starts[number : number + 2] if 0 <= number < len(self._starts) - 1 else (0, 0)
        for (blocks, content), numbers in zip(self._files, self._postings, strict=True):
            head = content.size - numbers.nbytes
            blocks.check(content, head + int(start) * numbers.itemsize, head + int(stop) * numbers.itemsize)
        scores, rows = (numbers[start:stop] for numbers in self._postings)
        return rows, scores


_load_index = lru_cache(maxsize=4)(_Index)


def _index_folder(collection: StoredCollection) -> Path:
    return collection.folder / "index" / "lexical"
