"""The files of a shard: papers as a Parquet table, read by rows, columns or a filter; vectors as mapped matrices."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Floats, row_lengths, torch_is_loaded
from sciprism.errors import DamagedFileError, InputError
from sciprism.files import BLOCK, BlockChecks, Bytes
from sciprism.papers.bibliographic_fields import has_name, normalize
from sciprism.papers.cleaning import clean_name, is_blank
from sciprism.papers.records import Paper, Place

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

Dtype = Literal["float32", "float16", "int8"]
HEADER = 128  # bytes of a .npy file before its rows
Checks = Callable[[Path], BlockChecks]  # maps a file to its checksums
DTYPES: tuple[Dtype, ...] = ("float32", "float16", "int8")
ROW_GROUP = 256  # papers that are decompressed together: few, so that ten results of ten shards are read quickly
ROW_GROUPS = 512  # in memory, of papers that are looked up: 130,000 papers, some 200 MB
FIELDS = ("id", "title", "abstract", "authors", "venue", "year", "fields", "keywords", "references", "ids")
PLACE = {"file": "string", "record": "int64", "line": "int64"}  # columns of the place where a paper was read
MERGED = "merged"  # column of the places of further records of the paper
HASHES = ("id_hash", "text_hash", "record_hash")
LIST_FIELDS = ("authors", "fields", "keywords", "references")


def hash64(text: str, errors: str = "strict") -> int:
    """Return a 64-bit hash of a text, the same on every machine. errors: "surrogatepass" for an id of no paper."""
    return int.from_bytes(blake2b(text.encode("utf-8", errors), digest_size=8).digest(), "little")


def papers_file(shard: int) -> str:
    """Return the file name of a shard's papers."""
    return f"papers/{shard:06d}.parquet"


def values_file(folder: str, shard: int) -> str:
    """Return the file name of a shard's vectors in one space."""
    return f"vectors/{folder}/{shard:06d}.npy"


def scales_file(folder: str, shard: int) -> str:
    """Return the file name of the scales of int8 vectors."""
    return f"vectors/{folder}/{shard:06d}.scales.npy"


