"""Split the papers of each field into val, test and train."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Literal

from sciprism.prepare.samplers.sampling import seeded_random

Part = Literal["val", "test", "train"]
PARTS: tuple[Part, ...] = ("val", "test", "train")

Groups = Mapping[str, Sequence[int]]
"""Field -> rows."""
FieldSplits = Mapping[Part, Groups]
"""Rows of each part by field, in random order."""


def group_by_every_field(rows: Sequence[int], fields: Sequence[tuple[str, ...]]) -> Groups:
    """Return every row under each of its fields (as the authors do: it may be in several parts)."""
    found: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        for name in fields[row]:
            found[name].append(row)
    return found


def group_by_rarest_field(rows: Sequence[int], fields: Sequence[tuple[str, ...]]) -> Groups:
    """Return every row once, under its rarest field."""
    sizes = Counter(chain.from_iterable(fields[row] for row in rows))
    found: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        found[min(fields[row], key=lambda name: (sizes[name], name))].append(row)
    return found


def split_by_field(groups: Groups, val: float, test: float, seed: int, *names: str) -> FieldSplits:
    """Return val and test with their shares of each field's rows, rounded, and train with the rest.

    names: that the random order depends on, with the seed and the field.
    """
    found: dict[Part, dict[str, list[int]]] = {part: {} for part in PARTS}
    for field in sorted(groups):
        rows = list(groups[field])
        seeded_random(seed, *names, field).shuffle(rows)
        first, second = round(len(rows) * val), round(len(rows) * (val + test))
        for part, own in zip(PARTS, (rows[:first], rows[first:second], rows[second:]), strict=True):
            found[part][field] = own
    return found
