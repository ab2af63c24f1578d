"""Objects of S3, Google Cloud Storage and web servers as input files, all by fsspec.

What is there, bytes of one version, another try after a failure that may pass, one clear line for other failures.
"""

from __future__ import annotations

import errno
import logging
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar
from urllib.parse import parse_qsl, quote, unquote, urlencode

from sciprism.errors import InputError, import_extra

Result = TypeVar("Result")

WEB = ("http", "https")

TRIES = 6  # of one request; gcsfs has as many of its own
BACKOFF = 0.5  # seconds before the second try; exponential backoff, with random jitter of up to 50%
MAX_PAUSE = 60.0  # longest pause that a server may ask for, in seconds
CONTINUES = "nothing is lost, and the same command continues"
ADVICE = {
    "s3": "needed are s3:GetObject, s3:ListBucket, and AWS_PROFILE (aws sso login) or AWS_ACCESS_KEY_ID and its secret",
    "gs": "needed are storage.objects.get and .list, and GOOGLE_APPLICATION_CREDENTIALS or gcloud auth login",
} | dict.fromkeys(WEB, "put user and password in ~/.netrc; where the address is signed, fetch a new one")
_LIBRARIES = {"aiobotocore", "aiohttp", "botocore", "fsspec", "gcsfs", "google"}
_CREDENTIALS = re.compile("Credential|Token|Profile|SSO|Auth|Refresh")
_CHANGED = re.compile("PreconditionFailed|InvalidRange|412|416")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(?=[^/])")
_SHOWN_PARAMETERS = {"download", "file", "filename", "format", "id", "name", "page", "part", "path", "version"}
"""Parameters of web addresses that are shown; all others may be a signature or a key."""


class MissingObjectError(InputError):
    """Report an address at which there is nothing."""


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


@cache
def open_store(scheme: str) -> Any:
    """Return the file system of a scheme. Raises MissingExtraError where its package is missing."""
    with import_extra("scale", f"reading {scheme}:// addresses"):
        from fsspec import get_filesystem_class
        from fsspec.config import conf

        kind = get_filesystem_class(scheme)
        logging.getLogger("gcsfs").setLevel(logging.CRITICAL)  # it prints tracebacks
        options: dict[str, Any] = {"access": "read_only", "version_aware": True}
        if scheme == "s3":
            from botocore.session import Session

            options = {"config_kwargs": {"retries": {"total_max_attempts": 1}}}  # `_ask` tries again
            if not (conf.get("s3") or Session().get_credentials()):  # public buckets can be read
                options["anon"] = True
        elif scheme in WEB:
            from aiohttp import ClientTimeout

            waits = ClientTimeout(sock_connect=20, sock_read=60)
            options = {"simple_links": False, "client_kwargs": {"trust_env": True, "timeout": waits}}
    files = kind(use_listings_cache=False, skip_instance_cache=True, **options)
    files.retries = 1
    return files


def find_version(address: str) -> ObjectVersion | None:
    """Return the version of an object, None of a folder. Raises MissingObjectError where there is neither."""
    if address.startswith(WEB):
        return None if _path_of(address).endswith("/") else _ask(address, lambda files: _get(files, address, 0, 1)[0])
    info = _ask(address, lambda files: files.info(address))
    return None if info["type"] == "directory" else _version_of(info)


def _list(address: str, method: Literal["find", "glob"]) -> dict[str, ObjectVersion | None]:
    """Return address -> version of what lies in a folder or is matched, None of folders (a slash at their end)."""
    scheme = scheme_of(address)
    strict = {"on_error": "raise"} if scheme in WEB else {}
    found = _ask(address, lambda files: getattr(files, method)(address, detail=True, **strict))
    versions: dict[str, ObjectVersion | None] = {}
    for name, info in found.items():
        if scheme in WEB and not re.search("[?#]", name):  # a link of the page to another order of it
            versions[name] = find_version(name)
        elif scheme not in WEB and info["type"] == "directory":
            versions[f"{scheme}://{name.rstrip('/')}/"] = None
        elif scheme not in WEB and not name.endswith("/"):  # an empty object in place of a folder
            versions[f"{scheme}://{name}"] = _version_of(info)
    return versions


def _version_of(info: Mapping[str, Any]) -> ObjectVersion:
    return ObjectVersion(int(info["size"]), str(info.get("generation") or info.get("ETag") or "").strip('"'))


