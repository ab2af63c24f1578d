"""Cut an abstract into sentences."""

from __future__ import annotations

import re

# What ends with a full stop and does not end a sentence. A single capital letter is an initial.
_ABBREVIATIONS = (
    "al approx ca cf chap dr e.g eg eq eqs et etc ex fig figs i.e ie jr mr mrs ms no nos p pp prof ref refs "
    "resp sec sect sp spp sr st subsp tab u.k u.s var viz vol vols vs w.r.t"
)
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
LONGEST_WORD = 32
"""Characters looked at before a mark; a list of names has a mark at every initial, and may be a book long."""
_END = re.compile(r"[.!?]['\"”’)\]]*\s+(?=['\"“‘(\[]*[^\W_a-z])|\n\s*\n|[。！？]")
_LAST_WORD = re.compile(r"([^\W_]+(?:\.[^\W_]+)*)\.$")


def split_sentences(text: str) -> list[str]:
    """Cut at a mark before a capital or a digit, unless it belongs to an abbreviation or an initial."""
    sentences, start = [], 0
    for end in _END.finditer(text):
        last_word = text[max(start, end.start() - LONGEST_WORD) : end.start() + 1]
        if not _abbreviated(last_word) and (piece := " ".join(text[start : end.end()].split())):
            sentences.append(piece)
            start = end.end()
    rest = " ".join(text[start:].split())
    return [*sentences, rest] if rest else sentences


def _abbreviated(piece: str) -> bool:
    found = _LAST_WORD.search(piece)
    if found is None:
        return False
    word = found[1]
    return word.lower() in ABBREVIATIONS or (len(word) == 1 and word.isalpha() and word.isupper())
