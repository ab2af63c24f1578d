"""Files of web servers: ranges where the server sends them, and folders whose page lists their files."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from sciprism.errors import InputError, import_extra
from sciprism.papers.remote.object_file import (
    CONTINUES,
    FIRST_BLOCK,
    MissingObjectError,
    NoPermissionError,
    ObjectBody,
    ObjectVersion,
    TransientError,
    changed,
    fixed_folder,
    is_signed,
    retry,
    show_address,
)

if TYPE_CHECKING:
    from requests import Response

TIMEOUT = 20, 60  # seconds until a connection is made, and between two answers
CONNECTIONS = 16
MAX_DEPTH = 8  # folders within folders that are listed
_RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
_LINK = re.compile(r"<a\s[^<>]*?href\s*=\s*[\"']([^\"']+)", re.IGNORECASE)
_EXPIRED = re.compile(rb"expired", re.IGNORECASE)
_TRANSIENT = (408, 425, 429)


class HttpStore:
    """Files of web servers; proxies and `.netrc` hold, and the headers of fsspec's settings (`FSSPEC_HTTP`)."""

    def __init__(self) -> None:
        with import_extra("scale", "reading https:// addresses"):
            import requests
            from fsspec.config import conf
        chosen = conf.get("http", {})
        self._session = requests.Session()
        self._session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=CONNECTIONS))
        self._session.mount("https://", requests.adapters.HTTPAdapter(pool_maxsize=CONNECTIONS))
        self._session.headers.update(chosen.get("client_kwargs", {}).get("headers", {}) | chosen.get("headers", {}))
        self._session.headers["Accept-Encoding"] = "identity"

    def find(self, address: str) -> ObjectVersion | None:
        """Return the version of a file, None of a folder: an address with a slash at its end."""
        if address.partition("?")[0].endswith("/"):
            return None
        answer = retry(lambda: self._request(address, 0, 1), lambda: show_address(address))
        with answer, suppress(TransientError), _explained(address):
            answer.raw.read(1, decode_content=False)  # a connection whose answer was read is used again
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
        addresses = [file for file in self._walk(folder, depth) if matches.fullmatch(file[len(folder) :])]
        return {address: self._find_file(address) for address in addresses}

    def open(self, address: str, version: ObjectVersion, start: int, stop: int | None) -> ObjectBody:
        """Ask for the bytes start..stop of a file. Raises InputError where it is not that version any more."""
        answer = self._request(address, start, stop)
        now = _version_of(answer)
        same = now.tag == version.tag if now.tag or version.tag else now.modified == version.modified
        span = _RANGE.fullmatch(answer.headers.get("Content-Range", "")) if answer.status_code == 206 else None
        first, last = (int(span[1]), int(span[2]) + 1) if span and span[1] else (0, now.size)
        if now.size != version.size or not same:
            answer.close()
            raise changed(show_address(address))
        if first > start or (span and first < start):
            answer.close()
            raise InputError(f"{show_address(address)}: the server sends other bytes than those it is asked for")

        def read(count: int) -> bytes:
            with _explained(address):
                content: bytes = answer.raw.read(count, decode_content=False)
            return content

        return ObjectBody(first, last, read, answer.close)

    def _find_file(self, address: str) -> ObjectVersion:
        version = self.find(address)
        assert version is not None, "links of folders are walked"
        return version

    def _walk(self, folder: str, depth: int) -> Iterator[str]:
        """Yield the files that the page of a folder links to, and those of folders below, sorted."""

        def ask() -> str:
            with self._request(folder, 0, None) as answer, _explained(folder):
                return answer.content.decode("utf-8", "replace")

        page = retry(ask, lambda: show_address(folder))
        for link in sorted({urljoin(folder, html.unescape(link)) for link in _LINK.findall(page)}):
            if not link.startswith(folder) or link == folder or "?" in link or "#" in link:
                continue  # a link to the folder above, or to another order of the list
            if not link.endswith("/"):
                yield link
            elif depth:
                yield from self._walk(link, depth - 1)

    def _request(self, address: str, start: int, stop: int | None) -> Response:
        """Return the answer to a request for a range: all of it, or the beginning of a whole file."""
        span = f"bytes={start}-" + ("" if stop is None else str(stop - 1))
        with _explained(address):
            answer = self._session.get(address, headers={"Range": span}, stream=True, timeout=TIMEOUT)
        if answer.status_code in (200, 206) or (answer.status_code == 416 and _version_of(answer).size == 0):
            return answer
        with answer, _explained(address):
            raise _explain_answer(address, answer)


def _version_of(answer: Response) -> ObjectVersion:
    """Return what the headers of an answer say of the whole file."""
    headers: Mapping[str, str] = answer.headers
    tag, modified = headers.get("ETag", ""), headers.get("Last-Modified", "")
    if answer.status_code in (206, 416):
        span = _RANGE.fullmatch(headers.get("Content-Range", ""))
        total = span[3] if span else "*"
        return ObjectVersion(None if total == "*" else int(total), tag, modified)
    length = headers.get("Content-Length", "")
    return ObjectVersion(int(length) if length.isdecimal() else None, tag, modified, ranged=False)


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """Turn errors of connections into TransientError or InputError; their own texts may hold a signature."""
    from requests import exceptions
    from urllib3.exceptions import HTTPError

    try:
        yield
    except (exceptions.SSLError, exceptions.TooManyRedirects, exceptions.InvalidURL) as error:
        advice = f"cannot be opened ({type(error).__name__}); check the address"
        raise InputError(f"{show_address(address)}: {advice}") from None
    except exceptions.ConnectionError as error:
        causes = [cause for cause in _chain(error) if isinstance(cause, OSError) and cause.strerror]
        reason = causes[-1].strerror if causes else type(error).__name__
        raise TransientError(f"the server cannot be reached ({reason})") from None
    except (exceptions.RequestException, HTTPError, OSError) as error:
        raise TransientError(f"the connection failed ({type(error).__name__})") from None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _explain_answer(address: str, answer: Response) -> Exception:
    shown, status, pause = show_address(address), answer.status_code, answer.headers.get("Retry-After", "")
    if status in _TRANSIENT or status >= 500:
        words = f"the server answers {status} {answer.reason or ''}".rstrip()
        return TransientError(words, float(pause) if pause.isdecimal() else 0.0)
    if status in (404, 410):
        return MissingObjectError(f"{shown}: the server has no such file ({status}); check the address")
    if status == 416:
        return changed(shown)
    if status in (400, 401, 403) and is_signed(address):
        state = "has expired" if _EXPIRED.search(answer.raw.read(FIRST_BLOCK)) else "is refused, or has expired"
        advice = f"fetch a new address, or a new listing of files: {CONTINUES}"
        return NoPermissionError(f"{shown}: the signed address {state} ({status}); {advice}")
    if status in (401, 403):
        advice = "put user and password in ~/.netrc, or a header in FSSPEC_HTTP, or check the address"
        return NoPermissionError(f"{shown}: no permission ({status}); {advice}: {CONTINUES}")
    return InputError(f"{shown}: the server refuses the request ({status}); check the address")
