"""Papers of a JSON-lines file, found by id while their texts stay on disk."""

from __future__ import annotations

import json
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path

from sciprism.errors import InputError
from sciprism.papers.records import Paper

PAPERS_FILE = "papers.jsonl"
"""The file with the papers of triplets of ids, in their folder."""


class PaperLookup:
    """The papers of one file by id, one a line as written by `Paper.to_json`.

    The file is scanned at the first access; InputError where it is missing or broken.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __getitem__(self, name: str) -> Paper:
        """Return a paper by its id; KeyError where there is none."""
        offset = self._offsets[name]
        end = self._bytes.find(b"\n", offset)
        return self._paper(self._bytes[offset : end if end >= 0 else None], name)

    def __len__(self) -> int:
        return len(self._offsets)

    @cached_property
    def _bytes(self) -> mmap:
        with self.path.open("rb") as file:
            return mmap(file.fileno(), 0, access=ACCESS_READ)

    @cached_property
    def _offsets(self) -> dict[str, int]:
        if not self.path.is_file():
            raise InputError(f"{self.path} does not exist; triplets of ids need their papers in this file")
        offsets: dict[str, int] = {}
        offset = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    offsets[self._paper(line, f"line {number}").id] = offset
                offset += len(line)
        return offsets

    def _paper(self, line: bytes, where: str) -> Paper:
        try:
            return Paper.from_json(json.loads(line))
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(f"{self.path}, {where}: not a paper ({error})") from error
