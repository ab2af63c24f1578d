"""Jobs side by side, each in a process, and data that they share.

A run of a small encoder keeps one core busy and a GPU hardly at all, so a GPU serves as many runs as there are cores,
with NVIDIA's multi-process service best. Processes are forked: what the parent has read, they have without reading it.
"""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.context import ForkProcess
from pathlib import Path

from sciprism.errors import InputError
from sciprism.evaluation.run import TaskData
from sciprism.evaluation.task import Task

POLL = 0.2
"""Seconds between two looks at the processes."""


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do in a process. needs: the names of jobs that are done before it. log: its output."""

    name: str
    do: Callable[[], object]
    log: Path
    needs: tuple[str, ...] = ()

    def run(self) -> None:
        """Do it, with all output into the log, in a process group with the processes that it starts."""
        os.setpgid(0, 0)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("a", encoding="utf-8") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
            self.do()


@dataclass(slots=True)
class Scheduler:
    """Jobs in progress. processes: at most so many at a time. until: the time when all are stopped."""

    processes: int
    until: float = float("inf")
    began: float = field(default_factory=time.monotonic)
    live: dict[str, tuple[ForkProcess, float]] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)
    failed: set[str] = field(default_factory=set)

    def run(self, jobs: Iterable[Job], meanwhile: Callable[[], bool]) -> list[str]:
        """Do jobs, each once what it needs is done, the first of those first; return those that were not done.

        meanwhile: called between two looks at the processes, until it says that it has nothing left to do.
        """
        left, busy = list(jobs), True
        while (left or self.live) and time.time() < self.until:
            self._reap()
            left = [job for job in left if not self._starts(job)]
            if not self.live and not busy:
                break
            busy = busy and meanwhile()
            if not busy:
                time.sleep(POLL)
        for process, _ in self.live.values():
            with suppress(ProcessLookupError):  # it has just begun, or ended
                os.killpg(process.pid or 0, signal.SIGKILL)
            process.kill()
        return [*self.failed, *self.live, *(job.name for job in left)]

    def _starts(self, job: Job) -> bool:
        """Start a job if a process is free and its needs are done; return whether it was started."""
        if len(self.live) >= self.processes or not self.done.issuperset(job.needs):
            return False
        process = get_context("fork").Process(target=job.run, name=job.name)
        process.start()
        self.live[job.name] = process, time.monotonic()
        return True

    def _reap(self) -> None:
        for name, (process, started) in list(self.live.items()):
            if process.exitcode is not None:
                del self.live[name]
                (self.failed if process.exitcode else self.done).add(name)
                now, end = time.monotonic(), "FAILED" if process.exitcode else ""
                print(f"{now - self.began:6.0f} s  {name:<50} {now - started:5.0f} s  {end}", flush=True)


class SharedTasks:
    """Tasks whose data this process reads once, for those that it forks afterwards."""

    def __init__(self) -> None:
        self._known = dict[tuple[str, Path], TaskData]()
        self._unread = deque[TaskData]()

    def add(self, tasks: Iterable[Task], folder: Path) -> None:
        """Add tasks of a folder of data, to be read."""
        for task in tasks:
            if (task.key, folder) not in self._known:
                self._known[task.key, folder] = TaskData(task, folder)
                self._unread.append(self._known[task.key, folder])

    def read_next(self) -> bool:
        """Read the next task; return whether there was one. Errors in its data are reported when it is scored."""
        if not self._unread:
            return False
        with suppress(InputError, OSError):
            self._unread.popleft().read()
        return True

    def find(self, task: Task, folder: Path | None) -> TaskData:
        """Return a task's data as read here, or to be read."""
        return (self._known.get((task.key, folder)) if folder else None) or TaskData(task, folder)
