"""Split a text into sentences."""

from __future__ import annotations

import re

# Words whose full stop ends no sentence. A single capital letter is an initial.
_ABBREVIATIONS = (
    "al approx ca cf chap dr e.g eg eq eqs et etc ex fig figs i.e ie jr mr mrs ms no nos p pp prof ref refs "
    "resp sec sect sp spp sr st subsp tab u.k u.s var viz vol vols vs w.r.t"
)
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
MAX_WORD_CHARS = 32
"""Characters read before a mark: a list of names has a mark at every initial, and may be a book long."""
_END = re.compile(r"[.!?]['\"”’)\]]*\s+(?=['\"“‘(\[]*[^\W_a-z])|\n\s*\n|[。！？]")
_LAST_WORD = re.compile(r"([^\W_]+(?:\.[^\W_]+)*)\.$")


def split_sentences(text: str) -> list[str]:
    """Split at a mark before a capital or a digit, unless it ends an abbreviation or an initial."""
    sentences, start = [], 0
    for end in _END.finditer(text):
        found = _LAST_WORD.search(text[max(start, end.start() - MAX_WORD_CHARS) : end.start() + 1])
        word = found[1] if found else ""
        is_initial = len(word) == 1 and word.isalpha() and word.isupper()
        if is_initial or word.lower() in ABBREVIATIONS:
            continue
        if piece := " ".join(text[start : end.end()].split()):
            sentences.append(piece)
            start = end.end()
    rest = " ".join(text[start:].split())
    return [*sentences, rest] if rest else sentences
