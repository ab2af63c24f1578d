"""The table at the end of `sciprism evaluate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sciprism.evaluation.report.build import build_report
from sciprism.evaluation.report.system_results import StoredResult, group_by_system
from sciprism.evaluation.report.terminal import show
from sciprism.evaluation.results import TaskResult
from sciprism.evaluation.task import Suite


def print_results(results: Sequence[TaskResult], suite: Suite | None) -> None:
    """Print the table of one suite's results, its averages, and what is missing.

    Differences are not tested: that needs the items, which `sciprism compare` reads.
    """
    if not results:
        print("no results")
        return
    known = {results[0].suite: suite} if suite else {}  # a view has the name of its suite here
    report = build_report(group_by_system([StoredResult(result) for result in results]), known)
    lacking = [f"incomplete: {line}" for line in _lacking(results, suite)]
    show(replace(report, notes=(*report.notes, *lacking)))


def _lacking(results: Sequence[TaskResult], suite: Suite | None) -> Iterator[str]:
    for status in ("failed", "not served"):
        names = dict.fromkeys(result.task for result in results if result.status == status)
        if names:
            yield f"{', '.join(names)} {status}"
    tried = {result.task for result in results}
    absent = [task.name for task in (suite.tasks if suite else ()) if task.name not in tried]
    if suite and absent:
        yield f"{len(absent)} of {len(suite.tasks)} tasks not run: {', '.join(absent)}"
