"""Vectors and metadata of a collection as Parquet, npy or CSV, part by part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.errors import InputError
from sciprism.files import check_companion, write_atomically
from sciprism.index import vector_searches
from sciprism.papers.bibliography_entries import find_doi
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.store.paper_lookup import iterate_vectors, list_ids, number_papers

if TYPE_CHECKING:
    import pyarrow as pa

LISTS = ("authors", "fields", "keywords")
FIELDS = ("id", "title", "abstract", "authors", "venue", "year", "fields", "keywords", "ids")
COLUMNS = (*FIELDS, "doi")
SUFFIXES = (".parquet", ".npy", ".csv")
SEPARATOR = "; "  # between the values of a list in CSV
NEIGHBOURS = ("neighbours", "neighbour_scores")
QUERIES = 256  # papers whose nearest are looked up at once


def build_table(papers: Iterable[Paper]) -> pa.Table:
    """Return papers as a table of `COLUMNS`; a paper without DOI has null there."""
    import pyarrow as pa

    kinds = {
        **dict.fromkeys(LISTS, pa.list_(pa.string())),
        "year": pa.int64(),
        "ids": pa.map_(pa.string(), pa.string()),
    }
    rows = list(papers)
    columns: dict[str, Any] = {name: [getattr(paper, name) for paper in rows] for name in FIELDS}
    columns["doi"] = [find_doi(paper) or None for paper in rows]
    columns["ids"] = [list(paper.ids.items()) for paper in rows]
    return pa.table(columns, schema=pa.schema([(name, kinds.get(name, pa.string())) for name in COLUMNS]))


def export(stored: StoredCollection, space: str, path: Path, *, neighbours: int = 0) -> int:
    """Write vectors and metadata to .parquet, .csv, or .npy with the metadata next to it; return the papers.

    neighbours: nearest papers of each, in a column of ids and one of scores. Raises InputError for another suffix, a
    file that the collection was made of, and metadata that would replace a file of another kind.
    """
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: its name must end with {', '.join(SUFFIXES)}")
    if neighbours < 0:
        raise InputError(f"{neighbours} neighbours: ask for 0 or more")
    with_vectors = path.suffix != ".npy"
    table = path if with_vectors else path.with_suffix(".csv")
    _check_sources(stored, {path, table})
    if not with_vectors:
        headers = ",".join(COLUMNS), ",".join((*COLUMNS, *NEIGHBOURS))
        check_companion(table, path, *(header + end for header in headers for end in ("\r\n", ",v0,")))
        write_atomically(path, lambda file: write_npy(file, stored, space))
        path = table
    writer = write_parquet if path.suffix == ".parquet" else write_csv
    write_atomically(path, lambda file: writer(file, iterate_parts(stored, space, neighbours), with_vectors))
    return len(stored)


def _check_sources(stored: StoredCollection, outputs: set[Path]) -> None:
    """Raise InputError where an output is a file that the collection was made of."""
    existing = {output.resolve(): output for output in outputs if output.exists()}
    if not existing:
        return
    sources = {name for (names,) in stored.columns("file") for name in set(names) if name}
    for name in sorted(sources):
        if output := existing.get(Path(name).resolve()):
            raise InputError(f"{output} is a file that {stored.folder} was made of; name another file")


def iterate_parts(stored: StoredCollection, space: str, neighbours: int) -> Iterator[tuple[pa.Table, Floats]]:
    """Yield tables of papers, with neighbours if asked for, and their vectors, (b, d)."""
    add = _find_neighbours(stored, space, neighbours) if neighbours else None
    first = 0
    for shard in iterate_vectors(stored, space):
        for start in range(0, len(shard), QUERIES):
            vectors = shard[start : start + QUERIES]
            rows = stored.live[first : first + len(vectors)]
            table = build_table(stored.papers(rows))
            yield add(table, rows, vectors) if add else table, vectors
            first += len(vectors)
    if not first:
        yield build_table(()), np.empty((0, stored.manifest.spaces[space].dim), np.float32)


def _find_neighbours(stored: StoredCollection, space: str, count: int) -> Callable[[pa.Table, Rows, Floats], pa.Table]:
    """Return a function that adds the ids and scores of the nearest other papers to a table."""
    import pyarrow as pa

    count = min(count, len(stored) - 1)
    ids, numbers, mask = list_ids(stored), number_papers(stored), stored.mask()

    def add(table: pa.Table, rows: Rows, vectors: Floats) -> pa.Table:
        scores, near = vector_searches["exact"](stored, space, vectors, count + 1, mask)
        nearest = [
            [(ids[numbers[other]], float(score)) for other, score in zip(*lines, strict=True) if other != row][:count]
            for row, *lines in zip(rows, near, scores, strict=True)
        ]
        for place, (name, kind) in enumerate(zip(NEIGHBOURS, (pa.string(), pa.float32()), strict=True)):
            values = [[pair[place] for pair in pairs] for pairs in nearest]
            table = table.append_column(name, pa.array(values, pa.list_(kind)))
        return table

    return add


def write_npy(file: Any, stored: StoredCollection, space: str) -> None:
    """Write the vectors of all papers as one array, float32 (n, d), shard by shard."""
    shape = (len(stored), stored.manifest.spaces[space].dim)
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for vectors in iterate_vectors(stored, space):
        file.write(np.ascontiguousarray(vectors, "<f4").tobytes())


def write_parquet(file: Any, parts: Iterator[tuple[pa.Table, Floats]], with_vectors: bool) -> None:
    """Write tables with a column `vector` of lists of one length."""
    from pyarrow import parquet

    with ExitStack() as stack:
        writer = None
        for table, vectors in parts:
            if with_vectors:
                table = append_vectors(table, vectors)
            writer = writer or stack.enter_context(parquet.ParquetWriter(file, table.schema, compression="zstd"))
            writer.write_table(table)


def append_vectors(table: pa.Table, vectors: Floats) -> pa.Table:
    """Return a table with a column `vector` of lists of one length."""
    import pyarrow as pa

    values = pa.array(vectors.ravel(), pa.float32())
    return table.append_column("vector", pa.FixedSizeListArray.from_arrays(values, vectors.shape[1]))


def write_csv(file: Any, parts: Iterator[tuple[pa.Table, Floats]], with_vectors: bool) -> None:
    """Write tables with a column for each number of the vectors; lists are joined."""
    import csv
    import io

    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    rows = csv.writer(text)
    written = False
    for table, vectors in parts:
        if not written:
            rows.writerow([*table.column_names, *(f"v{i}" for i in range(vectors.shape[1] * with_vectors))])
            written = True
        values = zip(*(map(flatten, column.to_pylist()) for column in table.columns), strict=True)
        numbers = vectors.tolist() if with_vectors else [[]] * len(vectors)
        rows.writerows([*line, *(f"{n:.8g}" for n in more)] for line, more in zip(values, numbers, strict=True))
    text.detach()


def flatten(value: Any) -> Any:
    """Return a value as one cell of CSV."""
    if not isinstance(value, list):
        return "" if value is None else value
    cells = (f"{item[0]}={item[1]}" if isinstance(item, tuple) else item for item in value)
    return SEPARATOR.join(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in cells)
