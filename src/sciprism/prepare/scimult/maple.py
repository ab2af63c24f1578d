"""The papers of MAPLE, one by one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from sciprism.datasets.layouts.item_tables import clean_text
from sciprism.datasets.rows import as_id
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.papers.records import Paper
from sciprism.prepare.scimult.context import SciMultPrepareContext, parse_ids, read_located_records

UNLABELLED = "paper without a label of the vocabulary, dropped"
DUPLICATE = "duplicate paper, the first is used"

LabelledPaper = tuple[Paper, tuple[str, ...]]
"""A paper and the distinct ids of its labels, in the order of the file."""


def read_maple_papers(context: SciMultPrepareContext, path: Path) -> Iterator[LabelledPaper]:
    """Yield the papers of a `papers.json`: title and abstract in lower case, without punctuation.

    Raises InputError that names file and line of a record without an id or with a malformed list.
    """
    for where, record in read_located_records(context.data_root, path):
        name = as_id(record.get("paper"))
        if not name:
            raise InputError(f"{where}: no `paper`; it has {', '.join(record) or 'nothing'}")
        paper = Paper(
            id=name,
            title=clean_text(record.get("title")),
            abstract=clean_text(record.get("abstract")),
            authors=_parse_distinct_ids(record, "author", where),
            venue=as_id(record.get("venue")),
            references=_parse_distinct_ids(record, "reference", where),
        )
        yield paper, _parse_distinct_ids(record, "label", where)


def read_labelled_papers(
    context: SciMultPrepareContext, paths: Iterable[Path], vocabulary: Collection[str], dropped: DropReport
) -> Iterator[LabelledPaper]:
    """Yield the distinct papers with a label of the vocabulary, with those labels; others are counted."""
    seen: set[str] = set()
    for paper, labels in (item for path in paths for item in read_maple_papers(context, path)):
        inside = tuple(label for label in labels if label in vocabulary)
        if paper.id in seen:
            dropped.add(DUPLICATE, paper.id)
        elif not inside:
            dropped.add(UNLABELLED, paper.id)
        else:
            seen.add(paper.id)
            yield paper, inside


def _parse_distinct_ids(record: dict[str, Any], key: str, where: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, parse_ids(record, key, where))))
