"""Addresses of objects, and one object as a file.

Blocks are fetched as they are read, and a dropped connection continues where it stopped.
"""

from __future__ import annotations

import io
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from sciprism.errors import InputError

Result = TypeVar("Result")

TRIES = 6  # tries in a row without a single byte, until reading is given up
BACKOFF = 0.5  # seconds before the second try; exponential backoff, with random jitter of up to 50%
MAX_PAUSE = 60.0  # longest pause that a server may ask for, in seconds
CONTINUES = "nothing is lost, and the same command continues"
FIRST_BLOCK = 1 << 16
"""Bytes of the first request: enough for the head of a file. Further ones grow while reading goes straight on."""
LARGEST_BLOCK = 1 << 22
SKIPPED = 1 << 18  # bytes that are skipped at once, where a server sends an object from its start only


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


# ---- addresses, such as `s3://bucket/works/part_000.gz`, and the form of them that people see ----


WEB = ("http", "https")
SCHEMES = ("s3", "gs", *WEB)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(?=[^/])")
_WEB_PATTERN = re.compile(r"[*\[]")  # a question mark begins the query of a web address
_PATTERN = re.compile(r"[*?\[]")
_SHOWN_PARAMETERS = {"download", "file", "filename", "format", "id", "name", "page", "part", "path", "version"}
"""Parameters of web addresses that are shown; all others may be a signature or a key."""


def is_address(text: str | Path) -> bool:
    """Say whether a text is an address, not a path; also where a `Path` has made one slash of two."""
    return _SCHEME.match(str(text)) is not None


def parse_address(text: str | Path) -> str:
    """Return an address with its scheme in lower case. Raises InputError for a scheme that is not read."""
    match = _SCHEME.match(str(text))
    scheme = {"gcs": "gs"}.get(match[1].lower(), match[1].lower()) if match else ""
    if match is None or scheme not in SCHEMES:
        schemes = ", ".join(f"{name}://" for name in SCHEMES)
        raise InputError(f"{show_address(str(text))}: no address that can be read; known: {schemes}; or copy the file")
    return f"{scheme}://{str(text)[match.end() :]}"


def scheme_of(address: str) -> str:
    """Return the scheme of an address that was parsed."""
    return address.partition(":")[0]


def show_address(address: str) -> str:
    """Return an address without user, password, signature and fragment.

    >>> show_address("https://me:secret@host/dump.gz?Expires=9&Signature=x")
    'https://host/dump.gz'
    """
    scheme, mark, rest = address.partition("://")
    if not mark:
        return address
    host, slash, path = rest.partition("/")
    host = host.rpartition("@")[2]
    if scheme not in WEB:
        return f"{scheme}://{host}{slash}{path}"
    path, _, query = path.partition("#")[0].partition("?")
    shown = [(name, value) for name, value in parse_qsl(query) if name.lower() in _SHOWN_PARAMETERS]
    return f"{scheme}://{host}{slash}{path}" + (f"?{urlencode(shown)}" if shown else "")


def is_signed(address: str) -> bool:
    """Say whether a web address has parameters that may be a signature: such addresses expire."""
    return scheme_of(address) in WEB and show_address(address).count("=") < address.partition("?")[2].count("=")


def is_pattern(address: str) -> bool:
    """Say whether an address stands for the objects that it matches."""
    return (_WEB_PATTERN if scheme_of(address) in WEB else _PATTERN).search(_path_of(address)) is not None


def name_of(address: str) -> str:
    """Return the last part of an address, as a file's name."""
    path = _path_of(address).rstrip("/")
    name = path.rpartition("/")[2]
    return unquote(name) if scheme_of(address) in WEB else name


def join_address(folder: str, names: Sequence[str]) -> str:
    """Return the address of an object below a folder, which ends with a slash."""
    path = "/".join(names)
    return folder + (quote(path) if scheme_of(folder) in WEB else path)


def folder_of(address: str) -> str:
    """Return the folder of an object, with a slash at its end; a signature is not of other objects, and is dropped."""
    path = address.partition("?")[0] if scheme_of(address) in WEB else address
    return path.rpartition("/")[0] + "/"


def fixed_folder(pattern: str) -> str:
    """Return the folder in which all that a pattern matches lies."""
    return folder_of(re.split(r"[*?\[]", pattern)[0])


def split_path(address: str) -> tuple[str, ...]:
    """Return the bucket or host and the names below it."""
    parts = _path_of(address).split("/")
    return tuple(unquote(part) for part in parts if part) if scheme_of(address) in WEB else tuple(filter(None, parts))


def _path_of(address: str) -> str:
    """Return what follows the scheme, without user, query and fragment."""
    rest = address.partition("://")[2]
    if scheme_of(address) not in WEB:
        return rest
    parts = urlsplit(address)
    return parts.netloc.rpartition("@")[2] + parts.path
