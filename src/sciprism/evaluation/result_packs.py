"""Packed results: the results of all systems at one suite in two files, as they are worth keeping in git.

FOLDER/<suite>.json     numbers, intervals, counts, provenance: one line per system and task; what many
                        results have in common (declarations, systems, versions, commands) is written once
FOLDER/<suite>.parquet  the items behind the numbers (`item_scores`)

The JSON is written last and names the checksum of the Parquet file: a pack that was interrupted, or of which
one file was exchanged, is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.evaluation.item_scores import Evidence
from sciprism.evaluation.results import TaskResult, from_row
from sciprism.evaluation.score_tables import ItemScores, Layout, Place, write_scores
from sciprism.files import commit, sha256

FORMAT = "sciprism packed results 1"
SUFFIX = ".parquet"
SHARED = (
    ("system",),
    ("tally",),
    ("provenance", "command"),
    ("provenance", "declaration"),
    ("provenance", "versions"),
    ("provenance", "data"),
)
"""What many results have in common."""

Key = tuple[str, str]
"""The name of a system's results folder, and a task."""
Packable = tuple[TaskResult, Mapping[str, Evidence]]


@dataclass(frozen=True)
class Pack:
    """The results of one suite and their items; the items are read when the first is asked for."""

    path: Path
    results: Mapping[Key, TaskResult]
    layouts: Mapping[Key, Mapping[str, Layout]] = field(repr=False)

    def evidence(self, key: Key, metric: str) -> Evidence | None:
        """Return the items behind a metric, None where they were not there to be packed."""
        layout = self.layouts[key].get(metric)
        system, task = key
        return self._scores.evidence(Place(task, metric, system), layout) if layout else None

    @cached_property
    def _scores(self) -> ItemScores:
        return ItemScores(scores_path(self.path))


def scores_path(path: Path) -> Path:
    """Return the Parquet file that belongs to the JSON of a pack."""
    return path.with_suffix(SUFFIX)


def is_pack(path: Path) -> bool:
    """Tell whether a file is the JSON of a pack, by its first line."""
    start = json.dumps({"format": FORMAT})[:-1].encode()
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(start)) == start


def write_pack(path: Path, entries: Mapping[Key, Packable]) -> None:
    """Write the results of a suite: the items first, then the JSON that makes them count."""
    ordered = dict(sorted(entries.items()))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_scores(
        scores_path(path),
        (
            (Place(task, metric, system), evidence)
            for (system, task), (_, items) in ordered.items()
            for metric, evidence in items.items()
        ),
    )
    shared: dict[str, dict[str, int]] = {place[-1]: {} for place in SHARED}
    rows = [_row(system, result, items, shared) for (system, _), (result, items) in ordered.items()]
    head = {"format": FORMAT, "scores": {"sha256": sha256(scores_path(path))}}
    text = "".join((json.dumps(head)[:-1], ",\n", _listed("shared", shared), ",\n", _lines("results", rows)))
    commit(path, lambda file: file.write((text + "}\n").encode("utf-8", "replace")))


def read_pack(path: Path) -> Pack:
    """Return a pack; what was read is remembered as long as the files stay as they are.

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
def _read(path: Path, states: tuple[tuple[int, int], ...]) -> Pack:  # noqa: ARG001 (a file that changed is another)
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
        digest, shared, rows = whole["scores"]["sha256"], whole["shared"], whole["results"]
        found = [_unpacked(row, shared, path) for row in rows]
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
        raise InputError(f"{path} is damaged: {error!r}; restore it or pack the results again") from None
    if sha256(scores_path(path)) != digest:
        raise InputError(
            f"{scores_path(path)} is not the file that {path.name} was written with: packing was "
            "interrupted, or one of the two was exchanged; restore both or pack the results again"
        )
    return Pack(path, {key: result for key, result, _ in found}, {key: layouts for key, _, layouts in found})


def _row(
    system: str, result: TaskResult, items: Mapping[str, Evidence], shared: Mapping[str, dict[str, int]]
) -> dict[str, Any]:
    """Return one result as JSON has it, with numbers in place of what it shares with others."""
    row = asdict(result)
    for place in SHARED:
        holder = _holder(row, place)
        if place[-1] in holder:
            text = json.dumps(holder[place[-1]], ensure_ascii=False)
            known = shared[place[-1]]
            holder[place[-1]] = known.setdefault(text, len(known))
    layouts = {metric: asdict(Layout.of(evidence)) for metric, evidence in items.items()}
    return {"folder": system, **row, "items": layouts}


def _unpacked(
    row: dict[str, Any], shared: Mapping[str, list[Any]], path: Path
) -> tuple[Key, TaskResult, Mapping[str, Layout]]:
    for place in SHARED:
        holder = _holder(row, place)
        if place[-1] in holder:
            holder[place[-1]] = shared[place[-1]][holder[place[-1]]]
    system, layouts = row.pop("folder"), row.pop("items")
    result = from_row(row, path)
    found = {
        metric: Layout(**layout | {"labels": tuple(layout["labels"])}) for metric, layout in layouts.items()
    }
    return (system, result.task), result, found


def _holder(row: dict[str, Any], place: tuple[str, ...]) -> dict[str, Any]:
    holder = row
    for name in place[:-1]:
        holder = holder[name]
    return holder


def _listed(name: str, shared: Mapping[str, Mapping[str, int]]) -> str:
    """Return the shared values as JSON, one per line."""
    lists = ",\n".join(f"{json.dumps(key)}: [\n{_joined(values)}\n]" for key, values in shared.items())
    return f"{json.dumps(name)}: {{\n{lists}\n}}"


def _lines(name: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Return results as JSON, one per line."""
    return f"{json.dumps(name)}: [\n{_joined(json.dumps(row, ensure_ascii=False) for row in rows)}\n]"


def _joined(texts: Iterable[str]) -> str:
    return ",\n".join(texts)
