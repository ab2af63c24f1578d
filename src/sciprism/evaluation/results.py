"""Results on disk: one JSON file per system and task, and the scores of the items behind every number.

RESULTS/<system>/<suite>/<task>.json           numbers, intervals, counts, provenance, and the items' checksum
RESULTS/<system>/<suite>/items/<task>.parquet  the scores of each query, paper, mention or text
RESULTS/<system>/<suite>/dropped/<task>.csv    of a custom task: all ids that its data dropped, with the reason

So an evaluation can be interrupted at any moment. `stored_results` reads these files, and the packed ones
that `sciprism results pack` writes. A Parquet table of item scores, of one result or of a packed suite, has one row
per system, task, metric and item. Columns:

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
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.checksums import read_sealed, write_sealed_json
from sciprism.drop_report import DropReport
from sciprism.errors import DamagedFileError, InputError
from sciprism.evaluation.item_scores import ItemScores, aggregates
from sciprism.evaluation.systems import resolve_distance
from sciprism.evaluation.task import Task
from sciprism.files import join_cells, sha256, write_atomically, write_lines

Status = Literal["done", "not served", "not here", "failed"]  # not here: the data of the task
UNDONE: tuple[Status, ...] = ("failed", "not here", "not served")  # statuses without a number, the gravest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One metric's value with its 95% interval, in natural units; n: items behind it.

    The method of the interval is `provenance["intervals"]`.
    """

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """The numbers of one system at one task, or why there are none.

    key: hash of the task's declaration. numbers: what averages take (`Task.numbers`). format: of the task;
    encoded_format: whose vectors were used instead, "" for the task's. dropped: items that were not used.
    """

    suite: str
    task: str
    key: str
    format: str
    group: str
    system: Mapping[str, Any]
    status: Status
    seed: int = 0
    encoded_format: str = ""
    in_train: bool | None = None
    numbers: str = "mean"
    reason: str = ""
    metrics: Mapping[str, Measure] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    dropped: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def values(self) -> list[float]:
        """Return the numbers that this task gives to an average: each metric's, their mean, or the first."""
        values = [measure.value for measure in self.metrics.values()]
        if self.numbers == "each" or not values:
            return values
        return values[:1] if self.numbers == "first" else [sum(values) / len(values)]


def folder_name(system: str, encoded_format: str = "", seed: int = 0) -> str:
    """Return the folder name of a system's results: its name made safe, then the format and seed if given."""
    name = re.sub(r"[^A-Za-z0-9._=+-]+", "-", system).strip("-.") or "system"
    return seed_folder(name + (f"--as-{encoded_format}" if encoded_format else ""), seed)


def seed_folder(folder: str, seed: int) -> str:
    """Return the folder name of another seed's run, given that of seed 0."""
    return folder + (f"--seed-{seed}" if seed else "")


def write_result(folder: Path, result: TaskResult, item_scores: Mapping[str, ItemScores]) -> None:
    """Write a result and its items; the JSON comes last, so a result that can be read is whole."""
    path = item_scores_path(folder, result.task)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_score_table(path, ((ScoreKey(result.task, metric), items) for metric, items in item_scores.items()))
    write_sealed_json(folder / f"{result.task}.json", {**asdict(result), "scores": {"sha256": sha256(path)}})


def write_dropped(path: Path, dropped: DropReport) -> None:
    """Write the ids that were dropped from the data of a task as CSV, each with the reason."""
    rows = [("reason", "id"), *((reason, name) for reason, names in dropped.ids.items() for name in names)]
    write_lines(path, map(join_cells, rows))


def item_scores_path(folder: Path, task: str) -> Path:
    """Return the path of the item scores of a task."""
    return folder / "items" / f"{task}.parquet"


def read_result(path: Path) -> TaskResult:
    """Read one result. Raises InputError where the file is no result, or damaged."""
    row = _read_row(path)
    row.pop("scores", None)
    return parse_result(row, path)


def read_item_scores(path: Path, metric: str) -> ItemScores | None:
    """Return the item scores behind a metric of the result at a path, None where they are missing. InputError."""
    row, table = _read_row(path), item_scores_path(path.parent, path.stem)
    if not table.exists():
        return None
    if sha256(table) != row.get("scores", {}).get("sha256"):
        raise DamagedFileError(f"{table} is not the file that {path.name} was written with; evaluate the task again")
    return ScoreTable(table).item_scores(ScoreKey(path.stem, metric))


def _read_row(path: Path) -> dict[str, Any]:
    content, _ = read_sealed(path, "restore it, or delete it and evaluate the task again")
    try:
        row: dict[str, Any] = json.loads(content)
        row.pop("checksum", None)
        return row
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path} is no result of `sciprism evaluate`: {error}") from None


def parse_result(row: dict[str, Any], path: Path) -> TaskResult:
    """Return a result from the values of a file. Raises InputError."""
    try:
        metrics = {name: Measure(**measure) for name, measure in row["metrics"].items()}
        return TaskResult(**row | {"metrics": metrics})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path} is no result of `sciprism evaluate`: {error}") from None


PACKAGES = ("sciprism", "torch", "numpy", "tokenizers", "scikit-learn", "scipy", "lightgbm", "bm25s")


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that scores depend on, of those installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def explain_other_scoring(result: TaskResult, task: Task, system: Mapping[str, Any] | None = None) -> str:
    """Return how a result of this task was scored otherwise than the task states, "" if it was not.

    Its key does not tell: a task may state distance and format where the paper does after results were made, and
    those of encoders that it does not concern still hold. system: its description now, by default the result's.
    """
    encoder_distance = str((system or result.system).get("distance", ""))
    stated = getattr(task.scored_protocol(), "distance", None)
    if encoder_distance and stated and "distance" in result.details:
        used = resolve_distance(result.details["distance"], str(result.system.get("distance", encoder_distance)))
        if used != (wanted := resolve_distance(stated, encoder_distance)):
            return f"compared by {used} distance; the task states {wanted}"
    used = result.details.get("format", task.format)
    if result.status == "done" and not result.encoded_format and used != (wanted := task.vector_format(result.system)):
        return f"scored with vectors of the format {used}; the task states {wanted}"
    return ""


def is_current(result: TaskResult, task: Task, data: Path | None, system: Mapping[str, Any]) -> bool:
    """Return whether a result still holds; one without versions, as of data that were not here, does not.

    Its declaration, distance, format, library versions and data files must be those of now. system: its
    description now.
    """
    recorded = result.provenance
    if result.status == "failed" or result.key != task.key or recorded.get("versions") != library_versions():
        return False
    if explain_other_scoring(result, task, system):
        return False
    files = [((data or Path()) / name, digest) for name, digest in recorded.get("data", {}).items()]
    return all(not path.is_file() or _digest(path, path.stat().st_mtime_ns) == digest for path, digest in files)


@lru_cache(maxsize=256)
def _digest(path: Path, changed: int) -> str:  # noqa: ARG001 (a file that changed is another)
    return sha256(path)


METADATA = "layouts"
TEXT_COLUMNS = ("system", "task", "metric", "item")
LEVEL = 19  # compression level of zstd: a file is packed once and read often
DICTIONARY = 1 << 26  # bytes of distinct values up to which a column is dictionary-encoded


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
    tables = []
    for _, group in groupby(ordered, key=lambda pair: (pair[0].task, pair[0].metric)):
        members = list(group)  # every system's first item, then every system's second ...
        positions = np.concatenate([np.arange(len(item_scores.ids)) for _, item_scores in members])
        tables.append(_build_rows(members).take(np.argsort(positions, kind="stable")))
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
