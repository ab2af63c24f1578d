"""Do independent pieces of work side by side, each on one core."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

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
