"""The papers of a shard as a Parquet file, and single rows or columns back from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.papers.records import Paper

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

ROW_GROUP = 256
"""Papers that are decompressed together: few, so that ten results from ten shards are read quickly."""

FIELDS = ("id", "title", "abstract", "authors", "venue", "year", "fields", "keywords", "references", "ids")


def schema() -> pa.Schema:
    """Return the columns: the fields of Paper, its flag, and the hashes that tell what is new."""
    import pyarrow as pa

    texts = pa.list_(pa.string())
    kinds = {
        **dict.fromkeys(("authors", "fields", "keywords", "references"), texts),
        "year": pa.int64(),
        "ids": pa.map_(pa.string(), pa.string()),
    }
    columns = [(name, kinds.get(name, pa.string())) for name in FIELDS]
    hashes = [(name, pa.uint64()) for name in ("id_hash", "text_hash", "record_hash")]
    return pa.schema([*columns, ("missing_abstract", pa.bool_()), *hashes])


def lacks_abstract(paper: Paper) -> bool:
    """Say whether a paper is encoded by its title alone."""
    return not paper.abstract.strip()


def write_papers(file: BinaryIO, papers: Sequence[Paper], hashes: NDArray[np.uint64]) -> None:
    """Write papers with their hashes (n, 3): id, text, record."""
    import pyarrow as pa
    from pyarrow import parquet

    columns: dict[str, Any] = {name: [getattr(paper, name) for paper in papers] for name in FIELDS}
    columns["ids"] = [list(paper.ids.items()) for paper in papers]
    columns["missing_abstract"] = [lacks_abstract(paper) for paper in papers]
    for column, name in enumerate(("id_hash", "text_hash", "record_hash")):
        columns[name] = np.ascontiguousarray(hashes[:, column])
    table = pa.table(columns, schema=schema())
    parquet.write_table(table, file, row_group_size=ROW_GROUP, compression="zstd")


def read_papers_at(path: Path, rows: NDArray[np.integer]) -> list[Paper]:
    """Read the papers of the given rows of one file, in the order given."""
    with _open(path) as file:
        groups, group_of_row = np.unique(rows // ROW_GROUP, return_inverse=True)
        table = file.read_row_groups(groups.tolist(), columns=list(FIELDS))
        # every row group but a file's last is full, so a row's place follows from its group's rank
        places = group_of_row * ROW_GROUP + rows % ROW_GROUP
        return [_paper(row) for row in table.take(places).to_pylist()]


def read_column(path: Path, name: str) -> pa.ChunkedArray:
    """Read one column of one file."""
    with _open(path) as file:
        return file.read(columns=[name]).column(0)


@contextmanager
def _open(path: Path) -> Iterator[parquet.ParquetFile]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path} is damaged ({error}); restore it from a copy, or embed anew") from error


def _paper(row: dict[str, Any]) -> Paper:
    for name in ("authors", "fields", "keywords", "references"):
        row[name] = tuple(row[name])
    row["ids"] = dict(row["ids"])
    return Paper(**row)
