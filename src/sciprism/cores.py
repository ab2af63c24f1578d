"""Do independent pieces of work side by side: on the cores of one process, or on several processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from sciprism.errors import InputError

T = TypeVar("T")
R = TypeVar("R")


def on_all_cores(work: Callable[[T], R], pieces: Iterable[T]) -> list[R]:
    """Return work(piece) of each piece, in order, on as many threads as torch would use for one product.

    Each thread's torch uses one core: no core waits for another inside a piece, and a piece gives the
    same bits however many cores there are. torch's own setting is put back afterwards.
    """
    import torch

    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            return list(pool.map(work, pieces))
    finally:
        torch.set_num_threads(threads)


def on_processes(work: Callable[[T], R], pieces: Iterable[T], workers: int) -> Iterator[R]:
    """Yield work(piece) of each piece, in order, on as many processes as asked for.

    work: goes to each process once and must survive pickling; 1 worker is this process itself. Only a few
    pieces are under way at any time. Raises InputError for no worker.
    """
    if workers < 1:
        raise InputError(f"{workers} workers; at least 1 is needed")
    if workers == 1:
        yield from map(work, pieces)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context("spawn")  # a fork would copy threads' locks
    with ProcessPoolExecutor(workers, context, _equip, (work,)) as pool:
        waiting = deque[Future[Any]]()
        try:
            for piece in pieces:
                waiting.append(pool.submit(_do, piece))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


_equipped: list[Callable[[Any], Any]] = []
"""What a worker process does."""


def _equip(work: Callable[[Any], Any]) -> None:
    _equipped[:] = [work]


def _do(piece: Any) -> Any:
    return _equipped[0](piece)
