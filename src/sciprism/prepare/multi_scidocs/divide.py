"""Papers of each field divided into val, test and train."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Literal

from sciprism.prepare.samplers.drawing import chance

Part = Literal["val", "test", "train"]
PARTS: tuple[Part, ...] = ("val", "test", "train")

Groups = Mapping[str, Sequence[int]]
"""Field -> rows."""
Divided = Mapping[Part, Groups]
"""Rows of each part by field, in an order drawn by chance."""


def of_each_field(rows: Sequence[int], fields: Sequence[tuple[str, ...]]) -> Groups:
    """Return every row under each of its fields (the authors' way: it may come into several parts)."""
    found: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        for name in fields[row]:
            found[name].append(row)
    return found


def of_rarest_field(rows: Sequence[int], fields: Sequence[tuple[str, ...]]) -> Groups:
    """Return every row once, under the one of its fields that the fewest rows have."""
    sizes = Counter(chain.from_iterable(fields[row] for row in rows))
    found: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        found[min(fields[row], key=lambda name: (sizes[name], name))].append(row)
    return found


def divided(groups: Groups, val: float, test: float, seed: int, *names: str) -> Divided:
    """Give a share of each field's rows, rounded, to val and to test, and the rest to train.

    names: of the draw, beside the seed.
    """
    found: dict[Part, dict[str, list[int]]] = {part: {} for part in PARTS}
    for field in sorted(groups):
        rows = list(groups[field])
        chance(seed, *names, field).shuffle(rows)
        first, second = round(len(rows) * val), round(len(rows) * (val + test))
        cut = (rows[:first], rows[first:second], rows[second:])
        for part, mine in zip(PARTS, cut, strict=True):
            found[part][field] = mine
    return found
