"""Parquet files of papers: our own columns, a table's, or those of a JSON format such as OpenAlex works.

Rows are read in small batches; a column of vectors is not read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sciprism.errors import InputError
from sciprism.papers.input_file import NOT_WANTED, BadRecord, FilePath, InputFile, ReadOptions, copy_file
from sciprism.papers.json_rows import MAX_REASON_CHARS, JsonObject
from sciprism.papers.paper_rows import RECORD_IDS, RecordRows, known_headers
from sciprism.papers.printed_values import parse_texts
from sciprism.papers.readers.registry import build_record, paper_readers
from sciprism.papers.records import Deletion, Paper
from sciprism.papers.remote.objects import RemoteObject
from sciprism.papers.rows import find_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

PaperBuilder = Callable[[JsonObject], Paper | Deletion]
ROWS = 256  # rows that are decoded at once
_MAGIC = "PAR1"


@paper_readers.reader(
    "parquet",
    "Parquet files of papers: our own columns, a table's, or those of a JSON format such as OpenAlex works",
    (".parquet",),
    patterns=(re.compile(rf"\A{_MAGIC}"),),
)
def read_parquet(file: InputFile, options: ReadOptions) -> Iterator[Paper | Deletion | BadRecord]:
    """Yield one paper from each row; the names of the columns say which format the rows have.

    Raises InputError for a table without a title. A damaged file is one BadRecord.
    """
    import pyarrow as pa
    from pyarrow import parquet

    number = 0
    try:
        with _open_table(file) as source, parquet.ParquetFile(source, pre_buffer=isinstance(source, Path)) as table:
            names = [field.name for field in table.schema_arrow if not _is_vector(field.type)]
            maps = [field.name for field in table.schema_arrow if pa.types.is_map(field.type)]
            folders = {name: value for name, value in file.folder_columns.items() if name in options.columns.values()}
            build = None if options.columns else _find_json_builder(names)
            if build is None:
                columns = [*names, *folders]
                required = options.required_column if RECORD_IDS.isdisjoint(columns) else ""
                find_columns(file.path, columns, known_headers(columns), chosen=options.columns, required=required)
                build = RecordRows(file, chosen=options.columns).build
            for batch in _read_batches(table, names, file.wanted):
                if isinstance(batch, int):
                    number += batch
                    yield from repeat(NOT_WANTED, batch)
                    continue
                for row in batch.to_pylist():
                    number += 1
                    row |= folders | {name: dict(row[name]) for name in maps if row[name] is not None}
                    values = {name: _to_json(cell) for name, cell in row.items()}
                    yield build_record(build, values, number, file)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, InputError):
            raise
        reason = " ".join(str(error).split())[:MAX_REASON_CHARS]
        yield BadRecord(number + 1, None, f"not a Parquet file that can be read: {reason}; fetch it again")


def _read_batches(
    table: parquet.ParquetFile, names: list[str], wanted: Callable[[int], bool] | None
) -> Iterator[pa.RecordBatch | int]:
    """Yield the rows in batches; of those of which none is wanted, their number. Such groups of rows are not read."""
    number = 0
    for group in range(table.num_row_groups):
        rows = table.metadata.row_group(group).num_rows
        if wanted and not any(map(wanted, range(number + 1, number + 1 + rows))):
            number += rows
            yield rows
            continue
        # No threads: one of Arrow's that reads through a Python object can abort the exit of the process.
        for batch in table.iter_batches(ROWS, row_groups=[group], columns=names, use_threads=False):
            numbers = range(number + 1, number + 1 + len(batch))
            number += len(batch)
            yield batch if not wanted or any(map(wanted, numbers)) else len(batch)


@contextmanager
def _open_table(file: InputFile) -> Iterator[Path | BinaryIO]:
    """Yield a file that can be read from any position: a packed one or a pipe is copied first.

    Of an object only the ranges of the columns are fetched, where its server sends ranges.
    """
    if not _is_plain(file.path):
        with copy_file(file) as copy:
            yield copy
    elif isinstance(file.path, Path):
        yield file.path
    else:
        with file.path.open("rb") as stream:
            yield stream


def _is_plain(path: FilePath) -> bool:
    if not path.is_file() or (isinstance(path, RemoteObject) and not path.version.ranged):
        return False
    with path.open("rb") as stream:
        return stream.read(len(_MAGIC)) == _MAGIC.encode()


def _is_vector(kind: pa.DataType) -> bool:
    import pyarrow as pa

    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(listed) and bool(pa.types.is_floating(kind.value_type) or pa.types.is_int8(kind.value_type))


def _find_json_builder(names: list[str]) -> PaperBuilder | None:
    """Return the builder of the JSON format whose objects have these keys, if one has."""
    head = json.dumps(dict.fromkeys((name.partition(".")[0] for name in names), ""))
    for name in sorted(paper_readers):
        if (build := paper_readers[name].build) and paper_readers[name].recognizes(head):
            return lambda row: build(parse_texts(row))
    return None


def _to_json(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, float) and value != value:  # pandas writes a missing number as NaN
        return None
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
