"""One object as a file: blocks are fetched as they are read, and a dropped connection continues where it stopped."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from sciprism.errors import InputError
from sciprism.papers.remote.address import show_address

Result = TypeVar("Result")

TRIES = 6
"""Tries in a row without a single byte, until reading is given up."""
BACKOFF = 0.5
"""Seconds before the second try; exponential backoff, with random jitter of up to 50%."""
MAX_PAUSE = 60.0
"""Longest pause that a server may ask for, in seconds."""
CONTINUES = "nothing is lost, and the same command continues"
FIRST_BLOCK = 1 << 16
"""Bytes of the first request: enough for the head of a file. Further ones grow while reading goes straight on."""
LARGEST_BLOCK = 1 << 22
SKIPPED = 1 << 18
"""Bytes that are skipped at once, where a server sends an object from its start only."""


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


@dataclass(frozen=True, slots=True)
class ObjectVersion:
    """What tells that an object is the same: its size in bytes, and its ETag, generation or time of change.

    size: None where the server does not say it. tag: "" where there is none. modified: in the server's words.
    ranged: whether reading may begin anywhere.
    """

    size: int | None
    tag: str = ""
    modified: str = ""
    ranged: bool = True


class ObjectBody(NamedTuple):
    """The bytes start..stop of an object, read once; `start` may lie before what was asked for, `stop` be unknown.

    read: returns at most so many bytes, none at the end or where the connection drops. close: releases the connection.
    """

    start: int
    stop: int | None
    read: Callable[[int], bytes]
    close: Callable[[], None]


OpenRange = Callable[[str, ObjectVersion, int, int | None], ObjectBody]
"""Asks for the bytes start..stop of an address; raises TransientError, or InputError where another try is useless."""


class ObjectFile(io.RawIOBase):
    """An object of one version, read by blocks; memory holds no more than a block.

    open_range: `open` of the store of this object. Raises InputError where an object changes, and where `TRIES` tries
    in a row yield no byte.
    """

    def __init__(self, open_range: OpenRange, address: str, version: ObjectVersion) -> None:
        super().__init__()
        self._open_range, self._address, self._version = open_range, address, version
        self._position = 0
        self._body: ObjectBody | None = None
        self._block = FIRST_BLOCK
        self._ended = False  # an object of unknown size

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return whether the size is known."""
        return self._version.size is not None

    def tell(self) -> int:
        """Return the position in the object."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position of the object."""
        if self._version.size is None:
            raise io.UnsupportedOperation("the size of the object is unknown")
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._version.size}[whence]
        position = max(0, base + offset)
        if position != self._position:
            self._move(position)
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer, and return how many bytes came: fewer only at the end."""
        filled = 0
        while filled < len(buffer) and not self._is_at_end():
            content = retry(partial(self._read, len(buffer) - filled), self._locate)
            buffer[filled : filled + len(content)] = content
            filled += len(content)
            self._position += len(content)
        return filled

    def _is_at_end(self) -> bool:
        size = self._version.size
        return self._ended if size is None else self._position >= size

    def close(self) -> None:
        """Release the connection."""
        self._drop_body()
        super().close()

    def _read(self, count: int) -> bytes:
        """Return the next bytes, of another answer where one ends; b"" at the end of an object of unknown size."""
        try:
            while True:
                if self._body is None:
                    self._body = self._open(count)
                content = self._body.read(count)
                if content:
                    return content
                if self._body.stop is None:
                    self._ended = True
                    return b""
                if self._position < self._body.stop:
                    raise TransientError("the connection was closed early")
                self._drop_body()
        except BaseException:
            self._drop_body()
            raise

    def _open(self, count: int) -> ObjectBody:
        """Open the object at the position; what comes before it is read and dropped."""
        stop, size = self._position + max(count, self._block), self._version.size
        self._block = min(2 * self._block, LARGEST_BLOCK)
        body = self._open_range(self._address, self._version, self._position, size and min(stop, size))
        try:
            _skip(body, self._position - body.start)
        except BaseException:
            body.close()
            raise
        return body

    def _move(self, position: int) -> None:
        """Go to a position; where the object is sent from its start only, forwards without a new request."""
        if self._body is not None and not self._version.ranged and position > self._position:
            while self._position < position and self.readinto(bytearray(min(SKIPPED, position - self._position))):
                pass
        else:
            self._drop_body()
            self._block = FIRST_BLOCK
        self._position = position

    def _drop_body(self) -> None:
        body, self._body = self._body, None
        if body is not None:
            body.close()

    def _locate(self) -> str:
        total = "" if self._version.size is None else f" of {self._version.size:,}"
        return f"{show_address(self._address)}: cannot be read beyond byte {self._position:,}{total}"


def _skip(body: ObjectBody, count: int) -> None:
    while count:
        content = body.read(min(count, SKIPPED))
        if not content:
            raise TransientError("the connection was closed early")
        count -= len(content)
