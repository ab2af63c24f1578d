"""Count a training sample on disk by fields (Multi2SPE, Table 5)."""

from __future__ import annotations

from pathlib import Path

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.rows import as_id
from sciprism.errors import InputError
from sciprism.papers.read import read_papers
from sciprism.prepare.samplers.domains import DomainTable
from sciprism.prepare.scimult.context import read_located_records
from sciprism.prepare.scirepeval.records import require_field
from sciprism.training.paper_lookup import PAPERS_FILE

TRAIN = "train.jsonl"


def count_sample_by_field(folder: Path) -> DomainTable:
    """Count the triplets of ids in `train.jsonl` by the fields of their papers in `papers.jsonl`.

    Raises InputError if a file is missing, or if a triplet names an unknown paper.
    """
    for name in (PAPERS_FILE, TRAIN):
        if not (folder / name).is_file():
            raise InputError(f"{folder / name} does not exist; name a folder of `sciprism prepare citations`")
    papers = list(read_papers(folder / PAPERS_FILE, reader="jsonl"))
    rows = {paper.id: row for row, paper in enumerate(papers)}
    table = DomainTable([paper.fields for paper in papers])
    for where, triplet in read_located_records(DataRoot(), folder / TRAIN):
        names = [as_id(require_field(triplet, key, where)) for key in ("query", "positive")]
        names += [as_id(triplet["negative"])] if "negative" in triplet else []
        if unknown := [name for name in names if name not in rows]:
            raise InputError(f"{where}: {unknown[0]!r} is no paper of {PAPERS_FILE}; prepare the triplets again")
        query, positive, *negatives = (rows[name] for name in names)
        table.add(query, [positive], negatives)
    return table
