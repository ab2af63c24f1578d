"""Find the labels whose names occur in texts, by the rule of MAPLE's and SciMult's candidates."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from sciprism.papers.records import Label

LabelRows = NDArray[np.int64]

BLOCK = 8192  # texts that are matched together: a name costs time once per block, a block about 6 kB per text


class LabelNames:
    """An index of labels' names and synonyms that finds them in texts.

    A name matches a text if each of its tokens (split at white space) is a token of the text and, if it has
    several tokens, the whole name is also a substring of the text (MAPLE's matching, SciMult, Table 3). So a
    name of one token needs exactly that token, and a longer one may start inside a word if all of its tokens
    occur elsewhere. A repeated token counts twice: "bufo bufo" has several tokens.

    raw: normalize names and texts first (`normalize`); MAPLE's files are normalized already. A name without
    tokens matches no text.
    """

    def __init__(self, labels: Sequence[Label], *, raw: bool = False) -> None:
        self._raw = raw
        self._size = len(labels)
        names = [
            (row, name, name.split())
            for row, label in enumerate(labels)
            for name in map(normalize if raw else str, (label.name, *label.synonyms))
        ]
        counts = Counter(token for _, _, tokens in names for token in tokens)
        self._tokens = frozenset(counts)
        self._by_rarest: defaultdict[str, list[tuple[int, str, frozenset[str]]]] = defaultdict(list)
        for row, name, tokens in names:
            if tokens:
                rarest, whole = min(tokens, key=counts.__getitem__), name if len(tokens) > 1 else ""
                self._by_rarest[rarest].append((row, whole, frozenset(tokens) - {rarest}))

    def match(self, texts: Sequence[str]) -> list[LabelRows]:
        """Return the rows of the labels found in each text, ascending, each once.

        A paper's text is its title, a space and its abstract. One call for many texts is fastest.
        """
        rows: list[LabelRows] = []
        for start in range(0, len(texts), BLOCK):
            block = texts[start : start + BLOCK]
            rows += self._match_block([normalize(text) for text in block] if self._raw else block)
        return rows

    def _match_block(self, texts: Sequence[str]) -> list[LabelRows]:
        """Match a block by an inverted index: token -> texts, intersected for each name.

        A name costs one lookup per block, not per text, and none if its rarest token does not occur. Rarest
        means among the names: finding the rarest in these texts costs more than it saves.
        """
        by_token: defaultdict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(texts):
            for token in self._tokens.intersection(text.split()):
                by_token[token].append(number)
        seen = frozenset(by_token)
        sets: dict[str, frozenset[int]] = {}  # of text numbers, built on first use
        pairs: list[int] = []  # number of the text * number of labels + row of the label
        for token, here in by_token.items():
            for row, whole, others in self._by_rarest.get(token, ()):
                if not others <= seen:
                    continue
                common: Collection[int] = here
                for other in others:
                    if other not in sets:
                        sets[other] = frozenset(by_token[other])
                    common = sets[other].intersection(common)
                pairs.extend([number * self._size + row for number in common if whole in texts[number]])
        owners, rows = np.divmod(np.unique(np.array(pairs, dtype=np.int64)), max(self._size, 1))
        return np.split(rows, np.searchsorted(owners, np.arange(1, len(texts))))


def normalize(text: str) -> str:
    """Return the text in lower case, with punctuation and symbols replaced by single spaces.

    Accents, digits and the letters of all scripts stay. MAPLE and SciMult publish titles, abstracts and names
    normalized like this; use it for texts as printed.
    """
    return " ".join(text.translate(_TO_SPACE).lower().split())


class _PunctuationToSpace(dict[int, int]):
    """A translation table: punctuation and symbols to a space, all else to itself; filled on first use."""

    def __missing__(self, code: int) -> int:
        self[code] = ord(" ") if unicodedata.category(chr(code))[0] in "PS" else code
        return self[code]


_TO_SPACE = _PunctuationToSpace()
