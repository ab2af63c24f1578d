"""What was left out, or differs, counted and named by reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

NAMED = 10
"""Ids that are kept for each reason; the rest is counted."""


class DropReport:
    """Count what was left out, by reason, and keep the first names: `ids`."""

    def __init__(self) -> None:
        self.ids: dict[str, list[str]] = defaultdict(list)
        self._counts: Counter[str] = Counter()

    def add(self, reason: str, name: str) -> None:
        """Note that `name` (an id) was left out, or differs, for a reason such as "no text"."""
        self._counts[reason] += 1
        if len(self.ids[reason]) < NAMED:
            self.ids[reason].append(name)

    def update(self, other: DropReport) -> None:
        """Take over the notes of another tally."""
        self._counts += other._counts
        for reason, names in other.ids.items():
            self.ids[reason] = [*self.ids[reason], *names][:NAMED]

    def count(self, reason: str) -> int:
        """Return how many were noted for a reason."""
        return self._counts[reason]

    def to_json(self) -> dict[str, Any]:
        """Return reason -> count and the first few names."""
        return {
            reason: {"count": self.count(reason), "first": names}
            for reason, names in self.ids.items()
            if names
        }
