"""A folder of results: stored scores by system and task, which systems are which row, and what training came to."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sciprism.encoders.provenance import UNNAMED, untrained_stage
from sciprism.errors import InputError
from sciprism.evaluation.report.lines import StoredResult
from sciprism.evaluation.results import explain_other_scoring, find_result, folder_name, read_system
from sciprism.evaluation.task import Task
from sciprism.files import write_json
from sciprism.reproduce.table import GroupedSuite

RUNS = "runs*.json"
"""Files next to the systems' folders: what each training run came to, under "KEY, seed NUMBER"."""
MODELS_FILE = "models.json"  # file next to the systems' folders: key of a row -> the folders of its systems


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """The results of a suite's tasks in a folder, each read once."""

    folder: Path
    suite: GroupedSuite
    _read: dict[tuple[str, str], StoredResult | None] = field(default_factory=dict)

    def run(self, system: str, task: Task) -> StoredResult | None:
        """Return the result of a system (by name or folder) at a task in its current declaration, if any."""
        key = folder_name(system), task.name
        if key not in self._read:
            path = self.folder / key[0] / self.suite.suite_of(task.name).name
            result = find_result(path, task.name)
            current = result and result.key == task.key and not explain_other_scoring(result, task)
            self._read[key] = StoredResult(result, path) if result and current else None
        return self._read[key]

    def status(self, system: str, task: Task) -> str:
        """Return "done", "failed", "not here", "not served" or "not run"."""
        stored = self.run(system, task)
        return stored.result.status if stored else "not run"


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


def write_models(folder: Path, systems: Mapping[str, Sequence[str]]) -> None:
    """Add systems to the table rows that they belong to, in models.json.

    Recorded systems stay: a table made with one of three seeds removes none. New ones are appended; a list
    with all recorded ones sets the order. Remove a system by hand.
    """
    rows = read_models(folder)
    for key, names in systems.items():
        recorded = rows.get(key, ())
        rows[key] = tuple(names) if set(recorded) <= set(names) else tuple(dict.fromkeys((*recorded, *names)))
    write_json(folder / MODELS_FILE, dict(sorted(rows.items())))


def find_untrained_stage(folder: Path, system: str) -> str:
    """Return the stage of which a system's model kept step 0, "" if it learned, was not trained, or is not known.

    folder: of results, packed or not. system: by its name or its folder, as in `models.json`. Its stored results
    say it; where they say nothing of training, the summaries of runs in the folder do. Of an ensemble,
    "STAGE of MEMBER". Stages before may have learned.
    """
    name = folder_name(system)
    facts = [result.system for result in read_system(folder / name)]
    if any(system_facts.get("provenance") or system_facts.get("members") for system_facts in facts):
        return next(filter(None, map(untrained_stage, facts)), "")
    run = re.sub(r"--(as|seed)-[a-z0-9]+", "", name)
    for key, summary in read_runs(folder):
        name, stage = folder_name("-".join(key.rsplit(", seed ", 1))), summary.get("stage") or UNNAMED
        if summary.get("dev_best_step") == 0 and run in (name, f"{name}-{stage}"):
            return str(stage)
    return ""
