"""Objects of web servers: ranges where the server sends them, and folders whose page lists their files."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from sciprism.errors import InputError, MissingExtraError
from sciprism.papers.remote.address import fixed_folder, is_signed, show_address
from sciprism.papers.remote.failures import (
    CONTINUES,
    MissingObjectError,
    NoPermissionError,
    TransientError,
    changed,
    retry,
)
from sciprism.papers.remote.object_file import FIRST_BLOCK, ObjectBody, ObjectVersion, pull

Result = TypeVar("Result")

CONNECT_SECONDS = 20
READ_SECONDS = 60
MAX_DEPTH = 8
"""Folders within folders that are listed."""

_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_EXPIRED = re.compile(rb"expired", re.IGNORECASE)
_TRANSIENT = (408, 425, 429)


class HttpStore:
    """Files of web servers, through the session of fsspec: its settings, proxies and `.netrc` hold."""

    def __init__(self) -> None:
        try:
            import aiohttp
            from fsspec.implementations.http import HTTPFileSystem
        except ImportError:
            raise MissingExtraError("scale", "reading https:// addresses") from None
        from fsspec.config import conf

        client = {"trust_env": True, "auto_decompress": False, **conf.get("http", {}).get("client_kwargs", {})}
        self._files = HTTPFileSystem(client_kwargs=client, skip_instance_cache=True, use_listings_cache=False)
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS)

    def find(self, address: str) -> ObjectVersion | None:
        """Return the version of a file, None of a folder: an address with a slash at its end."""
        if address.partition("?")[0].endswith("/"):
            return None
        answer = retry(lambda: self._request(address, 0, 1), lambda: show_address(address))
        answer.close()
        return _version_of(answer.headers, answer.status)

    def list(self, folder: str) -> dict[str, ObjectVersion]:
        """Return address -> version of the files that the page of a folder links to, and those of its folders."""
        return {address: self._find_file(address) for address in self._walk(folder, MAX_DEPTH)}

    def match(self, pattern: str) -> dict[str, ObjectVersion | None]:
        """Return address -> version of the files that a pattern matches."""
        from fsspec.utils import glob_translate

        folder = fixed_folder(pattern)
        rest = pattern[len(folder) :]
        depth = MAX_DEPTH if "**" in rest else rest.count("/")
        matches = re.compile(glob_translate(rest))
        found = [each for each in self._walk(folder, depth) if matches.fullmatch(each[len(folder) :])]
        return {address: self._find_file(address) for address in found}

    def open(self, address: str, version: ObjectVersion, start: int, stop: int | None) -> ObjectBody:
        """Ask for the bytes start..stop of a file. Raises InputError where it is not that version any more."""
        answer = self._request(address, start, stop)
        found = _version_of(answer.headers, answer.status)
        same = found.tag == version.tag if found.tag or version.tag else found.modified == version.modified
        span = _RANGE.fullmatch(answer.headers.get("Content-Range", "")) if answer.status == 206 else None
        first, last = (int(span[1]), int(span[2]) + 1) if span and span[1] else (0, found.size)
        if found.size != version.size or not same:
            answer.close()
            raise changed(show_address(address))
        if first > start or (span and first < start):
            answer.close()
            raise InputError(f"{show_address(address)}: the server sends other bytes than those it is asked for")
        return _HttpBody(answer, first, last)

    def _find_file(self, address: str) -> ObjectVersion:
        version = self.find(address)
        assert version is not None, "links of folders are walked"
        return version

    def _walk(self, folder: str, depth: int) -> Iterator[str]:
        """Yield the files that the page of a folder links to, and those of folders below, sorted."""

        def ask() -> list[str]:
            with _explained(folder):
                return list(self._files.ls(folder, detail=False))

        links = retry(ask, lambda: show_address(folder))
        for link in sorted(set(links)):
            if not link.startswith(folder) or link == folder or "?" in link or "#" in link:
                continue  # a link to the folder above, or to another order of the list
            if not link.endswith("/"):
                yield link
            elif depth:
                yield from self._walk(link, depth - 1)

    def _request(self, address: str, start: int, stop: int | None) -> _Answer:
        """Return the answer to a request for a range: all of it, or the beginning of a whole file."""
        options = dict(self._files.kwargs)
        span = f"bytes={start}-" + ("" if stop is None else str(stop - 1))
        headers = {**options.pop("headers", {}), "Range": span, "Accept-Encoding": "identity"}

        async def ask() -> _Answer:
            import yarl

            session = await self._files.set_session()
            url = yarl.URL(address, encoded="%" in address)  # a signature holds for these very characters
            response = await session.get(url, headers=headers, timeout=self._timeout, **options)
            wanted = stop - start if response.status == 206 and stop is not None else FIRST_BLOCK
            return _Answer(self, address, response, *await pull(response.content.read, wanted))

        answer = self.run(address, ask)
        if answer.status in (200, 206) or (answer.status == 416 and _version_of(answer.headers, 416).size == 0):
            return answer
        answer.close()
        raise _explain_status(address, answer)

    def run(self, address: str, action: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
        """Return the result of a coroutine of the session. Raises TransientError or InputError where it fails."""
        from fsspec.asyn import sync

        with _explained(address):
            result: Result = sync(self._files.loop, action)
        return result

    def release(self, response: Any) -> None:
        """Close a connection, if its answer was not read to the end."""
        self._files.loop.call_soon_threadsafe(response.close)


class _Answer:
    """An answer of a server: its headers, and its bytes, the first of which have come."""

    def __init__(
        self, store: HttpStore, address: str, response: Any, content: bytes, failure: Exception | None
    ) -> None:
        self.status: int = response.status
        self.reason: str = response.reason or ""
        self.headers: Mapping[str, str] = response.headers
        self.start, self._failure = content, failure
        self._pending = io.BytesIO(content)
        self._store, self._address, self._response = store, address, response

    def read(self, count: int) -> bytes:
        """Return at most `count` bytes that follow, none at the end; what came before a failure first."""
        content = self._pending.read(count)
        if not content and self._failure is None:
            wanted = max(count, FIRST_BLOCK)
            more, self._failure = self._store.run(self._address, lambda: pull(self._response.content.read, wanted))
            self._pending = io.BytesIO(more)
            content = self._pending.read(count)
        if not content and self._failure is not None:
            with _explained(self._address):
                raise self._failure
        return content

    def close(self) -> None:
        """Release the connection."""
        self._store.release(self._response)


class _HttpBody:
    """The bytes of an answer, and where they are in the file."""

    def __init__(self, answer: _Answer, start: int, stop: int | None) -> None:
        self.start, self.stop = start, stop
        self.read, self.close = answer.read, answer.close


def _version_of(headers: Mapping[str, str], status: int) -> ObjectVersion:
    """Return what the headers of an answer say of the whole file."""
    tag, modified = headers.get("ETag", ""), headers.get("Last-Modified", "")
    if status in (206, 416):
        span = _RANGE.fullmatch(headers.get("Content-Range", ""))
        total = span[3] if span else "*"
        return ObjectVersion(None if total == "*" else int(total), tag, modified)
    length = headers.get("Content-Length", "")
    return ObjectVersion(int(length) if length.isdecimal() else None, tag, modified, ranged=False)


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """Turn errors of connections into TransientError or InputError; their own texts may hold a signature."""
    import aiohttp

    shown = show_address(address)
    try:
        yield
    except (aiohttp.ClientSSLError, aiohttp.TooManyRedirects, aiohttp.InvalidURL) as error:
        raise InputError(f"{shown}: cannot be opened ({type(error).__name__}); check the address") from None
    except aiohttp.ClientResponseError as error:
        raise _explain_code(address, error.status, b"") from None
    except FileNotFoundError:
        raise _explain_code(address, 404, b"") from None
    except aiohttp.ClientConnectorError as error:
        reason = error.os_error.strerror or type(error).__name__
        raise TransientError(f"the server cannot be reached ({reason})") from None
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise TransientError(f"the connection failed ({type(error).__name__})") from None


def _explain_status(address: str, answer: _Answer) -> Exception:
    pause = answer.headers.get("Retry-After", "")
    if answer.status in _TRANSIENT or answer.status >= 500:
        words = f"the server answers {answer.status} {answer.reason}".rstrip()
        return TransientError(words, float(pause) if pause.isdecimal() else 0.0)
    return _explain_code(address, answer.status, answer.start)


def _explain_code(address: str, status: int, head: bytes) -> Exception:
    shown = show_address(address)
    if status >= 500:
        return TransientError(f"the server answers {status}")
    if status in (404, 410):
        return MissingObjectError(f"{shown}: the server has no such file ({status}); check the address")
    if status == 416:
        return changed(shown)
    if status in (400, 401, 403) and is_signed(address):
        state = "has expired" if _EXPIRED.search(head) else "is refused, or has expired"
        advice = f"fetch a new address, or a new listing of files: {CONTINUES}"
        return NoPermissionError(f"{shown}: the signed address {state} ({status}); {advice}")
    if status in (401, 403):
        advice = "put user and password in ~/.netrc, or a header in FSSPEC_HTTP, or check the address"
        return NoPermissionError(f"{shown}: no permission ({status}); {advice}: {CONTINUES}")
    return InputError(f"{shown}: the server refuses the request ({status}); check the address")
