"""Per-item scores of many systems in one Parquet table: what the Parquet file of packed results holds.

One row per system, task, metric and item. Columns:

system     the name of the system's results folder, one per seed
task       the task
metric     the metric
item       the id of the query, paper, mention or text
scores     the numbers of the item, in the order of the aggregate's columns (`aggregates`), part after part
positions  F1 alone: where in that order each of the scores belongs; all other numbers of the item are 0

No digit is lost. Rows are in order of task, metric, and the item's place in its result, so that those of one
item, which are alike, are neighbours: that is what makes the file small.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.evaluation.aggregates import aggregates
from sciprism.evaluation.item_scores import Evidence
from sciprism.files import commit

WORDS = ("system", "task", "metric", "item")
LEVEL = 19
"""Of zstd: a file is packed once and read often."""
DICTIONARY = 1 << 26
"""Bytes of distinct values that a column may have before it is written plainly."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What turns the rows of one system, task and metric back into evidence."""

    aggregate: str
    parts: int
    columns: int
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, evidence: Evidence) -> Layout:
        """Return the layout of some evidence."""
        return cls(evidence.aggregate, len(evidence.parts), evidence.columns.shape[1], evidence.labels)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Whose scores they are."""

    task: str
    metric: str
    system: str


def write_scores(path: Path, found: Iterable[tuple[Place, Evidence]]) -> None:
    """Write the items of every result, whole or not at all; the same evidence gives the same bytes."""
    from pyarrow import concat_tables, parquet

    ordered = sorted(found, key=lambda each: each[0])
    tables = [
        _interleaved(list(group)) for _, group in groupby(ordered, key=lambda e: (e[0].task, e[0].metric))
    ]
    table = concat_tables(tables) if tables else _rows([])

    def save(file: Any) -> None:
        parquet.write_table(
            table,
            file,
            compression="zstd",
            compression_level=LEVEL,
            use_dictionary=True,
            dictionary_pagesize_limit=DICTIONARY,
            write_statistics=False,
        )

    commit(path, save)


class ItemScores:
    """The table of one file, in memory."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises InputError where it is no such table."""
        import pyarrow
        from pyarrow import parquet

        try:
            table = parquet.read_table(path, read_dictionary=WORDS[:3]).unify_dictionaries().combine_chunks()
            self._codes = {name: _codes(table, name) for name in WORDS[:3]}
            self._items = _column(table, "item")
            self._scores = _lists(_column(table, "scores"), np.float64)
            self._positions = _lists(_column(table, "positions"), np.int64)
        except (pyarrow.ArrowException, KeyError, OSError, AttributeError) as error:
            raise InputError(f"{path} holds no scores of items: {error}; pack the results again") from None

    def evidence(self, place: Place, layout: Layout) -> Evidence:
        """Return the evidence of one system, task and metric, its items in the order they had."""
        rows = self._rows(place)
        ids = tuple(self._items.take(rows).to_pylist())
        cells = layout.parts * layout.columns
        sizes, scores = _taken(self._scores, rows)
        if aggregates[layout.aggregate].per_class:
            dense = np.zeros((len(ids), cells))
            dense[np.repeat(np.arange(len(ids)), sizes), _taken(self._positions, rows)[1]] = scores
        else:
            dense = scores.reshape(len(ids), cells)
        first, *more = np.split(dense, layout.parts, axis=1)
        return Evidence(ids, first, layout.aggregate, tuple(more), layout.labels)

    def _rows(self, place: Place) -> NDArray[np.int64]:
        """Return where the rows of one system, task and metric are; those of a task are neighbours."""
        start, stop = 0, len(self._items)
        for name, word in (("task", place.task), ("metric", place.metric)):
            known, codes = self._codes[name]
            found = np.flatnonzero(codes[start:stop] == known.get(word, -1))
            if not len(found):
                return found
            start, stop = start + int(found[0]), start + int(found[-1]) + 1
        known, codes = self._codes["system"]
        return start + np.flatnonzero(codes[start:stop] == known.get(place.system, -1))


def _interleaved(found: Sequence[tuple[Place, Evidence]]) -> Any:
    """Return the rows of one task and metric: every system's first item, every system's second, and so on."""
    turns = np.concatenate([np.arange(len(evidence.ids)) for _, evidence in found])
    return _rows(found).take(np.argsort(turns, kind="stable"))


def _rows(found: Sequence[tuple[Place, Evidence]]) -> Any:
    """Return a table with the rows of some results, one result after the other."""
    import pyarrow as pa

    counts = np.array([len(evidence.ids) for _, evidence in found], np.int64)
    columns: dict[str, Any] = {}
    for name in WORDS[:3]:
        words = pa.array([getattr(place, name) for place, _ in found], pa.string())
        columns[name] = words.take(pa.array(np.repeat(np.arange(len(found)), counts)))
    columns["item"] = pa.array([item for _, evidence in found for item in evidence.ids], pa.string())
    cells = [_cells(evidence) for _, evidence in found]
    for number, (name, kind) in enumerate((("scores", pa.float64()), ("positions", pa.int32()))):
        values = [each[0 if number == 0 else 2] for each in cells]
        sizes = [each[1] if number == 0 or len(each[2]) else np.zeros_like(each[1]) for each in cells]
        columns[name] = _list_array(values, sizes, kind)
    return pa.table(columns)


def _cells(evidence: Evidence) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the scores of all items in a row, how many each item has, and their positions, if any."""
    dense = np.concatenate(evidence.parts, axis=1)
    if not aggregates[evidence.aggregate].per_class:
        return dense.ravel(), np.full(len(dense), dense.shape[1]), np.empty(0, np.int64)
    rows, positions = np.nonzero(dense)
    return dense[rows, positions], np.bincount(rows, minlength=len(dense)), positions


def _list_array(values: Sequence[NDArray[Any]], sizes: Sequence[NDArray[Any]], kind: Any) -> Any:
    import pyarrow as pa

    ends = np.concatenate([[0], *sizes]).cumsum().astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(np.concatenate([[], *values]), kind))


def _column(table: Any, name: str) -> Any:
    chunks = table.column(name)
    return chunks.chunk(0) if chunks.num_chunks else chunks.combine_chunks()


def _codes(table: Any, name: str) -> tuple[dict[str, int], NDArray[np.int32]]:
    """Return the number of each word of a column, and the column as numbers."""
    column = _column(table, name)
    return {word: i for i, word in enumerate(column.dictionary.to_pylist())}, column.indices.to_numpy()


def _lists(column: Any, kind: type) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return where each row's list begins and ends, (n + 1,), and the values of all lists."""
    return column.offsets.to_numpy().astype(np.int64), column.values.to_numpy().astype(kind)


def _taken(
    lists: tuple[NDArray[np.int64], NDArray[Any]], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the sizes of some rows' lists, and their values one after the other."""
    bounds, values = lists
    sizes = bounds[rows + 1] - bounds[rows]
    before = np.repeat(bounds[rows] - (sizes.cumsum() - sizes), sizes)
    return sizes, values[before + np.arange(int(sizes.sum()))]
