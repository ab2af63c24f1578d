"""The contents of a report, for all outputs: rows of scores and differences, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sciprism.evaluation.task import Published

RowKind = Literal["task", "part", "average"]
LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A number in natural units with its 95% interval, None where its items are missing.

    n: items behind it, of an average those of all its tasks; seeds: runs averaged; sd: over seeds (n - 1).
    """

    value: float
    low: float | None = None
    high: float | None = None
    n: int = 0
    seeds: int = 1
    sd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A score minus the baseline's: 95% interval, p, and p after Holm's correction over the report.

    p < 0.05 if and only if the interval excludes 0 (`evaluation.intervals`).
    apart: the means over seeds differ by more than two standard deviations.
    """

    value: float
    low: float
    high: float
    p: float
    corrected: float | None = None
    apart: bool = False

    @property
    def marked(self) -> bool:
        """Return whether the interval excludes 0: one asterisk."""
        return self.low > 0 or self.high < 0

    @property
    def marked_among_all(self) -> bool:
        """Return whether the difference is significant among all of the report: two asterisks."""
        return self.marked and self.corrected is not None and self.corrected < LEVEL

    def to_json(self) -> dict[str, Any]:
        """Return numbers and marks as JSON values."""
        return asdict(self) | {"marked": self.marked, "marked_among_all": self.marked_among_all}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportCell:
    """One system at one row.

    status: done, failed, not served, not run, not comparable, undefined (the metric has no value), or "left
    out" (of an average).
    """

    status: str
    score: Score | None = None
    difference: Difference | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the cell as JSON values."""
        return asdict(self) | {"difference": self.difference.to_json() if self.difference else None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRow:
    """One row of the report: a number of a task, a metric that is part of such a number, or an average.

    tasks: the tasks of an average; lacking: tasks that are missing from it, with the reason; view: the view of
    the suite that it is over.
    """

    name: str
    kind: RowKind
    suite: str
    cells: tuple[ReportCell, ...]
    task: str = ""
    metric: str = ""
    format: str = ""
    group: str = ""
    tasks: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    view: str = ""

    @property
    def incomplete(self) -> bool:
        """Return whether it is an average over fewer tasks than its suite has."""
        return bool(self.lacking or self.view)

    @property
    def title(self) -> str:
        """Return the name, and the view or the number of tasks of an average where some are missing."""
        whole = len(self.tasks) + len(self.lacking)
        marks = [f"{self.view} view"] if self.view else []
        marks += [f"incomplete: {len(self.tasks)} of {whole}"] if self.lacking else []
        return f"{self.name} ({', '.join(marks)})" if marks else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Systems side by side; differences are to the system at position `baseline`.

    remarks: name of a suite or task -> the remark on its data, from its declaration.
    """

    systems: tuple[str, ...]
    baseline: int
    rows: tuple[ReportRow, ...]
    published: Mapping[str, tuple[Published, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)

    @property
    def suites(self) -> tuple[str, ...]:
        """Return the suites in order."""
        return tuple(dict.fromkeys(row.suite for row in self.rows))

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values, scores in natural units, published ones times 100 as printed."""
        return {
            "baseline": self.systems[self.baseline],
            "systems": list(self.systems),
            "rows": [
                asdict(row)
                | {"incomplete": row.incomplete, "title": row.title}
                | {"cells": dict(zip(self.systems, (cell.to_json() for cell in row.cells), strict=True))}
                for row in self.rows
            ],
            "published": {
                suite: [{"name": row.name, "source": row.source, "scores": dict(row.scores)} for row in rows]
                for suite, rows in self.published.items()
            },
            "notes": list(self.notes),
            "remarks": dict(self.remarks),
        }
