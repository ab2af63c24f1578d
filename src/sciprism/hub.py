"""Tell at once whether the model hub can be reached: its client tries half a minute for each name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from sciprism.errors import InputError


def client_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that the hub's client raises for a bad request or a network failure."""
    from huggingface_hub import get_session
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    # The client's HTTP library differs between versions, and its errors are not OSError.
    library = sys.modules[type(get_session()).__module__.partition(".")[0]]
    return (EntryNotFoundError, HfHubHTTPError, HFValidationError, OSError, library.HTTPError)


@contextmanager
def ask_hub() -> Iterator[None]:
    """Raise InputError with the reason where the hub does not answer within seconds, or refuses what is asked inside.

    Whether it answers is tried once.
    """
    if reason := _find_fault():
        raise InputError(reason)
    try:
        yield
    except client_errors() as error:
        raise InputError(first_line(error)) from error


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or the error's name."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


@cache
def _find_fault() -> str:
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=5.0)
    except client_errors() as error:
        return first_line(error)
    return ""
