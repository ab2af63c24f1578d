"""Per-item scores in a Parquet table: of one result, or of all results of a suite.

One row per system, task, metric and item. Columns:

system     the name of the system's results folder, one per seed
task       the task
metric     the metric
item       the id of the query, paper, mention or text
scores     the numbers of the item, in the order of the aggregate's columns (`item_scores.aggregates`), part after part
positions  F1 only: the position of each score in that order; all other numbers of the item are 0

Numbers are exact. The metadata hold, of every system, task and metric, how its rows become item scores
again (`ScoreLayout`). Rows are sorted by task, metric, and the item's position in its result, so that rows of one
item, which are similar, are neighbours: that makes the file small.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores, aggregates
from sciprism.files import write_atomically

METADATA = "layouts"
TEXT_COLUMNS = ("system", "task", "metric", "item")
LEVEL = 19
"""Compression level of zstd: a file is packed once and read often."""
DICTIONARY = 1 << 26
"""Bytes of distinct values up to which a column is dictionary-encoded."""


@dataclass(frozen=True, slots=True)
class ScoreLayout:
    """How the rows of one system, task and metric become item scores again."""

    aggregate: str
    parts: int
    columns: int
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, item_scores: ItemScores) -> ScoreLayout:
        """Return the layout of some item scores."""
        return cls(item_scores.aggregate, len(item_scores.parts), item_scores.columns.shape[1], item_scores.labels)


@dataclass(frozen=True, slots=True, order=True)
class ScoreKey:
    """The task, metric and system of some scores; the file of one result names no system."""

    task: str
    metric: str
    system: str = ""


def write_score_table(path: Path, scores: Iterable[tuple[ScoreKey, ItemScores]]) -> None:
    """Write the item scores of every result, atomically; the same scores give the same bytes."""
    from pyarrow import concat_tables, parquet

    ordered = sorted(scores, key=lambda pair: pair[0])
    tables = [_interleave(list(group)) for _, group in groupby(ordered, key=lambda e: (e[0].task, e[0].metric))]
    table = concat_tables(tables) if tables else _build_rows([])
    table = table.replace_schema_metadata({METADATA: _format_layouts(ordered)})
    write_atomically(
        path,
        lambda file: parquet.write_table(
            table,
            file,
            compression="zstd",
            compression_level=LEVEL,
            use_dictionary=True,
            dictionary_pagesize_limit=DICTIONARY,
            write_statistics=False,
        ),
    )


class ScoreTable:
    """The score table of one file, in memory."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises InputError where it is no score table."""
        import pyarrow
        from pyarrow import parquet

        try:
            table = parquet.read_table(path, read_dictionary=TEXT_COLUMNS[:3]).unify_dictionaries().combine_chunks()
            self._layouts = _parse_layouts(table.schema.metadata[METADATA.encode()])
            self._codes = {name: _codes(table, name) for name in TEXT_COLUMNS[:3]}
            self._items = _column(table, "item")
            self._scores = _lists(_column(table, "scores"), np.float64)
            self._positions = _lists(_column(table, "positions"), np.int64)
        except (pyarrow.ArrowException, KeyError, OSError, AttributeError, TypeError, ValueError) as error:
            raise InputError(f"{path} holds no item scores: {error}; evaluate or pack again") from None

    def item_scores(self, key: ScoreKey) -> ItemScores | None:
        """Return the scores of one system, task and metric in the items' original order, None where it has none."""
        layout = self._layouts.get(key)
        if layout is None:
            return None
        rows = self._rows(key)
        ids = tuple(self._items.take(rows).to_pylist())
        width = layout.parts * layout.columns
        sizes, scores = _take_lists(self._scores, rows)
        if aggregates[layout.aggregate].per_class:
            dense = np.zeros((len(ids), width))
            dense[np.repeat(np.arange(len(ids)), sizes), _take_lists(self._positions, rows)[1]] = scores
        else:
            dense = scores.reshape(len(ids), width)
        first, *more = np.split(dense, layout.parts, axis=1)
        return ItemScores(ids, first, layout.aggregate, tuple(more), layout.labels)

    def _rows(self, key: ScoreKey) -> NDArray[np.int64]:
        """Return the row numbers of one system, task and metric; those of a task are neighbours."""
        start, stop = 0, len(self._items)
        for name, word in (("task", key.task), ("metric", key.metric)):
            numbers, codes = self._codes[name]
            matches = np.flatnonzero(codes[start:stop] == numbers.get(word, -1))
            if not len(matches):
                return matches
            start, stop = start + int(matches[0]), start + int(matches[-1]) + 1
        numbers, codes = self._codes["system"]
        return start + np.flatnonzero(codes[start:stop] == numbers.get(key.system, -1))


