"""The names most similar to one that is unknown, for messages."""

from __future__ import annotations

from collections.abc import Sequence


def rank_similar(wanted: str, names: Sequence[str], count: int = 3) -> list[tuple[float, int]]:
    """Return similarity (0 to 100) and position of the `count` names most similar to one, best first.

    Case and punctuation do not count.
    """
    from rapidfuzz.fuzz import ratio
    from rapidfuzz.process import extract
    from rapidfuzz.utils import default_process

    found = extract(wanted, names, scorer=ratio, processor=default_process, limit=count)
    return [(score, position) for _, score, position in found]


def most_similar(wanted: str, names: Sequence[str], count: int = 3) -> list[str]:
    """Return the `count` names most similar to one, best first."""
    return [names[position] for _, position in rank_similar(wanted, names, count)]
