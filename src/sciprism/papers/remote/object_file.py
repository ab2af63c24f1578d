"""One object as a file: blocks are fetched as they are read, and a dropped connection continues where it stopped."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from sciprism.papers.remote.address import show_address
from sciprism.papers.remote.failures import TransientError, retry

FIRST_BLOCK = 1 << 16
"""Bytes of the first request: enough for the head of a file. Further ones grow while reading goes straight on."""
LARGEST_BLOCK = 1 << 22
SKIPPED = 1 << 18
"""Bytes that are skipped at once, where a server sends an object from its start only."""


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


class ObjectBody(Protocol):
    """The bytes start..stop of an object, read once; `start` may lie before what was asked for, `stop` be unknown."""

    start: int
    stop: int | None

    def read(self, count: int) -> bytes:
        """Return at most `count` bytes, none at the end. Raises TransientError where the connection drops."""
        ...

    def close(self) -> None:
        """Release the connection."""
        ...


class OpensObjects(Protocol):
    """Opens a range of an object of a known version."""

    def open(self, address: str, version: ObjectVersion, start: int, stop: int | None) -> ObjectBody:
        """Ask for the bytes start..stop. Raises TransientError, or InputError where another try is useless."""
        ...


class BytesBody:
    """A range that was fetched; failure: what ended it early, raised after the bytes that came."""

    def __init__(self, start: int, stop: int, content: bytes, failure: Exception | None = None) -> None:
        self.start = start
        self.stop: int | None = stop
        self._content, self._failure = io.BytesIO(content), failure

    def read(self, count: int) -> bytes:
        """Return at most `count` bytes, none at the end."""
        content = self._content.read(count)
        if not content and self._failure is not None:
            raise self._failure
        return content

    def close(self) -> None:
        """Release the bytes."""
        self._content.close()


async def pull(read: Callable[[int], Awaitable[bytes]], count: int) -> tuple[bytes, Exception | None]:
    """Return the next `count` bytes of an answer, or fewer at its end; and the error that ended it, with what came."""
    pieces: list[bytes] = []
    try:
        while count and (piece := await read(count)):
            pieces.append(piece)
            count -= len(piece)
    except Exception as error:  # noqa: BLE001 (of any kind of connection: the caller raises it again)
        return b"".join(pieces), error
    return b"".join(pieces), None


class ObjectFile(io.RawIOBase):
    """An object of one version, read by blocks; memory holds no more than a block.

    Raises InputError where an object changes, and where `TRIES` tries in a row yield no byte.
    """

    def __init__(self, store: OpensObjects, address: str, version: ObjectVersion) -> None:
        super().__init__()
        self._store, self._address, self._version = store, address, version
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
        body = self._store.open(self._address, self._version, self._position, size and min(stop, size))
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
