"""Find the encoding of text that is not UTF-8 and turn it into what was meant.

Foreign bytes travel through a UTF-8 decoder as lone surrogates (`errors="surrogateescape"`), so a file
is decoded once, at full speed, and only the lines that need it are looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_FOREIGN = re.compile("[\ud800-\udfff]")
_FOREIGN_RUN = re.compile("[\ud800-\udfff]+")
_BEYOND_ASCII = re.compile("[^\x00-\x7f\ud800-\udfff]")
_SAMPLE = 1 << 16
_WESTERN = "cp1252"
_LATIN = [_WESTERN, "cp1250", "cp1254", "mac_roman"]
_OTHER_SCRIPTS = [
    *("cp1251", "koi8_r", "cp1253", "cp1255", "cp1256"),
    *("gb18030", "big5", "cp932", "euc_jp", "cp949"),
]
# Accents are a few per cent of a Latin text; in other scripts most letters lie beyond ASCII.
_DENSE = 0.3


def not_utf8(text: str) -> bool:
    """Say whether bytes that are not UTF-8 hide in `text`."""
    return not text.isascii() and _FOREIGN.search(text) is not None


def guess_encoding(texts: Iterable[str]) -> str:
    """Return the likely encoding of the foreign bytes in `texts`; cp1252 where nothing speaks against it."""
    from charset_normalizer import from_bytes

    sample = _sample(texts)
    letters = sum(byte > 0x7F or chr(byte).isalpha() for byte in sample)
    dense = sum(byte > 0x7F for byte in sample) > _DENSE * letters
    matches = list(from_bytes(sample, cp_isolation=_LATIN + _OTHER_SCRIPTS if dense else _LATIN))
    if not matches:
        return _WESTERN
    best = matches[0]
    for match in matches:
        as_good = not dense and match.chaos <= best.chaos and match.coherence >= best.coherence
        if _WESTERN in match.could_be_from_charset and as_good:
            return _WESTERN
    return best.encoding


def is_damaged_utf8(text: str) -> bool:
    """Say whether a text with foreign bytes is UTF-8 nevertheless: most of what is not ASCII was read."""
    return len(_BEYOND_ASCII.findall(text)) > len(_FOREIGN.findall(text))


def replace_damage(text: str) -> tuple[str, int]:
    """Put U+FFFD in the place of each run of foreign bytes; return the text and their number."""
    return _FOREIGN_RUN.subn("\ufffd", text)


def decode_anew(text: str, encoding: str) -> str:
    """Return what the bytes of `text` mean in `encoding`; what it does not have becomes U+FFFD."""
    return text.encode("utf-8", "surrogateescape").decode(encoding, "replace")


def _sample(texts: Iterable[str]) -> bytes:
    sample = bytearray()
    for text in texts:
        if not_utf8(text):
            sample += text.encode("utf-8", "surrogateescape")
        if len(sample) >= _SAMPLE:
            break
    return bytes(sample[:_SAMPLE])
