"""Cut an abstract into sentences."""

from __future__ import annotations

import re

# What ends with a full stop and does not end a sentence. A single capital letter is an initial.
_ABBREVIATIONS = (
    "al approx ca cf chap dr e.g eg eq eqs et etc ex fig figs i.e ie jr mr mrs ms no nos p pp prof ref refs "
    "resp sec sect sp spp sr st subsp tab u.k u.s var viz vol vols vs w.r.t"
)
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
_END = re.compile(r"[.!?]['\"”’)\]]*\s+(?=['\"“‘(\[]*[^\W_a-z])|\n\s*\n|[。！？]")
_LAST_WORD = re.compile(r"([^\W_]+(?:\.[^\W_]+)*)\.$")


def split_sentences(text: str) -> list[str]:
    """Cut at a mark before a capital or a digit, unless it belongs to an abbreviation or an initial."""
    sentences, start = [], 0
    for end in _END.finditer(text):
        piece = text[start : end.end()].strip()
        if piece and not _abbreviated(text[start : end.start() + 1]):
            sentences.append(" ".join(piece.split()))
            start = end.end()
    rest = " ".join(text[start:].split())
    return [*sentences, rest] if rest else sentences


def _abbreviated(piece: str) -> bool:
    found = _LAST_WORD.search(piece)
    if found is None:
        return False
    word = found[1]
    return word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word.isupper())
