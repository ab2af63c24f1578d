"""Errors with a message for users."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class ShownWarning(UserWarning):
    """Report what a user should know of a run; the command line prints the message alone."""


class InputError(ValueError):
    """Report a request or an input that is wrong: what, where, and what to do about it.

    The command line prints the message alone and exits with status 2.
    """


class DamagedFileError(InputError):
    """Report a file whose bytes are not those that were written."""


class AbsentDataError(InputError):
    """Report data that are not on this machine, and how to get them."""


class MissingExtraError(InputError):
    """Report an optional group of packages that is needed and not installed."""

    def __init__(self, extra: str, need: str) -> None:
        super().__init__(f'{need} needs the "{extra}" extra: pip install "sciprism[{extra}]"')


@contextmanager
def import_extra(extra: str, need: str) -> Iterator[None]:
    """Raise MissingExtraError where a package that is imported inside is not installed."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(extra, need) from error


class RunFailedError(RuntimeError):
    """Report a valid request that failed while it ran; the command line exits with 1."""


class InterruptedRunError(KeyboardInterrupt):
    """Report an interruption and what the run had stored; the command line exits with 130."""


class StaticModelError(InputError):
    """Report a model without a network where one is needed."""
