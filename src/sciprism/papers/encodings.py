"""Guess the encoding of text that is not UTF-8 and decode it again.

Invalid bytes pass a UTF-8 decoder as lone surrogates (`errors="surrogateescape"`), so a file is decoded once,
at full speed, and only the lines with such bytes are decoded again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain, islice

_INVALID = re.compile("[\ud800-\udfff]")
_INVALID_RUN = re.compile("[\ud800-\udfff]+")
_NOT_ASCII = re.compile("[^\x00-\x7f\ud800-\udfff]")
_SAMPLE_BYTES = 1 << 16
_WESTERN = "cp1252"
_LATIN = [_WESTERN, "cp1250", "cp1254", "mac_roman"]
_OTHER_SCRIPTS = [
    *("cp1251", "koi8_r", "cp1253", "cp1255", "cp1256"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949"),
]
# Accents are a few per cent of a Latin text; in other scripts most letters are not ASCII.
_DENSE_SHARE = 0.3


def has_invalid_utf8(text: str) -> bool:
    """Say whether `text` holds bytes that are not UTF-8."""
    return not text.isascii() and _INVALID.search(text) is not None


def guess_encoding(texts: Iterable[str]) -> str:
    """Return the likely encoding of the invalid bytes in `texts`, cp1252 if it is among the best."""
    from charset_normalizer import from_bytes

    encoded = (text.encode("utf-8", "surrogateescape") for text in texts if has_invalid_utf8(text))
    sample = bytes(islice(chain.from_iterable(encoded), _SAMPLE_BYTES))
    letters = sum(byte > 0x7F or chr(byte).isalpha() for byte in sample)
    dense = sum(byte > 0x7F for byte in sample) > _DENSE_SHARE * letters
    matches = list(from_bytes(sample, cp_isolation=_LATIN + _OTHER_SCRIPTS if dense else _LATIN))
    if not matches:
        return _WESTERN
    best = matches[0]
    as_good = [each for each in matches if each.chaos <= best.chaos and each.coherence >= best.coherence]
    western = not dense and any(_WESTERN in each.could_be_from_charset for each in as_good)
    return _WESTERN if western else best.encoding


def is_damaged_utf8(text: str) -> bool:
    """Say whether a text with invalid bytes is UTF-8 all the same: most of its other characters are valid."""
    return len(_NOT_ASCII.findall(text)) > len(_INVALID.findall(text))


def replace_damage(text: str) -> tuple[str, int]:
    """Replace each run of invalid bytes by U+FFFD; return the text and the number of runs."""
    return _INVALID_RUN.subn("\ufffd", text)


def redecode(text: str, encoding: str) -> str:
    """Decode the bytes of `text` in `encoding`; what it lacks becomes U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode(encoding, "replace")
