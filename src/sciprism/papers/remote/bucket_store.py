"""Objects of S3 and Google Cloud Storage, by fsspec: what they are, what lies in folders, their bytes, their errors."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar

from sciprism.errors import InputError, MissingExtraError
from sciprism.papers.remote.object_file import (
    CONTINUES,
    MissingObjectError,
    NoPermissionError,
    ObjectBody,
    ObjectVersion,
    TransientError,
    changed,
    retry,
    scheme_of,
    show_address,
    split_path,
)

CONNECT_SECONDS = 20
READ_SECONDS = 60
RENEW = {
    "s3": "renew them (aws sso login, or a new AWS_SESSION_TOKEN)",
    "gs": "renew them (gcloud auth application-default login)",
}
CHOOSE = {
    "s3": "choose others with AWS_PROFILE, or with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "gs": "choose others with GOOGLE_APPLICATION_CREDENTIALS, or gcloud auth application-default login",
}
GRANT = {"s3": "ask for s3:GetObject and s3:ListBucket", "gs": "ask for storage.objects.get and storage.objects.list"}

_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired"}
_WRONG = {"InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "AuthFailure", "InvalidClientTokenId"}
_REFUSED = {"AccessDenied", "AllAccessDisabled", "AccountProblem", "InvalidObjectState", "Forbidden", "401", "403"}
_CHANGED = {"PreconditionFailed", "412", "InvalidRange", "416"}
_THROTTLED = {"SlowDown", "RequestTimeout", "Throttling", "ThrottlingException", "RequestLimitExceeded", "408", "429"}
_CREDENTIAL_ERRORS = re.compile(r"Credential|Token|Profile|SSO|GoogleAuthError|RefreshError")
_CONNECTION_ERRORS = re.compile(
    r"Timeout|Connect|Connection|HTTPClientError|Payload|IncompleteRead|ResponseStreaming|ServerDisconnected|Proxy|"
    r"ResponseParserError|ChunkedEncoding|TransportError|ChecksumError"
)
_FORBIDDEN = "Forbidden"  # the word of an OSError with which gcsfs reports status 403


class BucketStore:
    """What both stores have in common: `_files` is the file system of fsspec."""

    scheme: ClassVar[str]
    anonymous = False

    def __init__(self, files: Any) -> None:
        self._files = files

    def find(self, address: str) -> ObjectVersion | None:
        """Return the version of an object, None of a folder. Raises MissingObjectError where there is neither."""
        info = self._ask(address, lambda: self._files.info(address))
        return None if info["type"] == "directory" else self._version(info)

    def list(self, folder: str) -> dict[str, ObjectVersion]:
        """Return address -> version of all objects in a folder and below."""
        listing = self._ask(folder, lambda: self._files.find(folder, detail=True))
        return self._select(listing)

    def match(self, pattern: str) -> dict[str, ObjectVersion | None]:
        """Return address -> version of the objects that a pattern matches, None of folders (a slash at their end)."""
        listing = self._ask(pattern, lambda: self._files.glob(pattern, detail=True))
        if not listing:  # fsspec takes a bucket that may not be listed for an empty one
            self.find(f"{self.scheme}://{split_path(pattern)[0]}")
        folders = [name.rstrip("/") for name, info in listing.items() if info["type"] == "directory"]
        return {**self._select(listing), **{f"{self.scheme}://{name}/": None for name in folders}}

    def open(self, address: str, version: ObjectVersion, start: int, stop: int | None) -> ObjectBody:
        """Ask for the bytes start..stop of an object. Raises InputError where it is not that version any more."""
        with self._explained(address):
            try:
                return self._fetch(address, version, start, version.size or 0 if stop is None else stop)
            except FileNotFoundError:
                raise changed(show_address(address)) from None

    def _fetch(self, address: str, version: ObjectVersion, start: int, stop: int) -> ObjectBody:
        raise NotImplementedError

    def _version(self, info: Mapping[str, Any]) -> ObjectVersion:
        raise NotImplementedError

    def _select(self, listing: Mapping[str, Mapping[str, Any]]) -> dict[str, ObjectVersion]:
        """Return the objects of a listing; a folder may have an empty one of its name."""
        files = {name: info for name, info in listing.items() if info["type"] == "file" and not name.endswith("/")}
        return {f"{self.scheme}://{name}": self._version(info) for name, info in files.items()}

    def _ask(self, address: str, action: Callable[[], Any]) -> Any:
        def explained() -> Any:
            with self._explained(address):
                return action()

        return retry(explained, lambda: show_address(address))

    @contextmanager
    def _explained(self, address: str) -> Iterator[None]:
        """Turn what the libraries raise into TransientError or InputError."""
        try:
            yield
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001 (each library has its own; unknown ones are raised again)
            raise _explain_failure(error, address, anonymous=self.anonymous) or error from None


class S3Store(BucketStore):
    """Objects of S3, and of servers that speak its protocol."""

    scheme = "s3"

    def __init__(self) -> None:
        kind = _find_files_class("s3")
        from fsspec.config import conf

        chosen = conf.get("s3", {})
        timeouts = {
            "connect_timeout": CONNECT_SECONDS,
            "read_timeout": READ_SECONDS,
            "retries": {"total_max_attempts": 1},
        }
        options: dict[str, Any] = {"config_kwargs": timeouts | chosen.get("config_kwargs", {})}
        with self._explained("s3://"):
            if not {"anon", "key", "secret", "token"} & chosen.keys() and not _has_credentials(chosen.get("profile")):
                options["anon"] = True
        self.anonymous = bool(options.get("anon", chosen.get("anon", False)))
        files = kind(use_listings_cache=False, skip_instance_cache=True, **options)
        files.retries = 1  # `retry` tries again, and knows the byte
        super().__init__(files)

    def find(self, address: str) -> ObjectVersion | None:
        """Return the version of an object, None of a folder. Raises MissingObjectError where there is neither."""
        try:
            return super().find(address)
        except MissingObjectError:
            raise
        except InputError:  # the answer about an object says no reason, that of a request for it does
            self._ask(address, lambda: self._files.cat_file(address, start=0, end=1))
            raise

    def _version(self, info: Mapping[str, Any]) -> ObjectVersion:
        return ObjectVersion(int(info["size"]), str(info.get("ETag") or "").strip('"'))

    def _fetch(self, address: str, version: ObjectVersion, start: int, stop: int) -> ObjectBody:
        from fsspec.asyn import sync

        bucket, key, _ = self._files.split_path(address)
        options = {"Bucket": bucket, "Key": key, "Range": f"bytes={start}-{stop - 1}"}
        if version.tag:
            options["IfMatch"] = f'"{version.tag}"'

        async def fetch() -> tuple[int, bytes]:
            answer = await self._files._call_s3("get_object", self._files.req_kw, **options)
            content = b""
            try:
                while piece := await answer["Body"].read(stop - start - len(content)):
                    content += piece
            except Exception:  # noqa: BLE001 (a dropped connection: what came is used, and the rest asked for again)
                pass
            finally:
                answer["Body"].close()
            return int(answer["ContentLength"]), content

        length, content = sync(self._files.loop, fetch)
        if start + length != stop:
            raise changed(show_address(address))
        return _hold(start, stop, content)


class GoogleStore(BucketStore):
    """Objects of Google Cloud Storage."""

    scheme = "gs"

    def __init__(self) -> None:
        kind = _find_files_class("gs")
        with self._explained("gs://"):
            files = kind(access="read_only", version_aware=True, use_listings_cache=False, skip_instance_cache=True)
        self.anonymous = files.credentials.credentials is None
        super().__init__(files)

    def _version(self, info: Mapping[str, Any]) -> ObjectVersion:
        return ObjectVersion(int(info["size"]), str(info.get("generation") or info.get("etag") or ""))

    def _fetch(self, address: str, version: ObjectVersion, start: int, stop: int) -> ObjectBody:
        pinned = f"{address}#{version.tag}" if version.tag.isdecimal() else address
        content: bytes = self._files.cat_file(pinned, start=start, end=stop)
        if start + len(content) > stop:
            raise changed(show_address(address))
        return _hold(start, stop, content)


def _find_files_class(scheme: str) -> Any:
    """Return the file system of fsspec for a scheme. Raises MissingExtraError where its package is missing."""
    try:
        from fsspec import get_filesystem_class

        return get_filesystem_class(scheme)
    except ImportError:
        raise MissingExtraError("scale", f"reading {scheme}:// addresses") from None


def _hold(start: int, stop: int, content: bytes) -> ObjectBody:
    stream = io.BytesIO(content)
    return ObjectBody(start, stop, stream.read, stream.close)


def _has_credentials(profile: str | None) -> bool:
    """Say whether the variables, files and roles of AWS give credentials; without, public buckets can be read."""
    session = import_module("botocore.session").Session(profile=profile)
    return session.get_credentials() is not None


def _explain_failure(error: BaseException, address: str, *, anonymous: bool) -> Exception | None:
    """Return what to raise for an error of fsspec and the libraries below it, None where it is no known one."""
    shown, scheme = show_address(address), scheme_of(address)
    code, text = _find_code(error)
    status = int(code) if code.isdecimal() else 0
    if code in _THROTTLED or status >= 500 or _has_server_status(error):
        return TransientError(f"the store answers {code or 'an error'}" + (f" ({text})" if text else ""))
    if code in _CHANGED:
        return changed(shown)
    if code in _EXPIRED or "has expired" in text:
        return InputError(f"{shown}: the credentials have expired; {RENEW[scheme]}: {CONTINUES}")
    if code in _WRONG:
        return InputError(f"{shown}: the store does not know the credentials ({code}); {CHOOSE[scheme]}: {CONTINUES}")
    if code in _REFUSED or isinstance(error, PermissionError) or _FORBIDDEN in text:
        return _refuse(shown, scheme, anonymous)
    if code == "NoSuchBucket" or isinstance(error, FileNotFoundError) or code in ("NoSuchKey", "404"):
        bucket, *key = split_path(address)
        if code == "NoSuchBucket" or not key:
            return MissingObjectError(f"{shown}: no bucket {bucket!r}; check its name")
        return MissingObjectError(f"{shown}: no such object or folder; check the name, or list the bucket {bucket!r}")
    names = [kind.__name__ for cause in _chain(error) for kind in type(cause).__mro__]
    if any(map(_CREDENTIAL_ERRORS.search, names)):
        reason = " ".join(str(error).split())
        return InputError(f"{shown}: the credentials cannot be used ({reason}); {CHOOSE[scheme]}: {CONTINUES}")
    if any(map(_CONNECTION_ERRORS.search, names)):
        return TransientError(f"the store cannot be reached ({' '.join(str(error).split()) or type(error).__name__})")
    if code or isinstance(error, OSError):
        return InputError(f"{shown}: the store refuses the request ({' '.join(f'{code} {text or error}'.split())})")
    return None


def _refuse(shown: str, scheme: str, anonymous: bool) -> NoPermissionError:
    if anonymous:
        advice = CHOOSE[scheme].replace("choose others", "name them")
        return NoPermissionError(f"{shown}: not public, and no credentials were found; {advice}: {CONTINUES}")
    return NoPermissionError(f"{shown}: no permission; {GRANT[scheme]}, or {CHOOSE[scheme]}: {CONTINUES}")


def _find_code(error: BaseException) -> tuple[str, str]:
    """Return the code and the words of the store's answer, empty where the error is of another kind."""
    for cause in _chain(error):
        answer = getattr(cause, "response", None)
        if isinstance(answer, dict) and isinstance(answer.get("Error"), dict):
            return str(answer["Error"].get("Code", "")), str(answer["Error"].get("Message", ""))
        code = getattr(cause, "code", None)
        if isinstance(code, int | str) and hasattr(cause, "message"):  # gcsfs
            return str(code), " ".join(str(cause.message).split())
    return "", " ".join(str(error).split()) if isinstance(error, OSError) else ""


def _has_server_status(error: BaseException) -> bool:
    """Say whether the status of an answer is 429 or above 499, whatever its code."""
    for cause in _chain(error):
        answer = getattr(cause, "response", None)
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) if isinstance(answer, dict) else 0
        if status == 429 or status >= 500:
            return True
    return False


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
