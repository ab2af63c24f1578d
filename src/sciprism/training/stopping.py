"""Stop between two steps, not in one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def asked_to_stop() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C and SIGTERM wait until a step is done; a second one does not. Yields whether one came."""
    came: list[int] = []

    def note(signal_number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if came:
            raise KeyboardInterrupt
        came.append(signal_number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(came)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
