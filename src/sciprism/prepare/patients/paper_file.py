"""Papers by id on disk, where memory would not hold a million texts."""

from __future__ import annotations

import json
from typing import IO

from sciprism.papers.records import Paper


class PaperFile:
    """Title and abstract of papers in an open file; memory holds where each begins."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._places: dict[str, int] = {}

    def put(self, paper: Paper) -> None:
        """Keep a paper, unless one of its id is kept already."""
        if paper.id not in self._places:
            self._places[paper.id] = self._file.seek(0, 2)
            self._file.write(json.dumps([paper.title, paper.abstract]).encode("ascii") + b"\n")

    def get(self, name: str) -> Paper | None:
        """Return the paper of an id."""
        if name not in self._places:
            return None
        self._file.seek(self._places[name])
        title, abstract = json.loads(self._file.readline())
        return Paper(id=name, title=title, abstract=abstract)
