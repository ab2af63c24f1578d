"""Interrupts that wait for the end of a step."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def defer_interrupts() -> Iterator[Callable[[], bool]]:
    """Defer Ctrl-C and SIGTERM, but not a second one. Yields a function that says whether one came."""
    received: list[int] = []

    def receive(signal_number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if received:
            raise KeyboardInterrupt
        received.append(signal_number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
