"""What commands that score tasks share: the command as a result records it, a line for each task."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING

from sciprism.cli.printing import PLAIN_INTERVAL, build_progress, format_duration

if TYPE_CHECKING:
    from rich.progress import Progress

    from sciprism.evaluation.results import TaskResult
    from sciprism.evaluation.scoring import ProgressCallback
    from sciprism.evaluation.systems import System
    from sciprism.evaluation.task import Task


class EncodingProgress:
    """Texts encoded inside a task, and papers per second: a bar on a terminal, else a line now and then."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        self._began = self._printed = time.monotonic()

    def __enter__(self) -> EncodingProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def __call__(self, done: int, total: int) -> None:
        """Show how many texts of a call are encoded; done is 0 at its begin."""
        now = time.monotonic()
        if not done:
            self._stop()
            self._began = self._printed = now
            self._bar = build_progress(self._console, "encoding", transient=True)
            self._bar.add_task("", total=total, facts="")
            self._bar.start()
        rate = done / max(now - self._began, 1e-9)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, facts=f"{rate:.1f} papers/s")
        if not self._console.is_terminal and now - self._printed > PLAIN_INTERVAL:
            self._printed = now
            left = format_duration((total - done) / rate) if rate else "?"
            print(f"  encoded {done:,} of {total:,} texts, {rate:.1f} papers/s, {left} left", file=sys.stderr)
        if done >= total:
            self._stop()

    def _stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()
        self._bar = None


def command_line() -> str:
    """Return the command as it would be typed again, without the path of this machine's program."""
    return shlex.join(["sciprism", *sys.argv[1:]])


def build_progress_printer() -> ProgressCallback:
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
