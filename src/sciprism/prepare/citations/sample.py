"""A training sample that lies on disk, counted by fields (Multi2SPE, Table 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.rows import as_id
from sciprism.errors import InputError
from sciprism.papers.reading import read_papers
from sciprism.prepare.samplers.domains import DomainTable
from sciprism.prepare.scimult.desk import numbered
from sciprism.prepare.scirepeval.records import need
from sciprism.training.paper_file import NAME

TRAIN = "train.jsonl"


def sample_in(folder: Path) -> DomainTable:
    """Count the triplets of ids in `train.jsonl` by the fields of their papers in `papers.jsonl`.

    Raises InputError where a file is not there, or where a triplet names a paper that is not.
    """
    for name in (NAME, TRAIN):
        if not (folder / name).is_file():
            raise InputError(f"{folder / name} does not exist; name a folder of `sciprism prepare citations`")
    papers = list(read_papers(folder / NAME, reader="jsonl"))
    rows = {paper.id: row for row, paper in enumerate(papers)}
    table = DomainTable([paper.fields for paper in papers])
    for query, positive, negatives in _triplets(folder / TRAIN, rows):
        table.add(query, [positive], negatives)
    return table


def _triplets(path: Path, rows: Mapping[str, int]) -> Iterator[tuple[int, int, list[int]]]:
    for where, triplet in numbered(DataRoot(), path):
        names = [as_id(need(triplet, key, where)) for key in ("query", "positive")]
        names += [as_id(triplet["negative"])] if "negative" in triplet else []
        if lost := [name for name in names if name not in rows]:
            raise InputError(f"{where}: {lost[0]!r} is no paper of {NAME}")
        query, positive, *negatives = (rows[name] for name in names)
        yield query, positive, negatives
