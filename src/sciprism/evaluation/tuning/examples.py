"""Tokenize texts for fine-tuning, with the positions that a head reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer, normalizers

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError

Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TuningExample:
    """Token ids of one text, or of one window of a long text.

    row: row of the data. types: segment ids; empty: all are zero. positions: positions in `ids` whose states the
    head reads. targets: one per position, or one for the text. names: one per position: the number of its word,
    or the character offsets of its token. idle: the example is predicted, but not used for training.
    """

    row: int
    ids: Sequence[int]
    types: Sequence[int]
    positions: Sequence[int]
    targets: Sequence[Any]
    names: Sequence[Any] | Offsets = ()
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """Token ids of a window, with the segment (0, 1; -1 for special tokens) and characters (n, 2) of each."""

    ids: list[int]
    types: list[int]
    segments: NDArray[np.int64]
    offsets: Offsets

    def segment_positions(self, segment: int) -> NDArray[np.int64]:
        """Return the positions of a segment's tokens that have characters."""
        return np.flatnonzero((self.segments == segment) & (self.offsets[:, 1] > self.offsets[:, 0]))


class WindowTokenizer:
    """An encoder's tokenizer for fine-tuning: pairs of texts, windows, and the characters of each token.

    length: tokens of one window, with special ones; at most the model's positions and the `max_length` that
    it was loaded with. The overlap of windows shrinks in proportion.
    """

    def __init__(self, encoder: Encoder, length: int) -> None:
        self._reserved = encoder.method.reserved_positions
        self._filler = [encoder.model.config.padding_id] * self._reserved
        self._full_length = length
        most = min(encoder.model.config.max_length, int(encoder.options.get("max_length", length)))
        self.length = min(length, most) - self._reserved
        self._typed = encoder.model.config.types > 1
        self._tokenizer = Tokenizer.from_str(encoder.tokenizer.to_str())
        self._tokenizer.no_padding()
        if encoder.settings.template.lowercase:  # by the tokenizer, so that offsets are those of the text
            normalizer = self._tokenizer.normalizer
            steps = [normalizers.Lowercase(), *([normalizer] if normalizer else [])]
            self._tokenizer.normalizer = normalizers.Sequence(steps)

    def truncate(self, text: tuple[str, ...]) -> tuple[Window, bool]:
        """Return one window of a text or pair, the longer one truncated first, and whether it was."""
        self._tokenizer.enable_truncation(self.length, strategy="longest_first")
        encoding = self._encode(text)
        return self._window(encoding), bool(encoding.overflowing)

    def overlap(self, stride: int) -> int:
        """Return the tokens that neighbouring windows share; `stride` is that of windows of full length."""
        if not 0 <= stride < self._full_length // 2:
            raise InputError(f"windows of {self._full_length} tokens cannot share {stride}; at most half of them")
        return stride * self.length // self._full_length

    def windows(self, text: str, stride: int) -> list[Window]:
        """Return windows over one text; neighbours share `stride` tokens, fewer in shorter windows."""
        return self._split((text,), stride, "longest_first")

    def pair_windows(self, first: str, second: str, stride: int) -> list[Window]:
        """Return windows over the second text, each after the whole first text."""
        return self._split((first, second), stride, "only_second")

    def shorten(self, text: str, tokens: int) -> str:
        """Return a text truncated to a number of tokens."""
        self._tokenizer.no_truncation()
        offsets = self._encode((text,), special=False).offsets
        return text if len(offsets) <= tokens else text[: offsets[tokens - 1][1]]

    def _split(self, texts: tuple[str, ...], stride: int, strategy: str) -> list[Window]:
        self._tokenizer.enable_truncation(self.length, stride=self.overlap(stride), strategy=strategy)
        encoding = self._encode(texts)
        return [self._window(part) for part in (encoding, *encoding.overflowing)]

    def _encode(self, texts: tuple[str, ...], special: bool = True) -> Encoding:
        first, second = (*texts, None)[:2]
        try:
            return self._tokenizer.encode(first, second, add_special_tokens=special)
        except TypeError as error:  # what `tokenizers` raises for a lone surrogate
            raise InputError(f"half a character (a lone surrogate) in {' '.join(texts)!r:.80}") from error

    def _window(self, encoding: Encoding) -> Window:
        """Return a window, with room after the first token for the method's reserved positions."""
        segments = [-1 if number is None else number for number in encoding.sequence_ids]
        offsets, types = list(encoding.offsets), list(encoding.type_ids) if self._typed else []
        count = self._reserved
        return Window(
            ids=[*encoding.ids[:1], *self._filler, *encoding.ids[1:]],
            types=[*types[:1], *[0] * count, *types[1:]] if any(types) else [],
            segments=np.array([*segments[:1], *[-1] * count, *segments[1:]]),
            offsets=np.array([*offsets[:1], *[(0, 0)] * count, *offsets[1:]], np.int64).reshape(-1, 2),
        )


def join_words(words: Sequence[str]) -> tuple[str, NDArray[np.int64]]:
    """Return words as a text, a space before each, and the position of each word's space.

    The first word has a space too: it marks the start of a word in byte-level vocabularies.
    """
    lengths = np.array([len(word) + 1 for word in words], np.int64)
    return "".join(f" {word}" for word in words), np.cumsum(lengths) - lengths


def find_first_pieces(windows: Sequence[Window], starts: NDArray[np.int64]) -> list[tuple[list[int], list[int]]]:
    """Return for each window the words that begin in it and the position of each one's first token.

    windows: over one text. starts: from `join_words`. A token belongs to the word of its last character; a
    single space to none. A word begins with its first token in any window: the rest of a word at the start of
    a window began in the window before.
    """
    pieces_by_window = []
    begins: dict[int, int] = {}
    for window in windows:
        positions = window.segment_positions(0)
        last = window.offsets[positions, 1] - 1
        words = np.searchsorted(starts, last, side="right") - 1
        inside = last > starts[words]
        pieces = positions[inside], words[inside], window.offsets[positions[inside], 0]
        pieces_by_window.append(pieces)
        for word, first in zip(*(column.tolist() for column in pieces[1:]), strict=True):
            begins[word] = min(first, begins.get(word, first))
    first_tokens = []
    for positions, words, firsts in pieces_by_window:
        begun = firsts == np.array([begins[word] for word in words.tolist()], np.int64)
        seen, index = np.unique(words[begun], return_index=True)
        first_tokens.append((seen.tolist(), positions[begun][index].tolist()))
    return first_tokens


def assign_words(windows: Sequence[tuple[list[int], list[int]]], lengths: Sequence[int]) -> list[list[int]]:
    """Assign each word to the window with most context on its shorter side; return the indices per window.

    windows: words and positions of each (`find_first_pieces`). lengths: tokens of each window.
    """
    best: dict[int, tuple[int, int]] = {}
    for number, ((words, positions), length) in enumerate(zip(windows, lengths, strict=True)):
        for word, position in zip(words, positions, strict=True):
            around = min(position, length - 1 - position)
            if word not in best or around > best[word][0]:
                best[word] = around, number
    return [
        [index for index, word in enumerate(words) if best[word][1] == number]
        for number, (words, _) in enumerate(windows)
    ]
