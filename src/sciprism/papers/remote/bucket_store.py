"""Objects of S3 and Google Cloud Storage, by fsspec: what they are, what lies in folders, and their bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, ClassVar

from sciprism.errors import InputError, MissingExtraError
from sciprism.papers.remote.address import show_address, split_path
from sciprism.papers.remote.bucket_failures import explain_failure
from sciprism.papers.remote.failures import MissingObjectError, changed, retry
from sciprism.papers.remote.object_file import BytesBody, ObjectBody, ObjectVersion, pull

CONNECT_SECONDS = 20
READ_SECONDS = 60


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
        found = self._ask(folder, lambda: self._files.find(folder, detail=True))
        return self._select(found)

    def match(self, pattern: str) -> dict[str, ObjectVersion | None]:
        """Return address -> version of the objects that a pattern matches, None of folders (a slash at their end)."""
        found = self._ask(pattern, lambda: self._files.glob(pattern, detail=True))
        if not found:  # fsspec takes a bucket that may not be listed for an empty one
            self.find(f"{self.scheme}://{split_path(pattern)[0]}")
        folders = [name.rstrip("/") for name, info in found.items() if info["type"] == "directory"]
        return {**self._select(found), **{f"{self.scheme}://{name}/": None for name in folders}}

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

    def _select(self, found: Mapping[str, Mapping[str, Any]]) -> dict[str, ObjectVersion]:
        """Return the objects of a listing; a folder may have an empty one of its name."""
        files = {name: info for name, info in found.items() if info["type"] == "file" and not name.endswith("/")}
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
            raise self._explain(error, address) from None

    def _explain(self, error: Exception, address: str) -> Exception:
        return explain_failure(error, address, anonymous=self.anonymous) or error


class S3Store(BucketStore):
    """Objects of S3, and of servers that speak its protocol."""

    scheme = "s3"

    def __init__(self) -> None:
        try:
            from fsspec import get_filesystem_class

            kind = get_filesystem_class("s3")
        except ImportError:
            raise MissingExtraError("scale", "reading s3:// addresses") from None
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

        async def fetch() -> tuple[int, bytes, Exception | None]:
            answer = await self._files._call_s3("get_object", self._files.req_kw, **options)
            try:
                return int(answer["ContentLength"]), *await pull(answer["Body"].read, stop - start)
            finally:
                answer["Body"].close()

        length, content, failure = sync(self._files.loop, fetch)
        if start + length != stop:
            raise changed(show_address(address))
        return BytesBody(start, stop, content, failure and self._explain(failure, address))


class GoogleStore(BucketStore):
    """Objects of Google Cloud Storage."""

    scheme = "gs"

    def __init__(self) -> None:
        try:
            from fsspec import get_filesystem_class

            kind = get_filesystem_class("gs")
        except ImportError:
            raise MissingExtraError("scale", "reading gs:// addresses") from None
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
        return BytesBody(start, stop, content)


def _has_credentials(profile: str | None) -> bool:
    """Say whether the variables, files and roles of AWS give credentials; without, public buckets can be read."""
    session = import_module("botocore.session").Session(profile=profile)
    return session.get_credentials() is not None
