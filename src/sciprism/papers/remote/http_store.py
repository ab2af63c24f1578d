"""Objects of web servers: ranges where the server sends them, and folders whose page lists their files."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

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
from sciprism.papers.remote.object_file import ObjectBody, ObjectVersion

CONNECT_SECONDS = 20
READ_SECONDS = 60
MAX_DEPTH = 8
"""Folders within folders that are listed."""

_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_EXPIRED = re.compile(rb"expired", re.IGNORECASE)
_TRANSIENT = (408, 425, 429)
_HEAD = 4096


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
        self._close(answer)
        return _version_of(answer)

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
        found = _version_of(answer)
        if (found.size, found.tag, found.tag or found.modified) != (
            version.size,
            version.tag,
            version.tag or version.modified,
        ):
            self._close(answer)
            raise changed(show_address(address))
        span = _RANGE.fullmatch(answer.headers.get("Content-Range", "")) if answer.status == 206 else None
        body = _HttpBody(self, address, answer)
        body.start, body.stop = (int(span[1]), int(span[2]) + 1) if span and span[1] else (0, found.size)
        if body.start > start:
            body.close()
            raise InputError(f"{show_address(address)}: the server sends other bytes than those it is asked for")
        return body

    def read(self, address: str, answer: Any, count: int) -> bytes:
        """Return at most `count` bytes of an answer."""
        content: bytes = self._run(address, lambda: answer.content.read(count))
        return content

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

    def _request(self, address: str, start: int, stop: int | None) -> Any:
        """Return the answer to a request for a range, whose bytes are not read yet."""
        options = dict(self._files.kwargs)
        span = f"bytes={start}-" + ("" if stop is None else str(stop - 1))
        headers = {**options.pop("headers", {}), "Range": span, "Accept-Encoding": "identity"}

        async def ask() -> Any:
            import yarl

            session = await self._files.set_session()
            url = yarl.URL(address, encoded="%" in address)  # a signature holds for these very characters
            return await session.get(url, headers=headers, timeout=self._timeout, **options)

        answer = self._run(address, ask)
        if answer.status in (200, 206) or (answer.status == 416 and _version_of(answer).size == 0):
            return answer
        try:
            head = self._run(address, lambda: answer.content.read(_HEAD))
        finally:
            self._close(answer)
        raise _explain_status(address, answer, head)

    def _run(self, address: str, action: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        from fsspec.asyn import sync

        with _explained(address):
            return sync(self._files.loop, action)

    def _close(self, answer: Any) -> None:
        self._files.loop.call_soon_threadsafe(answer.close)


class _HttpBody:
    """The bytes of an answer."""

    start = 0
    stop: int | None = None

    def __init__(self, store: HttpStore, address: str, answer: Any) -> None:
        self._store, self._address, self._answer = store, address, answer

    def read(self, count: int) -> bytes:
        return self._store.read(self._address, self._answer, count)

    def close(self) -> None:
        self._store._close(self._answer)


def _version_of(answer: Any) -> ObjectVersion:
    """Return what the headers of an answer say of the whole file."""
    tag, modified = answer.headers.get("ETag", ""), answer.headers.get("Last-Modified", "")
    if answer.status in (206, 416):
        span = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        total = span[3] if span else "*"
        return ObjectVersion(None if total == "*" else int(total), tag, modified)
    length = answer.headers.get("Content-Length", "")
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


def _explain_status(address: str, answer: Any, head: bytes) -> Exception:
    pause = answer.headers.get("Retry-After", "")
    if answer.status in _TRANSIENT or answer.status >= 500:
        words = f"the server answers {answer.status} {answer.reason or ''}".rstrip()
        return TransientError(words, float(pause) if pause.isdecimal() else 0.0)
    return _explain_code(address, answer.status, head)


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
