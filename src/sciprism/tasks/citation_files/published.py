"""Files that SPECTER works on: papers, and strengths of ties."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.papers.source import Source
from sciprism.tally import Tally
from sciprism.tasks.home import Home
from sciprism.tasks.layouts.shelves import number_of
from sciprism.tasks.rows import as_id
from sciprism.tasks.scirepeval_files.records import words_of

NOT_THERE = "tie to a paper that is not there"


_KEY = r'"(?:[^"\\]|\\.)*"\s*:\s*'
_PLAIN = r'(?:"(?:[^"\\]|\\.)*"|\[[^\[\]]*\]|[^"{}\[\],]+)\s*,\s*'
_KEYED = re.compile(rf'\s*\{{\s*{_KEY}\{{\s*(?:{_KEY}{_PLAIN})*"(?:paper_id|title|abstract)"\s*:')
"""The head of an object whose first member is a paper: plain values may stand before its id or text."""


def is_keyed(path: Path) -> bool:
    """Tell whether a file is one JSON object of papers by id, such as the metadata of SPECTER and SciDocs."""
    source = Source(path)
    return path.is_file() and source.name.endswith(".json") and bool(_KEYED.match(source.head()))


def keyed_papers(home: Home, path: Path) -> Iterator[Paper]:
    """Yield the papers of a JSON object keyed by id."""
    for name, row in home.members(path):
        if not isinstance(row, dict):
            raise InputError(f"{path}, {name!r}: expected an object with title and abstract, got {row!r:.40}")
        title, abstract = (words_of(row.get(key)) for key in ("title", "abstract"))
        yield Paper(id=as_id(row.get("paper_id")) or name, title=title, abstract=abstract)


def given_ties(
    home: Home, path: Path, rows: Mapping[str, int], dropped: Tally
) -> Iterator[tuple[int, dict[int, float]]]:
    """Yield (row, row -> strength) of SPECTER's data.json: {"q": {"p": {"count": 5}}}.

    rows: id -> row. Ties of and to papers that are not there are counted.
    """
    for name, others in home.members(path):
        if not isinstance(others, dict):
            raise InputError(f"{path}, {name!r}: expected an object of ties, got {others!r:.40}")
        found: dict[int, float] = {}
        for other, tie in others.items():
            count = tie.get("count") if isinstance(tie, dict) else tie
            strength = number_of(count, f"{path}, {name!r}, {other!r}")
            if name not in rows or other not in rows:
                dropped.add(NOT_THERE, f"{name} -> {other}")
            elif name != other:
                found[rows[other]] = strength
        if found:
            yield rows[name], found
