"""Papers by id on disk, since memory would not hold a million texts."""

from __future__ import annotations

import json
from typing import IO

from sciprism.papers.records import Paper


class PaperSpool:
    """Title and abstract of papers in an open file; memory holds the offset of each."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._offsets: dict[str, int] = {}

    def put(self, paper: Paper) -> None:
        """Store a paper, unless its id is stored already."""
        if paper.id not in self._offsets:
            self._offsets[paper.id] = self._file.seek(0, 2)
            self._file.write(json.dumps([paper.title, paper.abstract]).encode("ascii") + b"\n")

    def get(self, name: str) -> Paper | None:
        """Return the paper of an id; None if there is none."""
        if name not in self._offsets:
            return None
        self._file.seek(self._offsets[name])
        title, abstract = json.loads(self._file.readline())
        return Paper(id=name, title=title, abstract=abstract)
