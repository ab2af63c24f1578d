"""Papers of a JSON-lines file, found by id while their texts stay on disk."""

from __future__ import annotations

import json
from functools import cached_property
from mmap import ACCESS_READ, mmap
from pathlib import Path

from sciprism.errors import InputError
from sciprism.papers.records import Paper

NAME = "papers.jsonl"
"""The file beside triplets of ids that holds their papers."""


class PaperFile:
    """The papers of one file, one a line as `Paper.to_json` gives it.

    The file is looked through when a paper is first asked for; InputError where it is missing or broken.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __getitem__(self, name: str) -> Paper:
        """Return a paper by its id; KeyError where there is none."""
        place = self._places[name]
        end = self._bytes.find(b"\n", place)
        return self._paper(self._bytes[place : end if end >= 0 else None], name)

    def __len__(self) -> int:
        return len(self._places)

    @cached_property
    def _bytes(self) -> mmap:
        with self.path.open("rb") as file:
            return mmap(file.fileno(), 0, access=ACCESS_READ)

    @cached_property
    def _places(self) -> dict[str, int]:
        if not self.path.is_file():
            raise InputError(f"{self.path} does not exist; triplets of ids want their papers beside them")
        places: dict[str, int] = {}
        place = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    places[self._paper(line, f"line {number}").id] = place
                place += len(line)
        return places

    def _paper(self, line: bytes, where: str) -> Paper:
        try:
            return Paper.from_json(json.loads(line))
        except (ValueError, TypeError, AttributeError) as error:
            raise InputError(f"{self.path}, {where}: no paper ({error})") from error
