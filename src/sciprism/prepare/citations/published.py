"""Files that SPECTER and SciNCL work on: papers, strengths of ties, triplets."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.item_tables import number_of
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.papers.source import Source
from sciprism.prepare.scimult.desk import numbered
from sciprism.prepare.scirepeval.records import need, words_of

NOT_THERE = "tie to a paper that is not there"
LOST = "triplet of a paper that is not there"

Triples = Mapping[int, list[tuple[int, int]]]
"""Row of a query -> the rows of its positives and negatives, in pairs."""


_KEY = r'"(?:[^"\\]|\\.)*"\s*:\s*'
_PLAIN = r'(?:"(?:[^"\\]|\\.)*"|\[[^\[\]]*\]|[^"{}\[\],]+)\s*,\s*'
_KEYED = re.compile(rf'\s*\{{\s*{_KEY}\{{\s*(?:{_KEY}{_PLAIN})*"(?:paper_id|title|abstract)"\s*:')
"""The head of an object whose first member is a paper: plain values may stand before its id or text."""


def is_keyed(path: Path) -> bool:
    """Tell whether a file is one JSON object of papers by id, such as the metadata of SPECTER and SciDocs."""
    source = Source(path)
    return path.is_file() and source.name.endswith(".json") and bool(_KEYED.match(source.head()))


def keyed_papers(home: DataRoot, path: Path) -> Iterator[Paper]:
    """Yield the papers of a JSON object keyed by id."""
    for name, row in home.members(path):
        if not isinstance(row, dict):
            raise InputError(f"{path}, {name!r}: expected an object with title and abstract, got {row!r:.40}")
        title, abstract = (words_of(row.get(key)) for key in ("title", "abstract"))
        yield Paper(id=as_id(row.get("paper_id")) or name, title=title, abstract=abstract)


def given_ties(
    home: DataRoot, path: Path, rows: Mapping[str, int], dropped: DropReport
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


def given_triples(home: DataRoot, path: Path, rows: Mapping[str, int], dropped: DropReport) -> Triples:
    """Return the triplets of a table query_paper_id, positive_id, negative_id, as SciNCL publishes them.

    rows: id -> row. Triplets that name a paper that is not there are counted.
    """
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for where, row in numbered(home, path):
        names = [as_id(need(row, key, where)) for key in ("query_paper_id", "positive_id", "negative_id")]
        if all(name in rows for name in names):
            query, positive, negative = (rows[name] for name in names)
            found[query].append((positive, negative))
        else:
            dropped.add(LOST, ", ".join(names))
    return found
