"""Split texts into sentences, and pack full sentences into blocks of tokens (RoBERTa; INDUS)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import chain
from multiprocessing import parent_process

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sciprism.parallel import map_processes
from sciprism.text.tokenizer import batch_texts

# Words whose full stop ends no sentence. A single capital letter is an initial.
_ABBREVIATIONS = (
    "al approx ca cf chap dr e.g eg eq eqs et etc ex fig figs i.e ie jr mr mrs ms no nos p pp prof ref refs "
    "resp sec sect sp spp sr st subsp tab u.k u.s var viz vol vols vs w.r.t"
)
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
MAX_WORD_CHARS = 32
"""Characters read before a mark: a list of names has a mark at every initial, and may be a book long."""
Ids = NDArray[np.uint32]
_END = re.compile(r"[.!?]['\"”’)\]]*\s+(?=['\"“‘(\[]*[^\W_a-z])|\n\s*\n|[。！？]")
_LAST_WORD = re.compile(r"([^\W_]+(?:\.[^\W_]+)*)\.$")


def split_sentences(text: str) -> list[str]:
    """Split at a mark before a capital or a digit, unless it ends an abbreviation or an initial."""
    sentences, start = [], 0
    for end in _END.finditer(text):
        last = _LAST_WORD.search(text[max(start, end.start() - MAX_WORD_CHARS) : end.start() + 1])
        word = last[1] if last else ""
        is_initial = len(word) == 1 and word.isalpha() and word.isupper()
        if is_initial or word.lower() in ABBREVIATIONS:
            continue
        if piece := " ".join(text[start : end.end()].split()):
            sentences.append(piece)
            start = end.end()
    rest = " ".join(text[start:].split())
    return [*sentences, rest] if rest else sentences


# ---- blocks of full sentences ----


@dataclass(frozen=True, slots=True)
class EncodedDocument:
    """A document's token ids end to end, and the number of tokens of each sentence."""

    ids: Ids
    lengths: list[int]


@dataclass(slots=True)
class SentencePacker:
    """Fill blocks with sentences in their order.

    length: maximum tokens of a block, 3 or more, with its special tokens `begin` and `end`. across_documents: a block
    may hold several documents, separated by `end`; else a document ends its block. A sentence longer than a block
    begins a new one and is split into pieces, of which the last shares its block with what follows.
    """

    begin: int
    end: int
    length: int
    across_documents: bool = True
    _parts: list[Ids] = field(default_factory=list)
    _size: int = 0

    def add(self, document: EncodedDocument) -> Iterator[Ids]:
        """Add a document; yield the blocks that are full."""
        if not document.lengths:
            return
        room = self.length - 2
        if self._size and self._size + 1 < room:
            self._append(np.array([self.end], np.uint32))
        elif self._size:
            yield from self.flush()
        start = 0
        for length in document.lengths:
            if self._size and self._size + length > room:
                yield from self.flush()
            for piece in range(start, start + length, room):
                if self._size == room:
                    yield from self.flush()
                self._append(document.ids[piece : min(piece + room, start + length)])
            start += length
        if not self.across_documents:
            yield from self.flush()

    def flush(self) -> Iterator[Ids]:
        """Yield the unfinished block, if there is one."""
        parts, self._parts, self._size = self._parts, [], 0
        if parts and len(parts[-1]) == 1 and parts[-1][0] == self.end:
            parts.pop()  # a separator whose next sentence did not fit
        if parts:
            begin, end = np.array([[self.begin], [self.end]], np.uint32)
            yield np.concatenate([begin, *parts, end])

    def _append(self, ids: Ids) -> None:
        self._parts.append(ids)
        self._size += len(ids)


def encode_documents(tokenizer: Tokenizer, texts: Iterable[str]) -> Iterator[EncodedDocument]:
    """Yield the tokens of each text, sentence by sentence, in order; many texts are divided among processes.

    Special tokens in a text are plain text. Each sentence but a document's first is tokenized with a leading
    space. A few batches of texts are in memory at any time.
    """
    for documents in map_processes(partial(_encode_batch, tokenizer.to_str()), batch_texts(texts)):
        yield from documents


@lru_cache(maxsize=1)
def _load_tokenizer(serialized: str) -> Tokenizer:
    if parent_process():
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes share the cores
    tokenizer = Tokenizer.from_str(serialized)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _encode_batch(serialized: str, texts: list[str]) -> list[EncodedDocument]:
    sentences = [split_sentences(text) for text in texts]
    spaced = [s if n == 0 else f" {s}" for document in sentences for n, s in enumerate(document)]
    encoded = iter(_load_tokenizer(serialized).encode_batch_fast(spaced, add_special_tokens=False))
    ids = [[next(encoded).ids for _ in document] for document in sentences]
    return [
        EncodedDocument(np.fromiter(chain.from_iterable(parts), np.uint32), [len(p) for p in parts if p])
        for parts in ids
    ]
