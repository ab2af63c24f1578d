"""What `evaluate` returns: the results of a run, their table, and single numbers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any, overload

from sciprism.evaluation.report.build import build_report
from sciprism.evaluation.report.lines import StoredResult, group_by_system
from sciprism.evaluation.report.model import Report
from sciprism.evaluation.report.text_tables import show, terminal
from sciprism.evaluation.results import TaskResult
from sciprism.evaluation.task import Suite


class Results(Sequence[TaskResult]):
    """The results of some systems at some tasks, one per task, system and seed.

    `results["open/cranfield", "bm25"]` is a number: the task's main metric, the mean over seeds; a third word
    names another metric. `print(results)` shows the table of `sciprism evaluate`. failed: whether a task failed.
    """

    def __init__(self, results: Sequence[TaskResult], suites: Sequence[Suite] = ()) -> None:
        self._results = list(results)
        self.failed = any(result.status == "failed" for result in results)
        self._suites = {suite.folder: suite for suite in suites}  # a view has its suite's results

    def __len__(self) -> int:
        return len(self._results)

    @overload
    def __getitem__(self, key: int) -> TaskResult: ...
    @overload
    def __getitem__(self, key: slice) -> Results: ...
    @overload
    def __getitem__(self, key: tuple[str, ...]) -> float: ...
    def __getitem__(self, key: int | slice | tuple[str, ...]) -> TaskResult | Results | float:
        if isinstance(key, tuple):
            return self._score(*key)
        if isinstance(key, slice):
            return Results(self._results[key], list(self._suites.values()))
        return self._results[key]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one flat row per metric, for a data frame; of a task without a number, one row with the reason."""
        rows = []
        for result in self:
            names = {"suite": result.suite, "task": result.task, "system": result.system["name"], "seed": result.seed}
            if not result.metrics:
                rows.append({**names, "status": result.status, "reason": result.reason})
            for metric, measure in result.metrics.items():
                rows.append({**names, "status": result.status, "metric": metric, **asdict(measure)})
        return rows

    def to_json(self) -> list[dict[str, Any]]:
        """Return all results as JSON values, as in their files."""
        return [asdict(result) for result in self]

    def report(self) -> Report:
        """Return the report of the results, with averages, and notes on what is missing.

        Differences are not tested: that needs the item scores, which `sciprism compare` reads.
        """
        missing = [f"incomplete: {line}" for line in self._missing()]
        report = build_report(group_by_system([StoredResult(result) for result in self]), self._suites)
        return replace(report, notes=(*report.notes, *missing))

    def __str__(self) -> str:
        width = shutil.get_terminal_size((110, 24)).columns
        return terminal(self.report(), width=width).rstrip("\n") if self else "no results"

    def show(self) -> None:
        """Print the table, in the style and width of the terminal."""
        if self:
            show(self.report())
        else:
            print("no results")

    def _score(self, task: str, system: str, metric: str = "") -> float:
        results = [r for r in self if r.system["name"] == system and task in (r.task, f"{r.suite}/{r.task}")]
        if not results:
            tasks = ", ".join(dict.fromkeys(f"{r.suite}/{r.task}" for r in self))
            systems = ", ".join(dict.fromkeys(str(r.system["name"]) for r in self))
            raise KeyError(f"no result of {system!r} at {task!r}; tasks: {tasks}; systems: {systems}")
        if lacking := [result for result in results if result.status != "done"]:
            raise KeyError(f"{system} has no number at {task}: {lacking[0].status}: {lacking[0].reason}")
        metric = metric or next(iter(results[0].metrics))
        if metric not in results[0].metrics:
            raise KeyError(f"{task} has no metric {metric!r}; known: {', '.join(results[0].metrics)}")
        return sum(result.metrics[metric].value for result in results) / len(results)

    def _missing(self) -> Iterator[str]:
        for status in ("failed", "not served"):
            if names := dict.fromkeys(result.task for result in self if result.status == status):
                yield f"{', '.join(names)} {status}"
        for name, suite in self._suites.items():
            tried = {result.task for result in self if result.suite == name}
            if absent := [task.name for task in suite.tasks if task.name not in tried]:
                yield f"{len(absent)} of {len(suite.tasks)} tasks not run: {', '.join(absent)}"
