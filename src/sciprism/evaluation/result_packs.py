"""Packed results: all systems' results at one suite in two files, small enough for git.

FOLDER/<suite>.json     numbers, intervals, counts, provenance: one line per system and task; values that many
                        results share (declarations, systems, versions, commands) are written once
FOLDER/<suite>.parquet  the items behind the numbers (`score_tables`)

The JSON holds its checksum, is written last and names the checksum of the Parquet file: an interrupted
pack, a damaged one, or one of which one file was replaced, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache, reduce
from pathlib import Path
from typing import Any

from sciprism.checksums import read_sealed, seal_json
from sciprism.errors import DamagedFileError, InputError
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.results import TaskResult, item_scores_path, parse_result
from sciprism.evaluation.score_tables import ScoreKey, ScoreTable, write_score_table
from sciprism.files import sha256, write_atomically

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

ResultKey = tuple[str, str]
"""The name of a system's results folder, and a task."""
ScoredResult = tuple[TaskResult, Mapping[str, ItemScores]]
"""A result, and its item scores by metric."""


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
            key: (
                result,
                {name: found for name in result.metrics if (found := self.item_scores(key, name))},
            )
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
    lists = ",\n".join(f"{json.dumps(key)}: {_list_json(values)}" for key, values in shared.items())
    results = _list_json(json.dumps(row, ensure_ascii=False) for row in rows)
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


def _list_json(texts: Iterable[str]) -> str:
    """Return a list of JSON texts, one per line."""
    return "[\n" + ",\n".join(texts) + "\n]"
