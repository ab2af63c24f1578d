"""Results on disk: one JSON file per system and task, and the scores of the items behind every number.

ROOT/<system>/<suite>/<task>.json           numbers, intervals, counts, provenance, and the items' checksum
ROOT/<system>/<suite>/items/<task>.parquet  the scores of each query, paper, mention or text
ROOT/<system>/<suite>/dropped/<task>.csv    of a custom task: all ids that its data dropped, with the reason

So an evaluation can be interrupted at any moment. `pack_results` puts all systems' results at one suite into two
files, small enough for git. Where a folder has a result too, the folder's counts: it was written later.

ROOT/<suite>.results.jsonl.gz  the checksum of the other file, then a line for each result: its JSON file
ROOT/<suite>.items.parquet     the items of all results

Item scores are one long table, alike in both: `system` (the name of its folder), `task`, `metric`, `aggregate`
(`item_scores.aggregates`), `item` (the id), `column` and `value`. A column is PART/NAME/LABEL: the part of a mean
over several, the number that the aggregate reads, and the class of an F1. Rows of 0 are left out, but for an
item's first column and the first item of each metric. Numbers are exact. Rows are sorted by task, item, metric and
system: those of one item are similar, and neighbours compress well.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sciprism.errors import DamagedFileError, InputError
from sciprism.evaluation.item_scores import ItemScores, aggregates, sort_items
from sciprism.evaluation.systems import System, resolve_distance
from sciprism.evaluation.task import Task
from sciprism.files import FileState, read_sealed, sha256, write_atomically, write_sealed_json

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
    write_score_table(path, {(folder.parent.name, result.task): item_scores})
    write_sealed_json(folder / f"{result.task}.json", {**asdict(result), "scores": {"sha256": sha256(path)}})


def item_scores_path(folder: Path, task: str) -> Path:
    """Return the path of the item scores of a task."""
    return folder / "items" / f"{task}.parquet"


def read_result(path: Path) -> TaskResult:
    """Read one result. Raises InputError where the file is not a result, or damaged."""
    row = _read_row(path)
    row.pop("scores", None)
    return parse_result(row, path)


def _read_row(path: Path) -> dict[str, Any]:
    content, _ = read_sealed(path, "restore it, or delete it and evaluate the task again")
    try:
        row: dict[str, Any] = json.loads(content)
        row.pop("checksum", None)
        return row
    except (ValueError, AttributeError) as error:
        raise InputError(f"{path} is not a result of `sciprism evaluate`: {error}") from None


def parse_result(row: dict[str, Any], path: Path) -> TaskResult:
    """Return a result from the values of a file. Raises InputError."""
    try:
        metrics = {name: Measure(**measure) for name, measure in row["metrics"].items()}
        return TaskResult(**row | {"metrics": metrics})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path} is not a result of `sciprism evaluate`: {error}") from None


PACKAGES = ("sciprism", "torch", "numpy", "tokenizers", "scikit-learn", "scipy", "lightgbm", "bm25s")


def library_versions() -> dict[str, str]:
    """Return the versions of the libraries that scores depend on, of those installed."""
    versions = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
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


KEY = ("system", "task", "metric")
TEXT_COLUMNS = (*KEY, "aggregate", "item", "column")
LEVEL = 19  # compression level of zstd: a file is packed once and read often
DICTIONARY = 1 << 26  # bytes of distinct values up to which a column is dictionary-encoded

ResultKey = tuple[str, str]  # the name of a system's results folder, and a task
ScoredResult = tuple[TaskResult, Mapping[str, ItemScores]]  # a result, and its item scores by metric


def write_score_table(path: Path, entries: Mapping[ResultKey, Mapping[str, ItemScores]]) -> None:
    """Write the item scores of some results by metric, atomically; the same scores give the same bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    by_task: dict[str, list[Any]] = {}
    for (system, task), scores in entries.items():
        by_task.setdefault(task, []).extend(
            _build_rows(system, task, metric, sort_items(items)) for metric, items in scores.items()
        )
    schema = pa.schema([*((name, pa.string()) for name in TEXT_COLUMNS), ("value", pa.float64())])
    order = [(name, "ascending") for name in ("item", "metric", "system")]
    tables = [pa.concat_tables(some).sort_by(order) for _, some in sorted(by_task.items()) if some]
    table = pa.concat_tables([schema.empty_table(), *tables])
    write_atomically(
        path,
        lambda file: parquet.write_table(
            table,
            file,
            row_group_size=max(1, len(table)),  # one dictionary of each column, and repetitions are near
            compression="zstd",
            compression_level=LEVEL,
            use_dictionary=[*TEXT_COLUMNS],
            dictionary_pagesize_limit=DICTIONARY,
            write_statistics=False,
            store_schema=False,
        ),
    )


