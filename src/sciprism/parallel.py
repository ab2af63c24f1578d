"""Parallel map over threads or processes; how work says how far it is; the device of models loaded without one."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")
PROCESSES = min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
"""The processor's cores that we may use, and no more than 8: each process has its own copy of its work."""
PATIENCE = 2.0  # seconds of work that do not pay for a process
DEVICE: ContextVar[str] = ContextVar("device", default="")  # "": cuda where there is one, else cpu


def count_threads() -> int:
    """Return on how many threads torch is set to compute."""
    import torch

    return torch.get_num_threads()


def map_threads(work: Callable[[T], R], pieces: Iterable[T]) -> list[R]:
    """Return work(piece) of each piece, in order, on as many threads as torch is set to use.

    In each thread torch uses one core: no core waits for another, and a piece gives the same bits with any
    number of cores. torch's setting is restored afterwards.
    """
    import torch

    threads = count_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            return list(pool.map(work, pieces))
    finally:
        torch.set_num_threads(threads)


def map_ahead(work: Callable[[T], R], pieces: Iterable[T], ahead: int = 2) -> Iterator[R]:
    """Yield work(piece) of each piece, in order; a thread is ahead of the caller by some pieces."""
    with ThreadPoolExecutor(1) as pool:
        yield from _map_in_order(pool, work, pieces, ahead)


def map_processes(work: Callable[[T], R], pieces: Iterable[T], *, at_once: bool = False) -> Iterator[R]:
    """Yield work(piece) of each piece, in order, computed by `PROCESSES` processes; a few are in progress at a time.

    Little work is done in this process: others start after `PATIENCE` seconds, or at_once. work: is pickled and
    sent to each process once.
    """
    rest, none, began = iter(pieces), object(), time.monotonic()
    while PROCESSES == 1 or (not at_once and time.monotonic() - began < PATIENCE):
        if (piece := next(rest, none)) is none:
            return
        yield work(piece)  # type: ignore[arg-type]
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # By default a process is a fork, which would copy threads' locks.
    with ProcessPoolExecutor(PROCESSES, get_context("spawn"), _set_work, (work,)) as pool:
        yield from _map_in_order(pool, _run_work, rest, 2 * PROCESSES)


def _map_in_order(pool: Executor, work: Callable[[Any], R], pieces: Iterable[Any], ahead: int) -> Iterator[R]:
    waiting = deque[Future[R]]()
    try:
        for piece in pieces:
            waiting.append(pool.submit(work, piece))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


_work: list[Callable[[Any], Any]] = []  # the function of a worker process


def _set_work(work: Callable[[Any], Any]) -> None:
    _work[:] = [work]


def _run_work(piece: Any) -> Any:
    return _work[0](piece)


Item = TypeVar("Item")


class Progress(Protocol):
    """Is called often with a piece of work, what is counted ("": nothing), how many are done, and of how many.

    A piece of work begins with the first call that names it. total: None where it is unknown.
    """

    def __call__(self, work: str, unit: str = "", done: int = 0, total: int | None = None, /) -> object:
        """Show the state."""


def show_nothing(work: str, unit: str = "", done: int = 0, total: int | None = None, /) -> None:
    """Show nothing: the default."""


def show_each(
    items: Iterable[Item], progress: Progress, work: str, unit: str, total: int | None = None
) -> Iterator[Item]:
    """Yield items, and show how many."""
    for done, item in enumerate(items, 1):
        yield item
        progress(work, unit, done, total)
