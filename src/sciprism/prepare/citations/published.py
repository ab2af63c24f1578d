"""Files in the layouts of SPECTER and SciNCL: papers, link strengths, triplets."""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.layouts.item_tables import parse_number
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.input_file import InputFile
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.context import read_located_records
from sciprism.prepare.scirepeval.records import format_words, require_field

TripletRows = Mapping[int, list[tuple[int, int]]]
"""Row of a query -> the rows of its positives and negatives, in pairs."""

_KEY = r'"(?:[^"\\]|\\.)*"\s*:\s*'
_PLAIN = r'(?:"(?:[^"\\]|\\.)*"|\[[^\[\]]*\]|[^"{}\[\],]+)\s*,\s*'
_KEYED = re.compile(rf'\s*\{{\s*{_KEY}\{{\s*(?:{_KEY}{_PLAIN})*"(?:paper_id|title|abstract)"\s*:')
"""The head of an object whose first member is a paper; plain values may come before its id or text."""


class LinkStrengthTable:
    """Link strengths from elsewhere, such as how often two papers are viewed together.

    links: (row, row -> strength) of each paper, copied into arrays one by one.
    """

    def __init__(self, links: Iterable[tuple[int, Mapping[int, float]]]) -> None:
        self._bounds: dict[int, tuple[int, int]] = {}
        self._others, self._strengths = array("i"), array("f")
        for row, strengths in links:
            start = len(self._others)
            self._others.extend(strengths.keys())
            self._strengths.extend(strengths.values())
            self._bounds[row] = start, len(self._others)

    def __call__(self, row: int) -> dict[int, float]:
        """Return row -> strength."""
        part = slice(*self._bounds.get(row, (0, 0)))
        return dict(zip(self._others[part], self._strengths[part], strict=True))

    @property
    def rows(self) -> list[int]:
        """Return the papers that have links, ascending."""
        return sorted(self._bounds)


def is_keyed_json(path: Path) -> bool:
    """Return whether a file is one JSON object of papers by id, such as SPECTER's and SciDocs' metadata."""
    source = InputFile(path)
    return path.is_file() and source.name.endswith(".json") and bool(_KEYED.match(source.head()))


def read_keyed_papers(data_root: DataRoot, path: Path) -> Iterator[Paper]:
    """Yield the papers of a JSON object keyed by id."""
    for name, row in data_root.members(path):
        if not isinstance(row, dict):
            raise InputError(f"{path}, {name!r}: expected an object with title and abstract, got {row!r:.40}")
        title, abstract = (format_words(row.get(key)) for key in ("title", "abstract"))
        yield Paper(id=as_id(row.get("paper_id")) or name, title=title, abstract=abstract)


def read_link_strengths(
    data_root: DataRoot, path: Path, rows: Mapping[str, int], dropped: DropReport
) -> Iterator[tuple[int, dict[int, float]]]:
    """Yield (row, row -> strength) of SPECTER's data.json: {"q": {"p": {"count": 5}}}.

    rows: id -> row. Links of and to unknown papers are counted and dropped.
    """
    for name, others in data_root.members(path):
        if not isinstance(others, dict):
            raise InputError(f"{path}, {name!r}: expected an object of link strengths, got {others!r:.40}")
        found: dict[int, float] = {}
        for other, link in others.items():
            count = link.get("count") if isinstance(link, dict) else link
            strength = parse_number(count, f"{path}, {name!r}, {other!r}")
            if name not in rows or other not in rows:
                dropped.add("link to an unknown paper", f"{name} -> {other}")
            elif name != other:
                found[rows[other]] = strength
        if found:
            yield rows[name], found


def read_triplets(data_root: DataRoot, path: Path, rows: Mapping[str, int], dropped: DropReport) -> TripletRows:
    """Return the triplets of a table query_paper_id, positive_id, negative_id, as SciNCL publishes them.

    rows: id -> row. Triplets with an unknown paper are counted and dropped.
    """
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for where, row in read_located_records(data_root, path):
        names = [as_id(require_field(row, key, where)) for key in ("query_paper_id", "positive_id", "negative_id")]
        if all(name in rows for name in names):
            query, positive, negative = (rows[name] for name in names)
            found[query].append((positive, negative))
        else:
            dropped.add("triplet with an unknown paper", ", ".join(names))
    return found
