"""Check the name of an encoding; guess the one of text that is not UTF-8, and decode it again.

Invalid bytes pass a UTF-8 decoder as lone surrogates (`errors="surrogateescape"`), so a file is decoded once,
at full speed, and only the lines with such bytes are decoded again.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from difflib import get_close_matches
from encodings.aliases import aliases
from itertools import chain, islice

from sciprism.errors import InputError

_INVALID = re.compile("[\ud800-\udfff]")
_INVALID_RUN = re.compile("[\ud800-\udfff]+")
_NOT_ASCII = re.compile("[^\x00-\x7f\ud800-\udfff]")
_SAMPLE_BYTES = 1 << 16
_WESTERN = "cp1252"
_LATIN = [_WESTERN, "cp1250", "cp1254", "mac-roman"]
_OTHER_SCRIPTS = [*("cp1251", "koi8-r", "cp1253", "cp1255", "cp1256"), *("gb18030", "big5", "cp932", "euc-jp", "cp949")]
# Few accents fit several encodings about as well. Measured on 40 texts: a wrong one is up to 1.35 times as
# likely as cp1252, Czech or Polish names in cp1250 from 1.75 times.
_MARGIN = 1.5
# In other scripts most letters of a word are not ASCII; of a Latin word, mostly few are.
_DENSE_SHARE = 0.6
_MIN_DENSE = 4


def has_invalid_utf8(text: str) -> bool:
    """Say whether `text` holds bytes that are not UTF-8."""
    return not text.isascii() and _INVALID.search(text) is not None


def check_encoding(name: str) -> str:
    """Return the codec's name of an encoding of text. Raises InputError with the nearest for an unknown one."""
    try:
        codec = codecs.lookup(name)
        b"text".decode(name)
        return codec.name
    except (LookupError, UnicodeError, ValueError):
        names = sorted({*aliases, *aliases.values()})
        close = get_close_matches(name.lower().replace("-", "_"), names, n=1, cutoff=0.5)
        hint = (
            f"; did you mean {close[0].replace('_', '-')}?"
            if close
            else "; for example: utf-8, cp1252, cp1250, gb18030"
        )
        raise InputError(f"unknown encoding {name!r}{hint}") from None


def guess_utf16(start: bytes) -> str:
    """Return UTF-16 with its byte order for text whose every other byte is mostly 0, else an empty text."""
    even, odd = start[0::2], start[1::2]
    for zeros, letters, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if len(zeros) >= 8 and zeros.count(0) > 0.5 * len(zeros) and not letters.count(0):
            return name
    return ""


def guess_encoding(texts: Iterable[str]) -> str:
    """Return the likely encoding of the invalid bytes in `texts`; cp1252 where others are hardly more likely."""
    from chardet import detect_all

    # Only the words concerned: the English around them says nothing about accents.
    words = (word for text in texts for word in text.split() if has_invalid_utf8(word))
    encoded = (f"{word}\n".encode("utf-8", "surrogateescape") for word in words)
    sample = bytes(islice(chain.from_iterable(encoded), _SAMPLE_BYTES))
    foreign = sum(byte > 0x7F for byte in sample)
    letters = sum(byte > 0x7F or chr(byte).isalpha() for byte in sample)
    candidates = _OTHER_SCRIPTS + _LATIN if foreign >= _MIN_DENSE and foreign > _DENSE_SHARE * letters else _LATIN
    guesses = detect_all(sample, ignore_threshold=True, include_encodings=candidates, compat_names=False)
    likely = {name: guess["confidence"] for guess in guesses if (name := guess["encoding"])}
    if not likely:
        return _WESTERN
    best = max(likely, key=lambda name: likely[name])
    return best if likely[best] > _MARGIN * likely.get(_WESTERN, 0.0) else _WESTERN


def is_damaged_utf8(text: str) -> bool:
    """Say whether a text with invalid bytes is UTF-8 all the same: most of its other characters are valid."""
    return len(_NOT_ASCII.findall(text)) > len(_INVALID.findall(text))


def replace_damage(text: str) -> tuple[str, int]:
    """Replace each run of invalid bytes by U+FFFD; return the text and the number of runs."""
    return _INVALID_RUN.subn("\ufffd", text)


def redecode(text: str, encoding: str) -> str:
    """Decode the bytes of `text` in `encoding`; what it lacks becomes U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode(encoding, "replace")