def _fetch(files: Any, address: str, version: ObjectVersion, start: int, stop: int) -> bytes:
    """Return the bytes start..stop of an object. Raises InputError where it is not of that version any more."""
    from fsspec.asyn import sync

    if address.startswith(WEB):
        now, content = _get(files, address, start, stop)
        if (now.size, now.tag or now.modified, now.ranged) != (version.size, version.tag or version.modified, True):
            raise _changed(address)
        return content
    try:
        if scheme_of(address) == "gs":
            return bytes(files.cat_file(address, start=start, end=stop, generation=version.tag))
        bucket, key, _ = files.split_path(address)
        span = {"Range": f"bytes={start}-{stop - 1}", "IfMatch": version.tag}
        return bytes(sync(files.loop, files.call_s3("get_object", Bucket=bucket, Key=key, **span)["Body"].read))
    except FileNotFoundError:
        raise _changed(address) from None


def _get(files: Any, address: str, start: int, stop: int) -> tuple[ObjectVersion, bytes]:
    """Return what a web server says of a file, and these bytes of it; none where it would send all."""
    from fsspec.asyn import sync

    headers = files.kwargs.get("headers", {}) | {"Range": f"bytes={start}-{stop - 1}", "Accept-Encoding": "identity"}

    async def get() -> tuple[ObjectVersion, bytes]:
        session = await files.set_session()
        async with session.get(files.encode_url(address), **files.kwargs | {"headers": headers}) as answer:
            if answer.status >= 400 and answer.status != 416:
                answer.raise_for_status()
            span, _, total = answer.headers.get("Content-Range", "").partition("/")
            ranged = span in (f"bytes {start}-{stop - 1}", "bytes */0") and total.isdecimal()
            size = total if ranged else answer.headers.get("Content-Length")
            tag, modified = (answer.headers.get(name, "") for name in ("ETag", "Last-Modified"))
            version = ObjectVersion(None if size is None else int(size), tag, modified, ranged=ranged)
            return version, await answer.read() if ranged else b""

    return sync(files.loop, get)  # type: ignore[no-any-return]  # fsspec has no types


def _ask(address: str, action: Callable[[Any], Result], place: str = "cannot be reached") -> Result:
    """Return what a file system answers; it is asked again after failures that may pass. Others are an InputError."""
    scheme, shown = scheme_of(address), show_address(address)
    for number in range(1, TRIES + 1):
        try:
            return action(open_store(scheme))
        except InputError:
            raise
        except Exception as error:
            library = type(error).__module__.partition(".")[0]
            if not isinstance(error, OSError | ValueError) and library not in _LIBRARIES:
                raise
            status = getattr(error, "status", 0) or getattr(error, "code", 0)  # of aiohttp, of gcsfs
            words = "" if library == "aiohttp" else " ".join(str(error.__cause__ or error).split())  # may be signed
            reason = words or (f"status {status}" if status else type(error).__name__)
            if refusal := _refuse(error, status, reason, address):
                raise refusal from None
            if number == TRIES or scheme == "gs":
                raise InputError(f"{shown}: {place} ({reason}), {TRIES} times; try again later: {CONTINUES}") from None
            asked = (getattr(error, "headers", None) or {}).get("Retry-After", "")
        pause = min(float(asked), MAX_PAUSE) if asked.isdecimal() else 0.0
        time.sleep(max(BACKOFF * 2 ** (number - 1) * random.uniform(1.0, 1.5), pause))
    raise AssertionError("unreachable")


def _refuse(error: Exception, status: int, reason: str, address: str) -> InputError | None:
    """Return the error for a failure that another try does not mend, None for others."""
    shown, kind = show_address(address), type(error).__name__
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        return MissingObjectError(f"{shown}: no such file, folder or bucket; check the address")
    invalid = isinstance(error, ValueError) or getattr(error, "errno", 0) == errno.EINVAL
    if invalid and _CHANGED.search(reason):
        return _changed(address)
    refused = isinstance(error, PermissionError) or reason.startswith("Forbidden") or _CREDENTIALS.search(kind)
    if refused or invalid or (400 <= status < 500 and status not in (408, 425, 429)):
        advice = f"{ADVICE[scheme_of(address)]}: {CONTINUES}"
        return InputError(f"{shown}: the request is refused ({reason}); {advice}")
    return None


def _changed(address: str) -> InputError:
    """Return the error for an object that is not the one whose reading was begun."""
    advice = "run the command again when it is complete, with a new folder if another part was begun with the former"
    return InputError(f"{show_address(address)} has changed while it was read; {advice}")


