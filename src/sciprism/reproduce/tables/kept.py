"""Results on disk as a table needs them: by model and task, with the items behind their numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sciprism.errors import InputError
from sciprism.evaluation import results, stored_results
from sciprism.evaluation.report.entrants import Run
from sciprism.evaluation.task import Task
from sciprism.files import write_json
from sciprism.reproduce.tables.declared import Shape

ROWS = "models.json"
"""The file beside the systems' folders that says which of them stand for which model: key -> folders."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The results of a shape's tasks below a folder; read once each."""

    home: Path
    shape: Shape
    _read: dict[tuple[str, str], Run | None] = field(default_factory=dict)

    def run(self, system: str, task: Task) -> Run | None:
        """Return the result of a system (by name or folder) at a task as it is declared now, if any."""
        place = results.folder_name(system), task.name
        if place not in self._read:
            folder = self.home / place[0] / self.shape.home(task.name).name
            found = stored_results.find(folder, task.name)
            self._read[place] = Run(found, folder) if found and found.key == task.key else None
        return self._read[place]

    def status(self, system: str, task: Task) -> str:
        """Return done, failed, not served, or not run."""
        found = self.run(system, task)
        return found.result.status if found else "not run"


def read_models(home: Path) -> dict[str, tuple[str, ...]]:
    """Return key of a row -> folders of the systems that stand in it, none where nothing was recorded."""
    path = home / ROWS
    if not path.exists():
        return {}
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{path} is no file of models: {error}") from None
    if not isinstance(rows, dict) or not all(isinstance(names, list) for names in rows.values()):
        raise InputError(f"{path} is no file of models: expected an object of lists")
    return {key: tuple(map(str, names)) for key, names in rows.items()}


def write_models(home: Path, found: Mapping[str, Sequence[str]]) -> None:
    """Note which systems stand for which model.

    What is known stays, so that a table made with one of three seeds takes none of them away, and new names
    come after; a list that has all that is known says the order. Who shall not count is taken out by hand.
    """
    rows = read_models(home)
    for key, names in found.items():
        known = rows.get(key, ())
        rows[key] = tuple(names) if set(known) <= set(names) else tuple(dict.fromkeys((*known, *names)))
    write_json(home / ROWS, dict(sorted(rows.items())))
