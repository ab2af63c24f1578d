"""The `.md5` next to a PubMed file (`pubmed25n0001.xml.gz.md5`): its bytes are compared while they are read."""

from __future__ import annotations

import hashlib
import io
import re
from pathlib import Path
from typing import Any

from sciprism.errors import DamagedFileError
from sciprism.papers.remote.objects import RemoteObject

SUFFIX = ".xml.gz"
"""Files of this suffix may have a checksum in their folder."""

_MD5 = re.compile(rb"\b[0-9a-fA-F]{32}\b")
_MAX_BYTES = 1 << 12


def find_md5(path: Path | RemoteObject) -> str:
    """Return the MD5 that the file next to a PubMed file states, "" where there is none."""
    if not path.name.endswith(SUFFIX) or not path.is_file():
        return ""
    name = f"{path.name}.md5"
    beside = path.find_neighbour(name) if isinstance(path, RemoteObject) else path.with_name(name)
    if beside is None or not beside.is_file():
        return ""
    with beside.open("rb") as file:
        found = _MD5.search(file.read(_MAX_BYTES))
    if found is None:
        raise DamagedFileError(f"{beside} holds no MD5; fetch it again, or delete it")
    return found[0].decode().lower()


class Md5Stream(io.RawIOBase):
    """The bytes of a stream that is read from its start; at its end they must have the MD5 that is expected."""

    def __init__(self, stream: Any, name: str, expected: str) -> None:
        super().__init__()
        self._stream, self._name, self._expected = stream, name, expected
        self._hash = hashlib.md5(usedforsecurity=False)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer, and return how many. Raises DamagedFileError at the end of other bytes."""
        count: int = self._stream.readinto(buffer) or 0
        self._hash.update(memoryview(buffer)[:count])
        if not count and len(buffer) and self._hash.hexdigest() != self._expected:
            raise DamagedFileError(f"{self._name} is damaged: its MD5 is not that of {self._name}.md5; fetch it again")
        return count

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()
        super().close()