def _format_layouts(scores_by_key: Sequence[tuple[ScoreKey, ItemScores]]) -> str:
    """Return the distinct layouts as JSON, and the number of each key's."""
    numbers: dict[ScoreLayout, int] = {}
    keys = [[*astuple(key), numbers.setdefault(ScoreLayout.of(scores), len(numbers))] for key, scores in scores_by_key]
    return json.dumps({"layouts": [astuple(layout) for layout in numbers], "keys": keys}, ensure_ascii=False)


def _parse_layouts(text: bytes) -> dict[ScoreKey, ScoreLayout]:
    stored = json.loads(text)
    layouts = [ScoreLayout(name, parts, width, tuple(labels)) for name, parts, width, labels in stored["layouts"]]
    return {ScoreKey(*key): layouts[number] for *key, number in stored["keys"]}


def _interleave(scores_by_key: Sequence[tuple[ScoreKey, ItemScores]]) -> Any:
    """Return the rows of one task and metric: every system's first item, then every system's second ..."""
    positions = np.concatenate([np.arange(len(item_scores.ids)) for _, item_scores in scores_by_key])
    return _build_rows(scores_by_key).take(np.argsort(positions, kind="stable"))


def _build_rows(scores_by_key: Sequence[tuple[ScoreKey, ItemScores]]) -> Any:
    """Return a table of the rows of some results, one result after the other."""
    import pyarrow as pa

    counts = np.array([len(item_scores.ids) for _, item_scores in scores_by_key], np.int64)
    columns: dict[str, Any] = {}
    for name in TEXT_COLUMNS[:3]:
        words = pa.array([getattr(key, name) for key, _ in scores_by_key], pa.string())
        columns[name] = words.take(pa.array(np.repeat(np.arange(len(scores_by_key)), counts)))
    columns["item"] = pa.array([item for _, item_scores in scores_by_key for item in item_scores.ids], pa.string())
    sparse = [_to_sparse(item_scores) for _, item_scores in scores_by_key]
    columns["scores"] = _list_array([s for s, _, _ in sparse], [sizes for _, sizes, _ in sparse], pa.float64())
    columns["positions"] = _list_array(
        [positions for _, _, positions in sparse],
        [sizes if len(positions) else np.zeros_like(sizes) for _, sizes, positions in sparse],
        pa.int32(),
    )
    return pa.table(columns)


def _to_sparse(item_scores: ItemScores) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the scores of all items end to end, how many each item has, and their positions, if any."""
    dense = np.concatenate(item_scores.parts, axis=1)
    if not aggregates[item_scores.aggregate].per_class:
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
    """Return the bounds of each row's list, (n + 1,), and the values of all lists."""
    return column.offsets.to_numpy().astype(np.int64), column.values.to_numpy().astype(kind)


def _take_lists(
    lists: tuple[NDArray[np.int64], NDArray[Any]], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the sizes of some rows' lists, and their values end to end."""
    bounds, values = lists
    sizes = bounds[rows + 1] - bounds[rows]
    before = np.repeat(bounds[rows] - (sizes.cumsum() - sizes), sizes)
    return sizes, values[before + np.arange(int(sizes.sum()))]
