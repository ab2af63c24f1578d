"""What commands that score tasks share: the command as a result records it, a line for each task."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING

from sciprism.cli.progress import ProgressDisplay

if TYPE_CHECKING:
    from sciprism.evaluation.results import TaskResult
    from sciprism.evaluation.scoring import ProgressCallback
    from sciprism.evaluation.systems import System
    from sciprism.evaluation.task import Task


class ScoringProgress:
    """Which task is scored, and how many of its texts are encoded; between tasks nothing is shown."""

    def __init__(self) -> None:
        self._display: ProgressDisplay | None = None
        self._task = ""
        self._print = build_result_printer()

    def __enter__(self) -> ScoringProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            self._display.__exit__()
        self._display = None

    def on_texts(self, done: int, total: int) -> None:
        """Show how many texts of a call are encoded; done is 0 at its begin."""
        if self._display is not None:
            if not done:
                self._display.begin(f"{self._task}, encoding", "texts", total)
            self._display.update(done)
            if done >= total:
                self._display.begin(self._task)

    def on_task(self, system: System, task: Task, result: TaskResult | None) -> None:
        """Show the task that begins, or print the result of the one that ended."""
        self.__exit__()
        if result is None:
            self._task = f"{task.name}  {system.name}"
            self._display = ProgressDisplay(self._task).__enter__()
        self._print(system, task, result)


def command_line() -> str:
    """Return the command as it would be typed again, without the path of this machine's program."""
    return shlex.join(["sciprism", *sys.argv[1:]])


def build_result_printer() -> ProgressCallback:
    """Return what prints a line for each task that is done, with its numbers or why there are none.

    That a system cannot serve a kind of task, such as BM25 where vectors are needed, is said once.
    """
    began = {}
    unserved = set()

    def on_task(system: System, task: Task, result: TaskResult | None) -> None:
        key = system.name, task.name
        if result is None:
            began[key] = time.monotonic()
            return
        if result.status == "not served":
            if (system.name, result.reason) not in unserved:
                unserved.add((system.name, result.reason))
                print(
                    f"{task.name}  {system.name}: not served: {result.reason}; nor are other such tasks",
                    file=sys.stderr,
                )
            return
        numbers = ", ".join(f"{name} {m.value:.4f}" for name, m in result.metrics.items()) or result.reason
        done = f"{time.monotonic() - began[key]:.0f} s" if key in began else "already scored"
        print(f"{task.name}  {system.name}: {numbers}  ({done})", file=sys.stderr)
        for metric, reason in result.details.get("without number", {}).items():
            print(f"{task.name}  {system.name}: no {metric}: {reason}", file=sys.stderr)
        for warning in result.details.get("warnings", ()):
            print(f"{task.name}  {system.name}: warning: {warning}", file=sys.stderr)

    return on_task
