"""Parallel map over threads or processes; the device of models that are loaded without one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, TypeVar

from sciprism.errors import InputError

T = TypeVar("T")
R = TypeVar("R")
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
        waiting = deque[Future[R]]()
        for piece in pieces:
            waiting.append(pool.submit(work, piece))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def map_processes(work: Callable[[T], R], pieces: Iterable[T], workers: int) -> Iterator[R]:
    """Yield work(piece) of each piece, in order, computed by several processes.

    work: is pickled and sent to each process once. workers: processes; 1 is this process itself. Only a few
    pieces are in progress at any time. Raises InputError for less than 1 worker.
    """
    if workers < 1:
        raise InputError(f"{workers} workers; at least 1 is needed")
    if workers == 1:
        yield from map(work, pieces)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("spawn")  # a fork would copy threads' locks
    with ProcessPoolExecutor(workers, context, _set_work, (work,)) as pool:
        waiting = deque[Future[Any]]()
        try:
            for piece in pieces:
                waiting.append(pool.submit(_run_work, piece))
                if len(waiting) > 2 * workers:
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
