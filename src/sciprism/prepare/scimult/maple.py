"""The papers of MAPLE, one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from sciprism.datasets.layouts.item_tables import text_of
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.desk import Desk, numbered

OUTSIDE = "paper without a label of the space, left out"
TWICE = "paper that stands twice, the first counts"

Labelled = tuple[Paper, tuple[str, ...]]
"""A paper and the ids of its labels, each once, in the order of the file."""


def maple_papers(desk: Desk, path: Path) -> Iterator[Labelled]:
    """Yield the papers of a `papers.json`: title and abstract in lower case, without punctuation.

    Raises InputError naming file and line of a record without an id, or whose lists are none.
    """
    for place, record in numbered(desk.home, path):
        name = as_id(record.get("paper"))
        if not name:
            raise InputError(f"{place}: no `paper`; it has {', '.join(record) or 'nothing'}")
        paper = Paper(
            id=name,
            title=text_of(record.get("title")),
            abstract=text_of(record.get("abstract")),
            authors=_ids(record, "author", place),
            venue=as_id(record.get("venue")),
            references=_ids(record, "reference", place),
        )
        yield paper, _ids(record, "label", place)


def papers_within(
    desk: Desk, paths: Iterable[Path], space: Collection[str], tally: DropReport
) -> Iterator[Labelled]:
    """Yield the papers with a label of the space, each once, with those labels; the others are counted."""
    seen: set[str] = set()
    for paper, labels in (item for path in paths for item in maple_papers(desk, path)):
        inside = tuple(label for label in labels if label in space)
        if paper.id in seen:
            tally.add(TWICE, paper.id)
        elif not inside:
            tally.add(OUTSIDE, paper.id)
        else:
            seen.add(paper.id)
            yield paper, inside


def _ids(record: dict[str, Any], key: str, place: str) -> tuple[str, ...]:
    value = record.get(key) or []
    if not isinstance(value, list):
        raise InputError(f"{place}: {key} is {value!r:.60}, not a list of ids")
    return tuple(dict.fromkeys(filter(None, map(as_id, value))))
