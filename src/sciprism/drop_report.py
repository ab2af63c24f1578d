"""Counts and first ids of what was dropped or noticed, by reason."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

CONTAINERS = "identifiers of several papers, such as a book's DOI"  # what is counted of them, in all commands
MAX_IDS = 10  # ids that are named for each reason; the others are only counted


class DropReport:
    """What was dropped, or differs: counts and ids (`ids`) by reason, the first `MAX_IDS` unless all are kept."""

    def __init__(self, *, keep_all: bool = False) -> None:
        self.keep_all = keep_all
        self.ids: dict[str, list[str]] = defaultdict(list)
        self._counts: Counter[str] = Counter()

    def add(self, reason: str, name: str) -> None:
        """Count an id that was dropped, or differs, for a reason such as "no text"."""
        self._counts[reason] += 1
        if self.keep_all or len(self.ids[reason]) < MAX_IDS:
            self.ids[reason].append(name)

    def add_all(self, reason: str, names: Iterable[str]) -> None:
        """Count several ids for one reason."""
        for name in names:
            self.add(reason, name)

    def update(self, other: DropReport) -> None:
        """Add the counts and ids of another report."""
        self._counts += other._counts
        for reason, names in other.ids.items():
            self.ids[reason] = [*self.ids[reason], *names][: None if self.keep_all else MAX_IDS]

    def count(self, reason: str) -> int:
        """Return the count of a reason."""
        return self._counts[reason]

    def __str__(self) -> str:
        """Return the counts as "no text 3, duplicate id 1"; "" if nothing was dropped."""
        return ", ".join(f"{reason} {self.count(reason):,}" for reason in self.ids)

    def describe(self, most: int) -> list[str]:
        """Return of each reason how many there are, and so many of the first ids: "2 retracted papers (W1, W2)"."""
        described = []
        for reason, ids in sorted(self.ids.items()):
            more = ", ..." if self.count(reason) > most else ""
            described.append(f"{count_noun(self.count(reason), reason)} ({', '.join(ids[:most])}{more})")
        return described

    def to_json(self) -> dict[str, Any]:
        """Return reason -> count and the first ids."""
        return {reason: {"count": self.count(reason), "first": ids[:MAX_IDS]} for reason, ids in self.ids.items()}


def count_noun(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where it is not 1: "1 paper", "12 papers"."""
    plural = noun if number == 1 else f"{noun.removesuffix('y')}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {plural}"