def _build_rows(system: str, task: str, metric: str, items: ItemScores) -> Any:
    import pyarrow as pa

    names = [
        f"{part}/{name}/{label}"
        for part in range(len(items.parts))
        for name in aggregates[items.aggregate].columns
        for label in items.labels or ("",)
    ]
    dense = np.concatenate(items.parts, axis=1)
    written = dense != 0
    written[:, 0] = written[:1] = True
    rows, columns = np.nonzero(written)
    constants = [pa.repeat(value, len(rows)) for value in (system, task, metric, items.aggregate)]
    texts = [pa.array(values, pa.string()).take(where) for values, where in ((items.ids, rows), (names, columns))]
    return pa.table([*constants, *texts, dense[rows, columns]], [*TEXT_COLUMNS, "value"])


class ScoreTable:
    """The item scores of one file, in memory."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises InputError where it is not such a table."""
        import pyarrow as pa
        from pyarrow import parquet

        try:
            table = parquet.read_table(path, read_dictionary=TEXT_COLUMNS).unify_dictionaries()
            columns = {name: table.column(name).combine_chunks() for name in TEXT_COLUMNS}
            self._values = table.column("value").to_numpy()
        except (pa.ArrowException, KeyError, OSError) as error:
            raise InputError(
                f"{path} holds no item scores: {error}; where an earlier version made it, remove the results and "
                "evaluate the tasks again"
            ) from None
        self._words: dict[str, list[str]] = {name: column.dictionary.to_pylist() for name, column in columns.items()}
        self._codes = {name: column.indices.to_numpy() for name, column in columns.items()}
        self._sizes = [len(self._words[name]) + 1 for name in KEY]
        keys = np.ravel_multi_index([self._codes[name] for name in KEY], self._sizes)
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def read(self, task: str, metric: str, system: str = "") -> ItemScores | None:
        """Return the scores of a metric, items in order of id, None where it has none; system: by default the first."""
        system = system or next(iter(self._words["system"]), "")
        try:
            key = [self._words[name].index(word) for name, word in zip(KEY, (system, task, metric), strict=True)]
        except ValueError:
            return None
        start, stop = np.searchsorted(self._keys, np.ravel_multi_index(key, self._sizes) + np.arange(2))
        rows = self._order[start:stop]
        if not len(rows):
            return None
        item, column = self._codes["item"][rows], self._codes["column"][rows]
        starts = np.flatnonzero(np.diff(item, prepend=-1))
        width = starts[1] if len(starts) > 1 else len(rows)  # the first item has all columns
        position = np.zeros(column.max() + 1, np.int64)
        position[column[:width]] = np.arange(width)
        dense = np.zeros((len(starts), width))
        row = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows)))
        dense[row, position[column]] = self._values[rows]
        parts, _, labels = zip(*(self._words["column"][code].split("/", 2) for code in column[:width]), strict=True)
        first, *more = np.split(dense, len(set(parts)), axis=1)
        aggregate = self._words["aggregate"][self._codes["aggregate"][rows[0]]]
        classes = tuple(dict.fromkeys(labels)) if aggregates[aggregate].per_class else ()
        ids = tuple(self._words["item"][code] for code in item[starts])
        return ItemScores(ids, first, aggregate, tuple(more), classes)


PACK_SUFFIX = ".results.jsonl.gz"


@dataclass(frozen=True, slots=True)
class PackedSuite:
    """What `pack_results` wrote: the file of results, the number of results and systems, the bytes of both files.

    source: the folder that held the systems' folders.
    """

    path: Path
    source: Path
    results: int
    systems: int
    size: int


