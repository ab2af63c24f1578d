"""Stored results of a table, by system and task, and the file that maps models to systems."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sciprism.errors import InputError
from sciprism.evaluation import results, stored_results
from sciprism.evaluation.provenance import explain_other_scoring
from sciprism.evaluation.report.system_results import StoredResult
from sciprism.evaluation.task import Task
from sciprism.files import write_json
from sciprism.reproduce.table import GroupedSuite

RUNS = "runs*.json"
"""Files next to the systems' folders: what each training run came to, under "KEY, seed NUMBER"."""
MODELS_FILE = "models.json"
"""File next to the systems' folders: key of a row -> the folders of its systems."""


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """The results of a suite's tasks in a folder, each read once."""

    folder: Path
    suite: GroupedSuite
    _read: dict[tuple[str, str], StoredResult | None] = field(default_factory=dict)

    def run(self, system: str, task: Task) -> StoredResult | None:
        """Return the result of a system (by name or folder) at a task in its current declaration, if any."""
        key = results.folder_name(system), task.name
        if key not in self._read:
            path = self.folder / key[0] / self.suite.suite_of(task.name).name
            found = stored_results.find_result(path, task.name)
            holds = found and found.key == task.key and not explain_other_scoring(found, task)
            self._read[key] = StoredResult(found, path) if found and holds else None
        return self._read[key]

    def status(self, system: str, task: Task) -> str:
        """Return "done", "failed", "not served" or "not run"."""
        found = self.run(system, task)
        return found.result.status if found else "not run"


def read_models(folder: Path) -> dict[str, tuple[str, ...]]:
    """Return key of a row -> folders of its systems; empty if nothing was recorded."""
    rows = read_records(folder / MODELS_FILE, "models", "lists", list)
    return {key: tuple(map(str, names)) for key, names in rows.items()}


def read_runs(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield name and facts of each training run in a folder of results, those of earlier commands too."""
    for path in sorted(folder.glob(RUNS)):
        whole = read_records(path, "runs", "values")
        for part in (whole, *whole.get("before", ())):
            yield from part.get("runs", {}).items()


def read_records(path: Path, what: str, values: str, kind: type = object) -> dict[str, Any]:
    """Return a JSON object whose values are of a kind, {} without the file; what, values: for messages."""
    if not path.exists():
        return {}
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is not a file of {what}: {error}") from None
    if not isinstance(rows, dict) or not all(isinstance(value, kind) for value in rows.values()):
        raise InputError(f"{path} is not a file of {what}: expected an object of {values}")
    return rows


def write_models(folder: Path, found: Mapping[str, Sequence[str]]) -> None:
    """Record which systems belong to which row.

    Recorded systems stay: a table made with one of three seeds removes none. New ones are appended; a list
    with all recorded ones sets the order. Remove a system by hand.
    """
    rows = read_models(folder)
    for key, names in found.items():
        known = rows.get(key, ())
        rows[key] = tuple(names) if set(known) <= set(names) else tuple(dict.fromkeys((*known, *names)))
    write_json(folder / MODELS_FILE, dict(sorted(rows.items())))