@dataclass(frozen=True, slots=True)
class MatrixFile:
    """A mapped file of rows: all its bytes, where the rows begin, the bytes of a row, and the checksums."""

    content: Bytes
    first: int
    row_size: int
    checks: BlockChecks

    def check(self, rows: slice | NDArray[np.integer], count: int) -> None:
        """Compare the blocks of some of `count` rows that were not compared before."""
        if self.checks.complete:
            return
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(count)
            self.checks.check(self.content, self.first + start * self.row_size, self.first + stop * self.row_size)
        else:
            starts = self.first + np.asarray(rows, np.int64) * self.row_size  # a row is shorter than a block
            blocks = np.concatenate([starts, starts + self.row_size - 1]) // BLOCK
            self.checks.check_blocks(self.content, np.unique(blocks).tolist())


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows (n, d) as float32, float16 or int8; int8 rows are multiplied by their scale (n,) when read.

    file: the mapped file of the values, whose blocks are compared with their checksums when first read.
    known_lengths: of rows start..stop; the rows never change.
    """

    values: NDArray[np.generic]
    scales: Floats | None = None
    file: MatrixFile | None = None
    known_lengths: dict[tuple[int, int], Floats] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def dim(self) -> int:
        """Return the number of dimensions of a vector."""
        return int(self.values.shape[1])

    def block(self, start: int, stop: int) -> Floats:
        """Return rows start..stop as float32; float32 rows are a view of the file, not a copy."""
        return self.take(slice(start, stop))

    def lengths(self, start: int, block: Floats) -> Floats:
        """Return the length of each row of a block (n, d) from start on, computed once."""
        rows = (start, start + len(block))
        if rows not in self.known_lengths:
            self.known_lengths[rows] = row_lengths(block)
        return self.known_lengths[rows]

    def stored(self, rows: slice | NDArray[np.integer]) -> NDArray[np.generic]:
        """Return the given rows as they are stored, without scales."""
        if self.file is not None:
            self.file.check(rows, len(self))
        return self.values[rows]

    def take(self, rows: slice | NDArray[np.integer]) -> Floats:
        """Return the given rows as float32, a copy unless they are a slice of float32 rows."""
        values = self.stored(rows)
        if values.dtype == np.float32:
            return values.astype(np.float32, copy=False)
        wide: Floats
        if torch_is_loaded():  # several times faster than numpy
            import torch

            wide = torch.from_numpy(values).float().numpy()
        else:
            wide = values.astype(np.float32)
        if self.scales is not None:
            wide *= self.scales[rows, None]
        return wide


def quantize(vectors: Floats, dtype: Dtype) -> Matrix:
    """Return float32 rows in the stored precision; int8 rows get one scale each."""
    if dtype == "float32":
        return Matrix(vectors)
    if dtype == "float16":
        largest = float(np.abs(vectors).max(initial=0.0))
        if largest > float(np.finfo(np.float16).max):
            raise InputError(f"a vector holds {largest:g}, too large for float16; use float32 or int8")
        return Matrix(vectors.astype(np.float16))
    highest = np.abs(vectors).max(axis=1, initial=0.0)
    scales = np.where(highest > 0, highest / 127, 1).astype(np.float32)
    return Matrix(np.rint(vectors / scales[:, None]).astype(np.int8), scales)


def open_matrix(values: Path, scales: Path | None, checks: Checks) -> Matrix:
    """Map a stored matrix into memory; rows are read on first use. checks: the checksums of a file."""
    try:
        content = map_bytes(values)
        checks(values).check(content, 0, HEADER)
        first, shape, dtype = _parse_header(content[:HEADER].tobytes())
        rows = content[first:].view(dtype).reshape(shape)
        factors = None
        if scales is not None:
            checks(scales).check(np.fromfile(scales, np.uint8))
            factors = np.load(scales, allow_pickle=False)
    except InputError:
        raise
    except (ValueError, EOFError) as error:
        raise DamagedFileError(f"{values} is damaged ({error}); restore it from a copy, or embed anew") from None
    return Matrix(rows, factors, MatrixFile(content, first, dtype.itemsize * shape[1], checks(values)))


def map_bytes(path: Path) -> Bytes:
    """Map a file's bytes, a private copy where they are written; torch keeps no file handle, as Python's mmap does."""
    if not torch_is_loaded():
        return np.memmap(path, np.uint8, "c").view(np.ndarray)
    import torch

    mapped = torch.from_file(str(path), shared=False, size=path.stat().st_size, dtype=torch.uint8)
    content: Bytes = mapped.numpy()
    return content


@lru_cache
def _parse_header(head: bytes) -> tuple[int, tuple[int, ...], np.dtype[Any]]:
    """Return where the rows of a .npy file begin, their shape and type; nearly all shards have one header."""
    file = BytesIO(head)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    return file.tell(), shape, dtype


def build_schema() -> pa.Schema:
    """Return the columns: the fields of Paper, whether it lacks an abstract, its hashes and its place."""
    import pyarrow as pa

    kinds = dict.fromkeys(FIELDS, pa.string()) | dict.fromkeys(LIST_FIELDS, pa.list_(pa.string()))
    kinds |= {"year": pa.int64(), "ids": pa.map_(pa.string(), pa.string()), "missing_abstract": pa.bool_()}
    kinds |= dict.fromkeys(HASHES, pa.uint64())
    kinds |= {name: pa.type_for_alias(kind) for name, kind in PLACE.items()}
    return pa.schema([*kinds.items(), (MERGED, pa.list_(pa.string()))])


def write_papers(file: BinaryIO, papers: Sequence[Paper], hashes: NDArray[np.uint64]) -> None:
    """Write papers with their hashes (n, 3) of id, text and record."""
    import pyarrow as pa
    from pyarrow import parquet

    columns: dict[str, Any] = {name: [getattr(paper, name) for paper in papers] for name in FIELDS}
    columns["ids"] = [list(paper.ids.items()) for paper in papers]
    columns["missing_abstract"] = [is_blank(paper.abstract) for paper in papers]
    columns |= dict(zip(HASHES, np.ascontiguousarray(hashes.T), strict=True))
    columns |= {name: [paper.place and getattr(paper.place, name) for paper in papers] for name in PLACE}
    columns[MERGED] = [paper.place and (paper.place.others or None) for paper in papers]
    table = pa.table(columns, schema=build_schema())
    parquet.write_table(table, file, row_group_size=ROW_GROUP, compression="zstd")


def read_group(path: Path, checks: BlockChecks, group: int) -> pa.Table:
    """Read the papers of one row group of a file."""
    with _open_table(path, checks) as file:
        return file.read_row_group(group, columns=[*FIELDS, *PLACE, MERGED], use_threads=False)


def papers_of(group: pa.Table, rows: NDArray[np.integer]) -> list[Paper]:
    """Return the papers of rows (n,) of one row group, in the order given."""
    table = group.take(rows % ROW_GROUP) if len(rows) > 1 else group.slice(rows[0] % ROW_GROUP, 1)
    papers = []
    for row in table.to_pylist():
        file, record, line = (row.pop(name) for name in PLACE)
        others = tuple(row.pop(MERGED, None) or ())  # older collections lack the column
        row |= {name: tuple(row[name]) for name in LIST_FIELDS} | {"ids": dict(row["ids"])}
        papers.append(Paper(**row, place=None if file is None else Place(file, record, line, others=others)))
    return papers


def read_column(path: Path, checks: BlockChecks, name: str) -> pa.ChunkedArray:
    """Read one column of one file."""
    with _open_table(path, checks) as file:
        return file.read(columns=[name], use_threads=False).column(0)


@contextmanager
def _open_table(path: Path, checks: BlockChecks) -> Iterator[parquet.ParquetFile]:
    """Open a mapped table of few blocks, all compared with their checksums when it is first read."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        content = map_bytes(path)
        checks.check(content)
        with parquet.ParquetFile(pa.BufferReader(pa.py_buffer(content)), pre_buffer=False) as file:
            yield file
    except InputError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}); restore it from a copy, or embed anew") from error


Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which papers a search may return: years inclusive, venue by part of its name, field by its whole name.

    Case is ignored. A paper without a year passes no year bound. author: a name or surname, see `has_name`.
    """

    year_from: int | None = None
    year_to: int | None = None
    venue: str = ""
    field: str = ""
    author: str = ""

    def __bool__(self) -> bool:
        return self != Filter()

    def passes(self, rows: int, column: Callable[[str], Any]) -> Mask:
        """Mark the rows of a table that pass. column: name -> an Arrow column of the table."""
        import pyarrow.compute as pc

        passes = np.ones(rows, bool)
        if self.year_from is not None or self.year_to is not None:
            years = column("year").to_numpy()  # of a paper without one nan, which passes nothing
            passes &= years >= (-np.inf if self.year_from is None else self.year_from)
            passes &= years <= (np.inf if self.year_to is None else self.year_to)
        if self.venue:
            venues = pc.utf8_lower(column("venue"))
            passes &= pc.match_substring(venues, clean_name(self.venue).lower()).to_numpy(zero_copy_only=False)
        if self.field:
            folded = clean_name(self.field).lower()
            passes &= _any_item(column("fields"), lambda names: pc.equal(pc.utf8_lower(names), folded))
        if self.author:
            passes &= _any_item(column("authors"), self._match_authors)
        return passes

    def _match_authors(self, names: pa.Array) -> pa.Array:
        """Mark the names that may be the author's; only those that have one of its words are looked at closely."""
        import pyarrow as pa
        import pyarrow.compute as pc

        coded = names.dictionary_encode()
        words = "|".join(re.escape(word) for word in normalize(self.author).split() if len(word) > 1)
        lower = pc.replace_substring_regex(pc.utf8_lower(coded.dictionary), "['`]", "")
        near = pc.or_(pc.match_substring_regex(lower, words), pc.invert(pc.string_is_ascii(lower)))
        pairs = zip(coded.dictionary.to_pylist(), near.to_pylist(), strict=True)
        matches = pa.array([is_near and has_name(name, self.author) for name, is_near in pairs], pa.bool_())
        return pc.take(matches, coded.indices)


def _any_item(column: pa.ChunkedArray, match: Callable[[pa.Array], pa.Array]) -> Mask:
    """Mark the rows of a column of lists that have an item which matches."""
    import pyarrow.compute as pc

    lists = column.combine_chunks()
    has_item = np.zeros(len(lists), bool)
    owners = pc.list_parent_indices(lists).to_numpy()
    has_item[owners[match(pc.list_flatten(lists)).to_numpy(zero_copy_only=False)]] = True
    return has_item
