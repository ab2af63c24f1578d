"""Which papers a search may return: by year, venue and field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which papers a search may return: years inclusive, venue by part of its name, field by its whole name.

    Case is ignored. A paper without a year passes no year bound.
    """

    year_from: int | None = None
    year_to: int | None = None
    venue: str = ""
    field: str = ""

    def __bool__(self) -> bool:
        return self != Filter()

    def passes(self, rows: int, column: Callable[[str], Any]) -> Mask:
        """Mark the rows of a table that pass. column: name -> an Arrow column of the table."""
        import pyarrow.compute as pc

        passes = np.ones(rows, bool)
        if self.year_from is not None or self.year_to is not None:
            years = pc.fill_null(column("year"), np.iinfo(np.int64).min).to_numpy()
            passes &= years != np.iinfo(np.int64).min
            passes &= years >= (self.year_from if self.year_from is not None else years)
            passes &= years <= (self.year_to if self.year_to is not None else years)
        if self.venue:
            venues = pc.utf8_lower(column("venue"))
            passes &= pc.match_substring(venues, self.venue.lower()).to_numpy(zero_copy_only=False)
        if self.field:
            lists = column("fields").combine_chunks()
            same = pc.equal(pc.utf8_lower(pc.list_flatten(lists)), self.field.lower())
            owners = pc.list_parent_indices(lists).to_numpy()
            has_field = np.zeros(len(passes), bool)
            has_field[owners[same.to_numpy(zero_copy_only=False)]] = True
            passes &= has_field
        return passes
