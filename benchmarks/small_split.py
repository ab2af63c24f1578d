"""Differences of a model to all-MiniLM-L6-v2 by what sciprism-small's training saw of a test, from stored results.

Every average of the `open` suite is computed again over those of its tasks whose labels, or the source of whose
papers, sciprism-small saw in training, and over the others (`small_overlap.py`). Nothing is scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sciprism.evaluation.report.build import build_report
from sciprism.evaluation.report.model import Difference, Score, group_by_system, read_stored_results
from sciprism.evaluation.suites import suites
from sciprism.evaluation.task import Average

OPEN = suites["open"]
BASELINE, MODEL = "all-MiniLM-L6-v2", "sciprism-small"
ALL, EITHER, LABELS, SOURCE, NEITHER = "all", "labels or source", "labels", "source alone", "neither"
PARTS: dict[str, tuple[str, ...]] = {
    ALL: ("labels", "source", "neither"),
    EITHER: ("labels", "source"),
    LABELS: ("labels",),
    SOURCE: ("source",),
    NEITHER: ("neither",),
}
"""Part of an average -> what training saw of its tasks, as in overlap.json."""
REPLACED = ("in-train", "out-of-train")
"""Averages of the suite that are such parts themselves."""


@dataclass(frozen=True, slots=True)
class PartOfAverage:
    """An average over some of its tasks: how many, the scores of both models, and the paired difference."""

    tasks: int
    baseline: Score
    model: Score
    difference: Difference


def split_averages(
    results: Sequence[Path], seen: Mapping[str, str], model: str = MODEL, *, partial: bool = False
) -> dict[str, dict[str, PartOfAverage]]:
    """Return average -> part -> its numbers, without parts that have no task.

    seen: what training saw of each task. partial: over the tasks that the model has numbers of; else it has all.
    """
    runs = [run for run in read_stored_results(results) if run.result.suite == OPEN.name]
    systems = {system.name: system for system in group_by_system(runs)}
    had = {each.task for each in systems[model].results if each.status == "done"} if partial else set(seen)
    names = {
        f"{average.name}: {part}": Average(
            name=f"{average.name}: {part}",
            tasks=tuple(task for task in average.tasks if seen[task] in kinds and task in had),
        )
        for average in OPEN.averages
        if average.name not in REPLACED
        for part, kinds in PARTS.items()
    }
    suite = replace(OPEN, averages=tuple(each for each in names.values() if each.tasks))
    report = build_report([systems[BASELINE], systems[model]], {OPEN.name: suite})
    found: dict[str, dict[str, PartOfAverage]] = {}
    for row in report.rows:
        if row.kind == "average" and row.name in names:
            average, _, part = row.name.rpartition(": ")
            (baseline, model), difference = [cell.score for cell in row.cells], row.cells[1].difference
            if row.lacking or baseline is None or model is None or difference is None:
                raise SystemExit(f"{results}: {row.name} lacks results: {', '.join(row.lacking)}")
            found.setdefault(average, {})[part] = PartOfAverage(len(row.tasks), baseline, model, difference)
    return found
