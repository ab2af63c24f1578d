"""What may go wrong with an object: what is tried again, what is not, and what a person should do."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from sciprism.errors import InputError

Result = TypeVar("Result")

TRIES = 6
"""Tries in a row without a single byte, until reading is given up."""
BACKOFF = 0.5
"""Seconds before the second try; exponential backoff, with random jitter of up to 50%."""
MAX_PAUSE = 60.0
"""Longest pause that a server may ask for, in seconds."""
CONTINUES = "nothing is lost, and the same command continues"


class TransientError(Exception):
    """A failure after which another try may succeed: a dropped connection, a throttle, an error of the server.

    pause: seconds that the server asks for.
    """

    def __init__(self, reason: str, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.pause = pause


class MissingObjectError(InputError):
    """Report an address at which there is nothing."""


class NoPermissionError(InputError):
    """Report an object that may not be read with these credentials."""


def changed(shown: str) -> InputError:
    """Return the error for an object that is not the one whose reading was begun."""
    return InputError(
        f"{shown} has changed while it was read; run the command again when it is complete, "
        "and name a new folder if another part was begun with the former one"
    )


def retry(action: Callable[[], Result], locate: Callable[[], str]) -> Result:
    """Return the result of an action, which is tried again after transient failures, with growing pauses.

    locate: names address and byte. Raises InputError after `TRIES` tries.
    """
    for number in range(1, TRIES + 1):
        try:
            return action()
        except TransientError as failure:
            if number == TRIES:
                raise InputError(
                    f"{locate()}: {failure}, {TRIES} times in a row; check the network and try again later: {CONTINUES}"
                ) from None
            pause = BACKOFF * 2 ** (number - 1) * random.uniform(1.0, 1.5)
            time.sleep(max(pause, min(failure.pause, MAX_PAUSE)))
    raise AssertionError("unreachable")
