"""Texts to token ids, and the places in them that a head looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer, normalizers

from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError

Offsets = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Example:
    """Token ids of one text or of a window of a long one.

    row: of the data. types: segment ids, empty for all zero. places: positions in `ids` whose states the head
    maps. targets: what training wants, one per place or one in all. names: what the places stand for in the
    row (numbers of words, offsets of pieces). idle: it is not trained on.
    """

    row: int
    ids: Sequence[int]
    types: Sequence[int]
    places: Sequence[int]
    targets: Sequence[Any]
    names: Sequence[Any] | Offsets = ()
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Window:
    """Token ids of a window and of each id its segment (0, 1; -1 for special ones) and characters (n, 2)."""

    ids: list[int]
    types: list[int]
    segments: NDArray[np.int64]
    offsets: Offsets

    def of(self, segment: int) -> NDArray[np.int64]:
        """Return the positions of a segment's tokens that cover a character."""
        return np.flatnonzero((self.segments == segment) & (self.offsets[:, 1] > self.offsets[:, 0]))


class Pieces:
    """An encoder's tokenizer for fine-tuning: pairs of texts, windows, and the characters behind each token.

    length: tokens of one window, special ones included, cut to what the model has positions for, and to what
    was asked for when it was loaded; what windows share shrinks with them.
    """

    def __init__(self, encoder: Encoder, length: int) -> None:
        self._free = encoder.method.places
        self._filler = [encoder.model.config.padding_id] * self._free
        self._asked = length
        most = min(encoder.model.config.max_length, int(encoder.options.get("max_length", length)))
        self.length = min(length, most) - self._free
        self._typed = encoder.model.config.types > 1
        self._tokenizer = Tokenizer.from_str(encoder.tokenizer.to_str())
        self._tokenizer.no_padding()
        if encoder.settings.template.lowercase:  # by the tokenizer, so that offsets are those of the text
            own = self._tokenizer.normalizer
            steps = [normalizers.Lowercase(), *([own] if own else [])]
            self._tokenizer.normalizer = normalizers.Sequence(steps)

    def cut(self, texts: Sequence[tuple[str, ...]]) -> Iterator[tuple[Window, bool]]:
        """Yield one window of each text or pair, the longer one cut first, and whether it was cut."""
        self._tokenizer.enable_truncation(self.length, strategy="longest_first")
        for text in texts:
            encoding = self._encoded(text)
            yield self._window(encoding), bool(encoding.overflowing)

    def shared(self, stride: int) -> int:
        """Return how many tokens neighbours share, where they share `stride` in windows of full length."""
        if not 0 <= stride < self._asked // 2:
            raise InputError(f"windows of {self._asked} tokens cannot share {stride}; at most half of them")
        return stride * self.length // self._asked

    def windows(self, text: str, stride: int) -> list[Window]:
        """Return windows over one text; neighbours share `stride` tokens, fewer in a shorter window."""
        return self._all((text,), stride, "longest_first")

    def beside(self, first: str, second: str, stride: int) -> list[Window]:
        """Return windows over the second text, each behind the whole of the first."""
        return self._all((first, second), stride, "only_second")

    def shortened(self, text: str, tokens: int) -> str:
        """Return the beginning of a text that is so many tokens long, or all of it."""
        self._tokenizer.no_truncation()
        offsets = self._encoded((text,), special=False).offsets
        return text if len(offsets) <= tokens else text[: offsets[tokens - 1][1]]

    def _all(self, texts: tuple[str, ...], stride: int, strategy: str) -> list[Window]:
        self._tokenizer.enable_truncation(self.length, stride=self.shared(stride), strategy=strategy)
        encoding = self._encoded(texts)
        return [self._window(each) for each in (encoding, *encoding.overflowing)]

    def _encoded(self, texts: tuple[str, ...], special: bool = True) -> Encoding:
        first, second = (*texts, None)[:2]
        try:
            return self._tokenizer.encode(first, second, add_special_tokens=special)
        except TypeError as error:  # what `tokenizers` raises for a lone surrogate
            raise InputError(f"half a character (a lone surrogate) in {' '.join(texts)!r:.80}") from error

    def _window(self, encoding: Encoding) -> Window:
        """Make a window; the places behind the first token that the encoder's method fills are kept free."""
        segments = [-1 if number is None else number for number in encoding.sequence_ids]
        offsets, types = list(encoding.offsets), list(encoding.type_ids) if self._typed else []
        free = self._free
        return Window(
            ids=[*encoding.ids[:1], *self._filler, *encoding.ids[1:]],
            types=[*types[:1], *[0] * free, *types[1:]] if any(types) else [],
            segments=np.array([*segments[:1], *[-1] * free, *segments[1:]]),
            offsets=np.array([*offsets[:1], *[(0, 0)] * free, *offsets[1:]], np.int64).reshape(-1, 2),
        )


def joined(words: Sequence[str]) -> tuple[str, NDArray[np.int64]]:
    """Return words as a text, a space before each, and where the space of each stands.

    The first has its space too: byte-level vocabularies tell the start of a word by it.
    """
    lengths = np.array([len(word) + 1 for word in words], np.int64)
    return "".join(f" {word}" for word in words), np.cumsum(lengths) - lengths


def first_pieces(windows: Sequence[Window], starts: NDArray[np.int64]) -> list[tuple[list[int], list[int]]]:
    """Return of each window the words that begin within it and the position of each one's first piece.

    windows: over one text. starts: of `joined`. A piece belongs to the word of its last character; one that
    is a space alone to none. A word begins with the first of its pieces in any window: what a window's first
    piece goes on with began in the one before.
    """
    found = []
    begins: dict[int, int] = {}
    for window in windows:
        positions = window.of(0)
        last = window.offsets[positions, 1] - 1
        words = np.searchsorted(starts, last, side="right") - 1
        inside = last > starts[words]
        pieces = positions[inside], words[inside], window.offsets[positions[inside], 0]
        found.append(pieces)
        for word, first in zip(*(each.tolist() for each in pieces[1:]), strict=True):
            begins[word] = min(first, begins.get(word, first))
    return [_begun(positions, words, firsts, begins) for positions, words, firsts in found]


def _begun(
    positions: NDArray[np.int64], words: NDArray[np.int64], firsts: NDArray[np.int64], begins: dict[int, int]
) -> tuple[list[int], list[int]]:
    """Return words and positions of the pieces whose first character is that of their word's first piece."""
    begun = firsts == np.array([begins[word] for word in words.tolist()], np.int64)
    seen, places = np.unique(words[begun], return_index=True)
    return seen.tolist(), positions[begun][places].tolist()


def owned(windows: Sequence[tuple[list[int], list[int]]], lengths: Sequence[int]) -> list[list[int]]:
    """Give each word to one window, the one in which most tokens stand around it; return indices of each.

    windows: words and positions of each (`first_pieces`). lengths: tokens of each window.
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
