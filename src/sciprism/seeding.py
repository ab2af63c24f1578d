"""Random numbers without a state: functions of a seed and names, equal on every machine and in any order."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from heapq import nsmallest
from operator import itemgetter
from typing import TypeVar

T = TypeVar("T")


def random_bits(*parts: object) -> int:
    """Return 64 random bits, a hash of all parts."""
    text = "\0".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest())


def derive_seed(*parts: object) -> int:
    """Return a seed, 63 bits that all parts decide."""
    return random_bits(*parts) >> 1


def random_fraction(*parts: object) -> float:
    """Return a random number in [0, 1), a hash of all parts."""
    return random_bits(*parts) / 2**64


def sample(items: Iterable[T], count: int, *parts: object) -> list[T]:
    """Return `count` random items in their order, or all of fewer; a hash of positions and all parts."""
    chosen = nsmallest(count, enumerate(items), key=lambda numbered: random_fraction(*parts, numbered[0]))
    return [item for _, item in sorted(chosen, key=itemgetter(0))]
