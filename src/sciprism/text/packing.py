"""Pack full sentences into blocks of a length (RoBERTa's "full sentences"; INDUS, section 4)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sciprism.cores import on_processes
from sciprism.errors import InputError
from sciprism.text.sentences import split_sentences

BATCH = 1 << 18
"""Characters that are tokenized at a time."""

Ids = NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A document's tokens end to end, and the length of each of its sentences."""

    ids: Ids
    lengths: list[int]


@dataclass(slots=True)
class Packer:
    """Fill blocks with sentences in their order.

    length: most tokens of a block with its special tokens `begin` and `end`. across: a block may hold the end
    of one document and the beginning of the next, `end` between them; else a document ends its block. A
    sentence longer than a block begins one of its own and is cut into pieces, of which the last shares its
    block with what follows.
    """

    begin: int
    end: int
    length: int
    across: bool = True
    _parts: list[Ids] = field(default_factory=list)
    _held: int = 0

    def __post_init__(self) -> None:
        if self.length < 3:
            raise InputError(f"blocks of {self.length} tokens; at least 3 are needed")

    def add(self, document: Encoded) -> Iterator[Ids]:
        """Take in a document; yield the blocks that are full."""
        if not document.lengths:
            return
        room = self.length - 2
        if self._held and self._held + 1 < room:
            self._hold(np.array([self.end], np.uint32))
        elif self._held:
            yield from self.rest()
        start = 0
        for length in document.lengths:
            if self._held and self._held + length > room:
                yield from self.rest()
            for begun in range(start, start + length, room):
                if self._held == room:
                    yield from self.rest()
                self._hold(document.ids[begun : min(begun + room, start + length)])
            start += length
        if not self.across:
            yield from self.rest()

    def rest(self) -> Iterator[Ids]:
        """Yield the block that is not full, if there is one."""
        parts, self._parts, self._held = self._parts, [], 0
        if parts and len(parts[-1]) == 1 and parts[-1][0] == self.end:
            parts.pop()  # the sentence behind the separator did not fit
        if parts:
            begin, end = np.array([[self.begin], [self.end]], np.uint32)
            yield np.concatenate([begin, *parts, end])

    def _hold(self, ids: Ids) -> None:
        self._parts.append(ids)
        self._held += len(ids)


def encode_documents(tokenizer: Tokenizer, texts: Iterable[str], workers: int = 1) -> Iterator[Encoded]:
    """Yield the tokens of each text, sentence by sentence, in order; the same with any number of workers.

    Words that look like special tokens are plain text. Behind a document's first sentence each begins with
    the space that stood before it. A few batches of texts are in memory at any time.
    """
    for documents in on_processes(_Encoding(tokenizer.to_str()), _batches(texts), workers):
        yield from documents


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    held = 0
    for text in texts:
        batch.append(text)
        held += len(text)
        if held >= BATCH:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


class _Encoding:
    """Encode texts; it goes to another process as the tokenizer's JSON."""

    def __init__(self, saved: str) -> None:
        self._saved = saved

    def __reduce__(self) -> tuple[Callable[[str], _Encoding], tuple[str]]:
        return _beside_others, (self._saved,)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_str(self._saved)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        return tokenizer

    def __call__(self, texts: list[str]) -> list[Encoded]:
        sentences = [split_sentences(text) for text in texts]
        spaced = [s if n == 0 else f" {s}" for each in sentences for n, s in enumerate(each)]
        found = iter(self._tokenizer.encode_batch_fast(spaced, add_special_tokens=False))
        documents = []
        for each in sentences:
            ids = [next(found).ids for _ in each]
            flat = np.fromiter(chain.from_iterable(ids), np.uint32)
            documents.append(Encoded(flat, [len(part) for part in ids if part]))
        return documents


def _beside_others(saved: str) -> _Encoding:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes share the cores
    return _Encoding(saved)