@dataclass(frozen=True)
class RemoteObject:
    """An object that is read as a file; its text is the address without credentials.

    version: as it was found, and the one whose bytes are read.
    """

    address: str
    version: ObjectVersion = field(compare=False)

    def __str__(self) -> str:
        return show_address(self.address)

    @property
    def name(self) -> str:
        """Return the last part of the address."""
        return split_path(self.address)[-1]

    def is_file(self) -> bool:
        """Return True."""
        return True

    def open(self, mode: Literal["rb"] = "rb", buffering: int = -1) -> Any:  # noqa: ARG002 (as of `Path`)
        """Open the bytes, of a server that sends no ranges a copy. Raises InputError where the object has changed."""
        from sciprism.papers.remote.object_file import ObjectFile

        if self.version.ranged:
            return ObjectFile(self._fetch, self.version.size)
        with TemporaryDirectory(prefix="sciprism-") as folder:
            copy = Path(folder) / "copy"
            _ask(self.address, lambda files: files.get_file(self.address, str(copy)))
            if find_version(self.address) != self.version:
                raise _changed(self.address)
            return copy.open("rb")

    def _fetch(self, start: int, stop: int) -> bytes:
        place = f"cannot be read beyond byte {start:,} of {self.version.size:,}"
        return _ask(self.address, lambda files: _fetch(files, self.address, self.version, start, stop), place)


@dataclass(frozen=True)
class RemoteFolder:
    """A folder of objects; files: path below it -> object, sorted as `Path` sorts."""

    address: str
    files: Mapping[str, RemoteObject]

    def __str__(self) -> str:
        return show_address(self.address)


def find_remote(text: str | Path) -> list[RemoteObject | RemoteFolder]:
    """Return the object or the folder of an address, or all that it matches, sorted.

    Raises MissingObjectError where there is nothing, InputError where it cannot be read.
    """
    address = parse_address(text)
    if not re.search(r"[*?\[]", _path_of(address)):  # a question mark begins the query of the web's
        return [_open_found(address, find_version(address))]
    matches = _list(address, "glob")
    if not (matches or scheme_of(address) in WEB):  # fsspec takes a bucket that may not be listed for an empty one
        find_version(f"{scheme_of(address)}://{split_path(address)[0]}")
    visible = sorted((match for match in matches if "/." not in match), key=split_path)
    if not visible:
        raise MissingObjectError(f"{show_address(address)}: no object or folder matches this pattern")
    folders = tuple(match for match in visible if matches[match] is None)
    outer = [match for match in visible if not match.removesuffix("/").startswith(folders)]
    return [_open_found(match, matches[match]) for match in outer]


def _open_found(address: str, version: ObjectVersion | None) -> RemoteObject | RemoteFolder:
    if version is not None:
        return RemoteObject(address, version)
    folder = address.rstrip("/") + "/"
    versions = {path: version for path, version in _list(folder, "find").items() if version}
    return RemoteFolder(
        folder, {path[len(folder) :]: RemoteObject(path, versions[path]) for path in sorted(versions, key=split_path)}
    )


# ---- addresses, such as `s3://bucket/works/part_000.gz`, and the form of them that people see ----


def is_address(text: str | Path) -> bool:
    """Say whether a text is an address, not a path; also where a `Path` has made one slash of two."""
    return _SCHEME.match(str(text)) is not None


def parse_address(text: str | Path) -> str:
    """Return an address with its scheme in lower case. Raises InputError for a scheme that is not read."""
    match = _SCHEME.match(str(text))
    scheme = match[1].lower().replace("gcs", "gs") if match else ""
    if match is None or scheme not in ("s3", "gs", *WEB):
        raise InputError(f"{show_address(str(text))}: not of s3://, gs://, http:// or https://; copy the file")
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
    shown = f"{scheme}://{host.rpartition('@')[2]}{slash}"
    if scheme not in WEB:
        return shown + path
    path, _, query = path.partition("#")[0].partition("?")
    parameters = [(name, value) for name, value in parse_qsl(query) if name.lower() in _SHOWN_PARAMETERS]
    return f"{shown}{path}" + (f"?{urlencode(parameters)}" if parameters else "")


def join_address(address: str, names: Sequence[str]) -> str:
    """Return the address of a file below an object's folder; a signature is not of other objects, and is dropped."""
    folder = _path_of(address).rpartition("/")[0]
    return "/".join((folder, *(map(quote, names) if folder.startswith(WEB) else names)))


def split_path(address: str) -> tuple[str, ...]:
    """Return the bucket or host and the names below it."""
    names = filter(None, _path_of(address).split("/")[2:])
    return tuple(map(unquote, names) if address.startswith(WEB) else names)


def _path_of(address: str) -> str:
    """Return an address without query and fragment."""
    return re.split("[?#]", address)[0] if address.startswith(WEB) else address
