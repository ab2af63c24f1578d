"""The bytes of an object as a file, read by blocks."""

from __future__ import annotations

from collections.abc import Callable

from fsspec.spec import AbstractBufferedFile

FIRST_BLOCK, LARGEST_BLOCK = 1 << 16, 1 << 22  # bytes: the head of a file; blocks grow while reading goes straight on


class ObjectFile(AbstractBufferedFile):  # type: ignore[misc]  # fsspec has no types
    """An object of so many bytes; memory holds no more than a block. fetch: returns the bytes from, to."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int | None) -> None:
        self._fetch, self._stop = fetch, 0
        super().__init__(None, "", block_size=FIRST_BLOCK, size=size)

    def _fetch_range(self, start: int, stop: int) -> bytes:
        self.cache.blocksize = min(2 * self.cache.blocksize, LARGEST_BLOCK) if start == self._stop else FIRST_BLOCK
        self._stop = stop
        return self._fetch(start, stop)
