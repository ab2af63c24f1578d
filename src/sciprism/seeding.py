"""Chance that has no state: a seed and names alone decide it, on every machine and in any order."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from heapq import nsmallest
from operator import itemgetter
from typing import TypeVar

T = TypeVar("T")


def random_bits(*parts: object) -> int:
    """Return 64 bits that all parts decide."""
    text = "\0".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())


def random_fraction(*parts: object) -> float:
    """Return a number in [0, 1) that all parts decide."""
    return random_bits(*parts) / 2**64


def sample(items: Iterable[T], count: int, *parts: object) -> list[T]:
    """Return so many items, or all of fewer, in their order; their places and all parts decide which."""
    found = nsmallest(count, enumerate(items), key=lambda each: random_fraction(*parts, each[0]))
    return [item for _, item in sorted(found, key=itemgetter(0))]
