"""How far a command is: one display for all, with the rate and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar

from sciprism.cli.printing import format_duration

if TYPE_CHECKING:
    from rich.progress import Progress

PLAIN_INTERVAL = 30.0
"""Seconds between lines of progress where standard error is no terminal."""
Item = TypeVar("Item")


class ProgressDisplay:
    """What is done of a piece of work: a bar on a terminal, which moves all the time; else a line now and then.

    unit: of what is counted, "" where nothing is. The bar vanishes when the work ends.
    """

    def __init__(self, work: str, unit: str = "", total: int | None = None) -> None:
        self._work, self._unit, self._total = work, unit, total
        self._done, self._rated, self._facts = 0, 0, ""
        self._began = self._printed = time.monotonic()
        self._bar: Progress | None = None
        self._ended = Event()
        self._lines: Thread | None = None

    def __enter__(self) -> ProgressDisplay:
        if sys.stderr.isatty():
            self._bar = _build_bar()
            self._bar.add_task(self._work, total=self._total, facts="")
            self._bar.start()
        else:
            self._lines = Thread(target=self._print_lines, daemon=True)
            self._lines.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._bar is not None:
            self._bar.stop()
        if self._lines is not None:
            self._lines.join()

    def begin(self, work: str, unit: str = "", total: int | None = None) -> None:
        """Begin another piece of work; rate and time left start again."""
        self._work, self._unit, self._total = work, unit, total
        self._done, self._rated, self._facts = 0, 0, ""
        self._began = time.monotonic()
        if self._bar is not None:
            self._bar.reset(self._bar.task_ids[0], total=total, description=work, facts="")

    def update(self, done: int, *, rated: int | None = None, facts: str = "") -> None:
        """Show how many are done. rated: those that took time, if others were done before; facts: shown too."""
        self._done, self._rated, self._facts = done, done if rated is None else rated, facts
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, facts=self.describe_rate())
        self._print_line()

    def show(
        self, work: str, unit: str, done: int, total: int | None, *, rated: int | None = None, facts: str = ""
    ) -> None:
        """Show how many of a piece of work are done; where it is another than before, it begins."""
        if work != self._work:
            self.begin(work, unit, total)
        elif total != self._total:
            self._total = total
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], total=total)
        self.update(done, rated=rated, facts=facts)

    def count(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, and show how many."""
        for number, item in enumerate(items, 1):
            yield item
            self.update(number)

    def describe_rate(self) -> str:
        """Return further facts, the rate and the time left, "12.5 papers/s, 2 min left"."""
        rate = self._rated / max(time.monotonic() - self._began, 1e-9)
        parts = [self._facts, f"{rate:,.1f} {self._unit}/s" if self._rated else ""]
        if self._total is not None and self._rated:
            parts.append(f"{format_duration((self._total - self._done) / rate)} left")
        return ", ".join(filter(None, parts))

    def describe(self) -> str:
        """Return the state as a line, "embedding: 1,200 of 4,000 papers, 12.5 papers/s, 4 min left"."""
        of = f" of {self._total:,}" if self._total is not None else ""
        counted = f"{self._done:,}{of} {self._unit}" if self._unit else ""
        since = "" if self._rated else f"{format_duration(time.monotonic() - self._began)} so far"
        return f"{self._work}: " + ", ".join(filter(None, [counted, self.describe_rate(), since]))

    def _print_lines(self) -> None:
        """Print a line where it is time, though nothing new was counted."""
        while not self._ended.wait(1.0):
            self._print_line()

    def _print_line(self) -> None:
        if self._lines is not None and time.monotonic() - self._printed >= PLAIN_INTERVAL:
            self._printed = time.monotonic()
            print(self.describe(), file=sys.stderr)


def show_work(work: str, command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that shows for how long it has worked."""

    @wraps(command)
    def run(**options: object) -> None:
        with ProgressDisplay(work):
            command(**options)

    return run


def _build_bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    texts = (TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn())
    facts = TextColumn("{task.fields[facts]}", markup=False)
    return Progress(SpinnerColumn(), *texts, TimeElapsedColumn(), facts, console=Console(stderr=True), transient=True)
