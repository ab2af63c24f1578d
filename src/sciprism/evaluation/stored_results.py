"""Read results wherever they are: in the folders that `sciprism evaluate` writes, or packed.

A result is identified by a folder, ROOT/<system>/<suite>, and a task. That folder holds its files (`results`), or a
pack does: all systems' results at one suite in two files, small enough for git. Where both do, the folder's counts: it
was written later.

ROOT/<suite>.json     numbers, intervals, counts, provenance: one line per system and task; values that many
                      results share (declarations, systems, versions, commands) are written once
ROOT/<suite>.parquet  the items behind the numbers (`results`)

The JSON of a pack holds its checksum, is written last and names the checksum of the Parquet file: an interrupted
pack, a damaged one, or one of which one file was replaced, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache, reduce
from pathlib import Path
from typing import Any

from sciprism.checksums import read_sealed, seal_json
from sciprism.errors import DamagedFileError, InputError
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.results import (
    ScoreKey,
    ScoreTable,
    TaskResult,
    item_scores_path,
    parse_result,
    read_item_scores,
    read_result,
    write_score_table,
)
from sciprism.evaluation.systems import System
from sciprism.files import sha256, write_atomically


@dataclass(frozen=True, slots=True)
class PackedSuite:
    """What `pack_results` wrote: the JSON file, the number of results and systems, the bytes of both files.

    source: the folder that held the systems' folders.
    """

    path: Path
    source: Path
    results: int
    systems: int
    size: int


def find_result(folder: Path, task: str) -> TaskResult | None:
    """Return the result of a task at ROOT/<system>/<suite>, None where there is none."""
    path = folder / f"{task}.json"
    if path.exists():
        return read_result(path)
    pack = _find_pack(folder)
    return pack.results.get((folder.parent.name, task)) if pack else None


def read_system(folder: Path) -> Iterator[TaskResult]:
    """Yield the results of one system, ROOT/<system>; where a task is packed too, both."""
    yield from map(read_result, sorted(folder.rglob("*.json")))
    for pack in map(read_pack, filter(is_pack, sorted(folder.parent.glob("*.json")))):
        yield from (result for (name, _), result in pack.results.items() if name == folder.name)


def check_owners(systems: Sequence[tuple[Path, System]]) -> None:
    """Check that each folder, ROOT/<system>, has results of one model alone, stored ones included. InputError."""
    owners: dict[Path, str] = {}
    for folder, system in systems:
        if stored := next(read_system(folder), None):
            check_owner(stored, system, folder)
        if owners.setdefault(folder, system.fingerprint) != system.fingerprint:
            raise InputError(f"two models are named {system.name}; evaluate them with different -o")


def check_owner(result: TaskResult, system: System, folder: Path) -> None:
    """Raise InputError where a stored result is of another model of the same name."""
    stored = result.system.get("fingerprint")
    if stored != system.fingerprint:
        raise InputError(
            f"{folder} holds results of another model named {system.name} (fingerprint {stored}, now "
            f"{system.fingerprint}); choose another folder with -o, or remove it"
        )


def find_item_scores(folder: Path, task: str, metric: str) -> ItemScores | None:
    """Return the item scores behind a metric of a result, None where they are missing."""
    path = folder / f"{task}.json"
    if path.exists():
        return read_item_scores(path, metric)
    pack, key = _find_pack(folder), (folder.parent.name, task)
    return pack.item_scores(key, metric) if pack and key in pack.results else None


def has_results(root: Path) -> bool:
    """Tell whether a folder, or a JSON file, holds results, damaged ones too."""
    return any(_is_result(path) or is_pack(path) or scores_path(path).exists() for path in _list_json(root))


def read_results(root: Path) -> Iterator[tuple[Path, TaskResult]]:
    """Yield every result below a folder, or of one packed suite, with its folder, in order of path.

    Raises InputError where there is none.
    """
    results: dict[Path, TaskResult | None] = {}
    for path in _list_json(root):
        if _is_result(path):
            results[path] = None
        elif is_pack(path):
            for (system, task), result in read_pack(path).results.items():
                results.setdefault(path.parent / system / path.stem / f"{task}.json", result)
    if not results:
        raise InputError(f"{root} holds no results; make them with: sciprism evaluate MODEL --suite open -o {root}")
    for path, packed in sorted(results.items(), key=lambda pair: pair[0]):
        yield path.parent, packed if packed and not path.exists() else read_result(path)


def pack_results(source: Path, target: Path) -> list[PackedSuite]:
    """Pack all results below a folder: one pack per suite for every folder of systems, at the same place.

    Results that are packed at the target already stay, except those of the same system and task. The same
    results give the same bytes. Raises InputError where a result is not where `sciprism evaluate` puts it.
    """
    entries: dict[tuple[Path, str], dict[ResultKey, ScoredResult]] = {}
    for folder, result in read_results(source):
        folder = folder.absolute()
        if folder.name != result.suite:
            raise InputError(
                f"{folder / result.task}.json is a result of the suite {result.suite!r}; pack a folder as "
                "`sciprism evaluate -o` writes it: SYSTEM/SUITE/TASK.json"
            )
        scores_by_metric = {metric: find_item_scores(folder, result.task, metric) for metric in result.metrics}
        items = {metric: scores for metric, scores in scores_by_metric.items() if scores is not None}
        systems = entries.setdefault((folder.parent.parent, folder.name), {})
        systems[folder.parent.name, result.task] = result, items
    return [_pack(base, suite, some, source, target) for (base, suite), some in entries.items()]


def _pack(base: Path, suite: str, entries: dict[ResultKey, ScoredResult], source: Path, target: Path) -> PackedSuite:
    inside = base.relative_to(source.absolute()) if base.is_relative_to(source.absolute()) else Path()
    path = target / inside / f"{suite}.json"
    if path.exists() and not is_pack(path):
        raise InputError(f"{path} is no packed results; choose another folder with -o")
    merged = (read_pack(path).entries() if path.exists() else {}) | entries
    write_pack(path, merged)
    size = sum(part.stat().st_size for part in (path, scores_path(path)))
    return PackedSuite(path, base, len(merged), len({system for system, _ in merged}), size)


def _list_json(root: Path) -> Iterable[Path]:
    return [root] if root.is_file() else root.rglob("*.json")


def _is_result(path: Path) -> bool:
    return (path.parent / "items").is_dir()


def _find_pack(folder: Path) -> ResultPack | None:
    folder = folder.absolute()
    path = folder.parent.parent / f"{folder.name}.json"
    return read_pack(path) if is_pack(path) else None


FORMAT = "sciprism packed results 2"
SHARED = (
    ("system",),
    ("dropped",),
    ("provenance", "command"),
    ("provenance", "declaration"),
    ("provenance", "versions"),
    ("provenance", "data"),
)
"""Values that many results share."""

ResultKey = tuple[str, str]  # the name of a system's results folder, and a task
ScoredResult = tuple[TaskResult, Mapping[str, ItemScores]]  # a result, and its item scores by metric


@dataclass(frozen=True)
class ResultPack:
    """The results of one suite and their item scores, which are read when first needed."""

    path: Path
    results: Mapping[ResultKey, TaskResult]

    def item_scores(self, key: ResultKey, metric: str) -> ItemScores | None:
        """Return the item scores behind a metric, None where they were missing when it was packed."""
        system, task = key
        return self._table.item_scores(ScoreKey(task, metric, system))

    def entries(self) -> dict[ResultKey, ScoredResult]:
        """Return every result with the item scores that there are."""
        return {
            key: (result, {name: scores for name in result.metrics if (scores := self.item_scores(key, name))})
            for key, result in self.results.items()
        }

    @cached_property
    def _table(self) -> ScoreTable:
        return ScoreTable(scores_path(self.path))


def scores_path(path: Path) -> Path:
    """Return the path of the Parquet file that belongs to the JSON file of a pack."""
    return path.with_suffix(".parquet")


def is_pack(path: Path) -> bool:
    """Tell whether a file is the JSON file of a pack, by its first line."""
    start = json.dumps({"format": FORMAT})[:-1].encode()
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(start)) == start


def find_score_file(path: Path) -> tuple[Path, str] | None:
    """Return the file of the item scores of a result or a pack, and its checksum; None for another JSON file."""
    packed = is_pack(path)
    content = json.loads(read_sealed(path, "restore it, or evaluate or pack again")[0])
    if not isinstance(content, dict) or not isinstance(content.get("scores"), dict):
        return None
    return scores_path(path) if packed else item_scores_path(path.parent, path.stem), content["scores"]["sha256"]


def write_pack(path: Path, entries: Mapping[ResultKey, ScoredResult]) -> None:
    """Write the results of a suite: the item scores first, then the JSON file."""
    ordered = dict(sorted(entries.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_score_table(
        scores_path(path),
        (
            (ScoreKey(task, metric, system), scores)
            for (system, task), (_, items) in ordered.items()
            for metric, scores in items.items()
        ),
    )
    shared: dict[str, dict[str, int]] = {path[-1]: {} for path in SHARED}
    rows = [_to_row(system, result, shared) for (system, _), (result, _) in ordered.items()]
    head = {"format": FORMAT, "scores": {"sha256": sha256(scores_path(path))}}
    lists = ",\n".join(f"{json.dumps(key)}: {_join_json(values)}" for key, values in shared.items())
    results = _join_json(json.dumps(row, ensure_ascii=False) for row in rows)
    text = f'{json.dumps(head)[:-1]},\n"shared": {{\n{lists}\n}},\n"results": {results}}}\n'
    write_atomically(path, lambda file: file.write(seal_json(text)))


def read_pack(path: Path) -> ResultPack:
    """Return a pack; it is read again only when one of its files has changed.

    Raises InputError where one of the two files is damaged, missing, or of another pack.
    """
    states = []
    for part in (path, scores_path(path)):
        if not part.is_file():
            raise InputError(f"{part} is missing: packed results are two files; restore it or pack again")
        state = part.stat()
        states.append((state.st_mtime_ns, state.st_size))
    return _read(path, tuple(states))


@lru_cache(maxsize=32)
def _read(path: Path, states: tuple[tuple[int, int], ...]) -> ResultPack:  # noqa: ARG001 (part of the cache key)
    try:
        whole = json.loads(read_sealed(path, "restore it or pack the results again")[0])
        digest, rows = whole["scores"]["sha256"], whole["results"]
        results = dict(_from_row(row, whole["shared"], path) for row in rows)
    except DamagedFileError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise InputError(f"{path} is damaged: {error!r}; restore it or pack the results again") from None
    if sha256(scores_path(path)) != digest:
        raise InputError(
            f"{scores_path(path)} is not the file that {path.name} was written with: packing was "
            "interrupted, or one of the two was exchanged; restore both or pack the results again"
        )
    return ResultPack(path, results)


def _to_row(system: str, result: TaskResult, shared: Mapping[str, dict[str, int]]) -> dict[str, Any]:
    """Return one result as JSON values, with indexes in place of the shared values."""
    row = asdict(result)
    for path in SHARED:
        holder = _holder(row, path)
        if path[-1] in holder:
            text = json.dumps(holder[path[-1]], ensure_ascii=False)
            numbers = shared[path[-1]]
            holder[path[-1]] = numbers.setdefault(text, len(numbers))
    return {"folder": system, **row}


def _from_row(row: dict[str, Any], shared: Mapping[str, list[Any]], path: Path) -> tuple[ResultKey, TaskResult]:
    for keys in SHARED:
        holder = _holder(row, keys)
        if keys[-1] in holder:
            holder[keys[-1]] = shared[keys[-1]][holder[keys[-1]]]
    system = row.pop("folder")
    result = parse_result(row, path)
    return (system, result.task), result


def _holder(row: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return the object of a result that holds the value at a path."""
    return reduce(dict.__getitem__, path[:-1], row)


def _join_json(texts: Iterable[str]) -> str:
    """Return a list of JSON texts, one per line."""
    return "[\n" + ",\n".join(texts) + "\n]"
