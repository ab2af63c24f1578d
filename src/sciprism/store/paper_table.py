"""The papers of a shard as a Parquet file, read by rows or by columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sciprism.checksums import BlockChecks, CheckedFile
from sciprism.errors import DamagedFileError, InputError
from sciprism.papers.cleaning import is_blank
from sciprism.papers.records import Paper, Place

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

ROW_GROUP = 256
"""Papers that are decompressed together: few, so that ten results of ten shards are read quickly."""

FIELDS = ("id", "title", "abstract", "authors", "venue", "year", "fields", "keywords", "references", "ids")
PLACE = {"file": "string", "record": "int64", "line": "int64"}
"""Columns of the place where a paper was read."""
LIST_FIELDS = ("authors", "fields", "keywords", "references")


def build_schema() -> pa.Schema:
    """Return the columns: the fields of Paper, whether it lacks an abstract, its hashes and its place."""
    import pyarrow as pa

    kinds = {
        **dict.fromkeys(LIST_FIELDS, pa.list_(pa.string())),
        "year": pa.int64(),
        "ids": pa.map_(pa.string(), pa.string()),
    }
    columns = [(name, kinds.get(name, pa.string())) for name in FIELDS]
    hashes = [(name, pa.uint64()) for name in ("id_hash", "text_hash", "record_hash")]
    place = [(name, pa.type_for_alias(kind)) for name, kind in PLACE.items()]
    return pa.schema([*columns, ("missing_abstract", pa.bool_()), *hashes, *place])


def has_no_abstract(paper: Paper) -> bool:
    """Return whether a paper is encoded by its title alone."""
    return is_blank(paper.abstract)


def write_papers(file: BinaryIO, papers: Sequence[Paper], hashes: NDArray[np.uint64]) -> None:
    """Write papers with their hashes (n, 3) of id, text and record."""
    import pyarrow as pa
    from pyarrow import parquet

    columns: dict[str, Any] = {name: [getattr(paper, name) for paper in papers] for name in FIELDS}
    columns["ids"] = [list(paper.ids.items()) for paper in papers]
    columns["missing_abstract"] = [has_no_abstract(paper) for paper in papers]
    for column, name in enumerate(("id_hash", "text_hash", "record_hash")):
        columns[name] = np.ascontiguousarray(hashes[:, column])
    for name in PLACE:
        columns[name] = [paper.place and getattr(paper.place, name) for paper in papers]
    table = pa.table(columns, schema=build_schema())
    parquet.write_table(table, file, row_group_size=ROW_GROUP, compression="zstd")


def read_papers_at(path: Path, checks: BlockChecks, rows: NDArray[np.integer]) -> list[Paper]:
    """Read the papers of the given rows of one file, in the order given."""
    with _open(path, checks) as file:
        groups, group_of_row = np.unique(rows // ROW_GROUP, return_inverse=True)
        table = file.read_row_groups(groups.tolist(), columns=[*FIELDS, *PLACE])
        # every row group but a file's last is full, so a row's position follows from its group's rank
        positions = group_of_row * ROW_GROUP + rows % ROW_GROUP
        return [_build_paper(row) for row in table.take(positions).to_pylist()]


def _build_paper(row: dict[str, Any]) -> Paper:
    file, record, line = (row.pop(name) for name in PLACE)
    place = None if file is None else Place(file, record, line)
    lists = {name: tuple(row[name]) for name in LIST_FIELDS}
    return Paper(**row | lists | {"ids": dict(row["ids"]), "place": place})


def read_column(path: Path, checks: BlockChecks, name: str) -> pa.ChunkedArray:
    """Read one column of one file."""
    with _open(path, checks) as file:
        return file.read(columns=[name]).column(0)


@contextmanager
def _open(path: Path, checks: BlockChecks) -> Iterator[parquet.ParquetFile]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with CheckedFile(path, checks) as content, parquet.ParquetFile(content) as file:
            yield file
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}); restore it from a copy, or embed anew") from error
