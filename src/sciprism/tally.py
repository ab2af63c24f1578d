"""What was left out, or differs, counted and named by reason."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

NAMED = 10
"""Ids that a result names for each reason; the rest is counted."""


class Tally:
    """Count and name what was left out, by reason."""

    def __init__(self) -> None:
        self.ids: dict[str, list[str]] = defaultdict(list)

    def add(self, reason: str, name: str) -> None:
        """Note that `name` (an id) was left out, or differs, for a reason such as "no text"."""
        self.ids[reason].append(name)

    def update(self, other: Tally) -> None:
        """Take over the notes of another tally."""
        for reason, names in other.ids.items():
            self.ids[reason] += names

    def count(self, reason: str) -> int:
        """Return how many were noted for a reason."""
        return len(self.ids.get(reason, ()))

    def to_json(self) -> dict[str, Any]:
        """Return reason -> count and the first few names."""
        return {
            reason: {"count": len(names), "first": names[:NAMED]}
            for reason, names in self.ids.items()
            if names
        }
