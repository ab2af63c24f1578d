"""The one family of errors that a person is meant to read."""

from __future__ import annotations


class InputError(ValueError):
    """Report a request or an input that is wrong: what, where, and what to do about it.

    The command line prints the message alone and exits with status 2.
    """


class MissingExtraError(InputError):
    """Report an optional group of packages that a request needs and that is not installed."""

    def __init__(self, extra: str, need: str) -> None:
        super().__init__(f'{need} needs the "{extra}" extra: pip install "sciprism[{extra}]"')


class BrokeError(RuntimeError):
    """Report work that broke on the way though the request was right; the command line exits with 1."""