@dataclass(frozen=True)
class ResultPack:
    """The results of one suite and their item scores, which are read when first needed."""

    path: Path
    results: Mapping[ResultKey, TaskResult]

    def item_scores(self, key: ResultKey, metric: str) -> ItemScores | None:
        """Return the item scores behind a metric, None where they were missing when it was packed."""
        system, task = key
        return self._table.read(task, metric, system)

    def entries(self) -> dict[ResultKey, ScoredResult]:
        """Return every result with the item scores that there are."""
        return {
            key: (result, {name: scores for name in result.metrics if (scores := self.item_scores(key, name))})
            for key, result in self.results.items()
        }

    @cached_property
    def _table(self) -> ScoreTable:
        return ScoreTable(packed_items(self.path))


def find_result(folder: Path, task: str) -> TaskResult | None:
    """Return the result of a task at ROOT/<system>/<suite>, None where there is none."""
    path = folder / f"{task}.json"
    if path.exists():
        return read_result(path)
    pack = _find_pack(folder)
    return pack.results.get((folder.parent.name, task)) if pack else None


def find_item_scores(folder: Path, task: str, metric: str) -> ItemScores | None:
    """Return the item scores behind a metric of a result, None where they are missing. InputError."""
    path, table = folder / f"{task}.json", item_scores_path(folder, task)
    if not path.exists():
        pack, key = _find_pack(folder), (folder.parent.name, task)
        return pack.item_scores(key, metric) if pack and key in pack.results else None
    if not table.exists():
        return None
    if sha256(table) != _read_row(path).get("scores", {}).get("sha256"):
        raise DamagedFileError(f"{table} is not the file that {path.name} was written with; evaluate the task again")
    return ScoreTable(table).read(task, metric)


def read_system(folder: Path) -> Iterator[TaskResult]:
    """Yield the results of one system, ROOT/<system>; where a task is packed too, both."""
    yield from map(read_result, sorted(folder.rglob("*.json")))
    for path in sorted(folder.parent.glob(f"*{PACK_SUFFIX}")):
        yield from (result for (name, _), result in read_pack(path).results.items() if name == folder.name)


def check_owners(root: Path, systems: Sequence[tuple[str, System]]) -> None:
    """Check that the folders of a name, of any seed, have results of one model alone, stored ones included. InputError.

    systems: with the names of their folders of seed 0.
    """
    owners: dict[str, str] = {}
    for name, system in systems:
        for folder in (root / name, *root.glob(f"{name}--seed-*")):
            stored = next(read_system(folder), None)
            if stored and (other := stored.system.get("fingerprint")) != system.fingerprint:
                raise InputError(
                    f"{folder} holds results of another model named {system.name} (fingerprint {other}, now "
                    f"{system.fingerprint}); name it, TITLE=FOLDER, choose another folder with -o, or remove this one"
                )
        if owners.setdefault(name, system.fingerprint) != system.fingerprint:
            raise InputError(f"two models are named {system.name}; name them, ONE=FOLDER TWO=FOLDER")


def has_results(root: Path) -> bool:
    """Tell whether a folder, or a file, holds results, damaged ones too."""
    return any(is_pack(path) or _is_result(path) for path in _list_files(root))


def read_results(root: Path) -> Iterator[tuple[Path, TaskResult]]:
    """Yield every result below a folder, or of one packed suite, with its folder, in order of path.

    Raises InputError where there is none.
    """
    results: dict[Path, TaskResult | None] = {}
    for path in _list_files(root):
        if is_pack(path):
            suite = path.name.removesuffix(PACK_SUFFIX)
            for (system, task), result in read_pack(path).results.items():
                results.setdefault(path.parent / system / suite / f"{task}.json", result)
        elif _is_result(path):
            results[path] = None
    if not results:
        raise InputError(
            f"{root} holds no results of this version; make them with: sciprism evaluate MODEL --suite open -o {root}"
        )
    for path, packed in sorted(results.items(), key=lambda pair: pair[0]):
        yield path.parent, packed if packed and not path.exists() else read_result(path)


