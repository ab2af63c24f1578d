"""Find the labels whose names occur in texts, by the rule that made MAPLE's and SciMult's candidates."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sciprism.papers.records import Label

IntArray = NDArray[np.int64]

BLOCK = 8192  # texts looked at together: a name costs time once a block, a block about 6 kB a text


class LabelNames:
    """Labels ready to be found in texts by their names and synonyms.

    A name matches a text when each of its tokens (cut at white space) is a token of the text and, if it has
    several tokens, the name as a whole is also a substring of the text (MAPLE's matching, SciMult, Table 3).
    So a name of one token needs that very token, and a longer one may start inside a word if all of its
    tokens stand elsewhere. A token that stands twice in a name counts twice: "bufo bufo" has several.

    Names and texts are taken as they are, which suits MAPLE's normalised files; `raw` runs both through
    `normalize` first. A name without any token matches no text; `nameless` holds the ids of the labels that
    have no other name.
    """

    def __init__(self, labels: Sequence[Label], *, raw: bool = False) -> None:
        self._raw = raw
        self._size = len(labels)
        names = [(row, name, name.split()) for row, label in enumerate(labels) for name in self._names(label)]
        named = {row for row, _, tokens in names if tokens}
        self.nameless = tuple(label.id for row, label in enumerate(labels) if row not in named)
        counts = Counter(token for _, _, tokens in names for token in tokens)
        self._tokens = frozenset(counts)
        self._single: defaultdict[str, list[int]] = defaultdict(list)
        self._longer: defaultdict[str, list[_LongName]] = defaultdict(list)
        for row, name, tokens in names:
            if len(tokens) == 1:
                self._single[name.strip()].append(row)
            elif tokens:
                rarest = min(tokens, key=counts.__getitem__)
                self._longer[rarest].append(_LongName(row, name, frozenset(tokens) - {rarest}))

    def match(self, texts: Sequence[str]) -> list[IntArray]:
        """Return the rows of the labels found in each text, ascending, each once.

        A paper's text is its title, a space and its abstract. Many texts at once are faster than one by one.
        """
        found: list[IntArray] = []
        for start in range(0, len(texts), BLOCK):
            block = texts[start : start + BLOCK]
            found += self._match_block([normalize(text) for text in block] if self._raw else block)
        return found

    def _names(self, label: Label) -> Iterable[str]:
        names = (label.name, *label.synonyms)
        return map(normalize, names) if self._raw else names

    def _match_block(self, texts: Sequence[str]) -> list[IntArray]:
        """Turn the block around: a token stands for the places of its texts, and names meet those.

        So a name costs one look a block, not one a text, and none where its rarest token does not occur.
        Rarest among the names: what is rarest in these texts gains no more in the join than it costs to find.
        """
        places = _places(self._tokens, texts)
        seen = frozenset(places)
        sets: dict[str, frozenset[int]] = {}  # of places, made where a name asks for them
        pairs: list[int] = []  # place of the text * number of labels + row of the label
        for token, here in places.items():
            for row in self._single.get(token, ()):
                pairs.extend([place * self._size + row for place in here])
            for row, name, others in self._longer.get(token, ()):
                if not others <= seen:
                    continue
                common: Collection[int] = here
                for other in others:
                    if other not in sets:
                        sets[other] = frozenset(places[other])
                    common = sets[other].intersection(common)
                pairs.extend([place * self._size + row for place in common if name in texts[place]])
        owners, rows = np.divmod(np.unique(np.array(pairs, dtype=np.int64)), max(self._size, 1))
        return np.split(rows, np.searchsorted(owners, np.arange(1, len(texts))))


class _LongName(NamedTuple):
    """A name of several tokens, filed under the rarest of them; `others` are the rest."""

    row: int
    name: str
    others: frozenset[str]


def _places(tokens: frozenset[str], texts: Sequence[str]) -> dict[str, list[int]]:
    """Return the places of the texts that have each token, for the tokens that occur at all."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        for token in tokens.intersection(text.split()):
            places[token].append(place)
    return places


def normalize(text: str) -> str:
    """Return the text in lower case, punctuation and symbols turned into spaces, single spaces between words.

    Accents, digits and the letters of all scripts stay. MAPLE and SciMult publish titles, abstracts and names
    lower-cased and without punctuation already; this does the like for texts that come as they were printed.
    """
    return " ".join(text.translate(_SPACED).lower().split())


class _Spaced(dict[int, int]):
    """Maps punctuation and symbols to the space, all else to itself; fills itself as characters turn up."""

    def __missing__(self, code: int) -> int:
        self[code] = ord(" ") if unicodedata.category(chr(code))[0] in "PS" else code
        return self[code]


_SPACED = _Spaced()
