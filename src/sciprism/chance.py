"""Chance that has no state: a seed and names alone decide it, on every machine and in any order."""

from __future__ import annotations

from hashlib import blake2b


def number(*parts: object) -> int:
    """Return 64 bits that all parts decide."""
    text = "\0".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())


def place(*parts: object) -> float:
    """Return a number in [0, 1) that all parts decide."""
    return number(*parts) / 2**64