def pack_results(source: Path, target: Path) -> list[PackedSuite]:
    """Pack all results below a folder: one pack per suite for every folder of systems, at the same place.

    Results that are packed at the target already stay, except those of the same system and task. The same
    results give the same bytes. Raises InputError where a result is not where `sciprism evaluate` puts it.
    """
    entries: dict[tuple[Path, str], dict[ResultKey, ScoredResult]] = {}
    source = source.absolute()
    for folder, result in read_results(source):
        if folder.name != result.suite:
            raise InputError(
                f"{folder / result.task}.json is a result of the suite {result.suite!r}; pack a folder as "
                "`sciprism evaluate -o` writes it: SYSTEM/SUITE/TASK.json"
            )
        scores_by_metric = {metric: find_item_scores(folder, result.task, metric) for metric in result.metrics}
        items = {metric: scores for metric, scores in scores_by_metric.items() if scores is not None}
        systems = entries.setdefault((folder.parent.parent, folder.name), {})
        systems[folder.parent.name, result.task] = result, items
    packed = []
    for (base, suite), some in entries.items():
        path = target / (base.relative_to(source) if base.is_relative_to(source) else "") / f"{suite}{PACK_SUFFIX}"
        merged = (read_pack(path).entries() if path.exists() else {}) | some
        write_pack(path, merged)
        size = path.stat().st_size + packed_items(path).stat().st_size
        packed.append(PackedSuite(path, base, len(merged), len({system for system, _ in merged}), size))
    return packed


def _list_files(root: Path) -> Iterable[Path]:
    return [root] if root.is_file() else chain(root.rglob(f"*{PACK_SUFFIX}"), root.rglob("*.json"))


def _is_result(path: Path) -> bool:
    return (path.parent / "items").is_dir()


def _find_pack(folder: Path) -> ResultPack | None:
    folder = folder.absolute()
    path = folder.parent.parent / f"{folder.name}{PACK_SUFFIX}"
    return read_pack(path) if path.is_file() else None


def is_pack(path: Path) -> bool:
    """Tell by its name whether a file is that of packed results."""
    return path.name.endswith(PACK_SUFFIX)


def packed_items(path: Path) -> Path:
    """Return the path of the item scores that belong to a file of packed results."""
    return path.with_name(path.name.removesuffix(PACK_SUFFIX) + ".items.parquet")


def add_item_states(folder: Path, states: Iterable[FileState]) -> Iterator[FileState]:
    """Yield the states of results, those of item scores by the checksum in the file that they belong to."""
    found = {state.name: state for state in states}
    for name in list(found):
        path, table = folder / name, None
        try:
            if is_pack(path):
                table, row = packed_items(path), _read_lines(path)[0]
                found[name] = FileState(name, "ok")
            elif _is_result(path) and path.suffix == ".json":
                table, row = item_scores_path(path.parent, path.stem), _read_row(path)
        except InputError:
            found[name] = FileState(name, "damaged")
            continue
        if table:
            inside = table.relative_to(folder).as_posix()
            intact = table.exists() and sha256(table) == row["scores"]["sha256"]
            found[inside] = FileState(inside, "ok" if intact else "damaged" if table.exists() else "missing")
    yield from found.values()


def write_pack(path: Path, entries: Mapping[ResultKey, ScoredResult]) -> None:
    """Write the results of a suite: the item scores first, then their own file."""
    ordered = dict(sorted(entries.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_score_table(packed_items(path), {key: items for key, (_, items) in ordered.items()})
    rows: list[dict[str, Any]] = [{"scores": {"sha256": sha256(packed_items(path))}}]
    rows += [{"folder": system, **asdict(result)} for (system, _), (result, _) in ordered.items()]
    content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    write_atomically(path, lambda file: file.write(gzip.compress(content, mtime=0)))


def read_pack(path: Path) -> ResultPack:
    """Return a pack; it is read again only when one of its files has changed.

    Raises InputError where one of the two files is damaged, missing, or of another pack.
    """
    states = []
    for part in (path, packed_items(path)):
        if not part.is_file():
            raise InputError(f"{part} is missing: packed results are two files; restore it or pack again")
        state = part.stat()
        states.append((state.st_mtime_ns, state.st_size))
    return _read_pack(path, tuple(states))


@lru_cache(maxsize=32)
def _read_pack(path: Path, states: tuple[tuple[int, int], ...]) -> ResultPack:  # noqa: ARG001 (part of the cache key)
    head, *rows = _read_lines(path)
    if sha256(packed_items(path)) != head["scores"]["sha256"]:
        raise InputError(
            f"{packed_items(path)} is not the file that {path.name} was written with: packing was "
            "interrupted, or one of the two was exchanged; restore both or pack the results again"
        )
    systems = [row.pop("folder") for row in rows]
    results = [parse_result(row, path) for row in rows]
    return ResultPack(path, {(system, each.task): each for system, each in zip(systems, results, strict=True)})


def _read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a pack, the head first. Raises DamagedFileError."""
    try:
        return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged: {error}; restore it or pack the results again") from None
