"""Score systems on tasks, one result file each; existing results are kept, failed tasks have no number."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from sciprism.datasets.data_root import DataRoot
from sciprism.errors import InputError
from sciprism.evaluation.provenance import is_current, library_versions
from sciprism.evaluation.report.run_results import Results
from sciprism.evaluation.results import TaskResult, folder_name, write_result
from sciprism.evaluation.scoring import TaskData, score_task
from sciprism.evaluation.selection import SelectedTasks, TaskName, select_tasks
from sciprism.evaluation.stored_results import find_any_result, find_result
from sciprism.evaluation.systems import System
from sciprism.evaluation.systems.loading import SystemName, SystemOptions, load_systems
from sciprism.evaluation.task import EvaluationContext, Task
from sciprism.files import cache_folder
from sciprism.formats import FORMATS, Format

ProgressCallback = Callable[[System, Task, TaskResult | None], None]
"""Called with None before a task is scored, and with its result afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """What `evaluate` may be told beyond systems, tasks and data.

    seeds: runs of each task, from `seed` on; 0: as many as the task declares. format: score with the vectors
    of this format instead of each task's own, "" for its own. loading: of the models that are given by name.
    command: recorded in every result.
    """

    seeds: int = 0
    format: str = ""
    loading: SystemOptions = field(default_factory=SystemOptions)
    command: str = ""

    def __post_init__(self) -> None:
        if self.format and self.format not in FORMATS:
            raise InputError(f"unknown format {self.format!r}; known: {', '.join(FORMATS)}")
        if self.seeds < 0:
            raise InputError(f"{self.seeds} seeds; 0 is as many as each task declares")


def evaluate(
    systems: SystemName | Sequence[SystemName],
    tasks: TaskName | Sequence[TaskName],
    data_root: str | Path | DataRoot | None = None,
    *,
    output: str | Path | None = None,
    seed: int = 0,
    options: EvaluationOptions | None = None,
    progress: ProgressCallback | None = None,
) -> Results:
    """Score systems on tasks and return the results; `print` shows their table.

    systems: names as on the command line, encoders, or a `System`. tasks: suites, views and tasks by name
    ("open", "open/quick", "open/cranfield"), a TOML file of custom tasks, or declarations. data_root: the folder
    of data, by default that of SCIPRISM_DATA. output: the folder of results, where existing ones of the same
    declaration and model are kept; None: no file is left. A task's data are read once for all systems and seeds.
    A task that cannot be scored gets a result that says why, and no number.
    """
    selected = select_tasks(tasks)
    folder = data_root.folder if isinstance(data_root, DataRoot) else data_root or os.environ.get("SCIPRISM_DATA")
    with TemporaryDirectory() if output is None else nullcontext(output) as place:
        run = EvaluationRun(
            output=Path(place),
            data=Path(folder) if folder else None,
            seed=seed,
            options=options or EvaluationOptions(),
            progress=progress or (lambda _system, _task, _result: None),
        )
        cache = (run.output if output is None else cache_folder()) / "vectors"
        loaded = load_systems(systems, replace(run.options.loading, seed=seed), cache)
        run.check_owners(loaded)
        found = [result for part in selected for task in part.tasks for result in _score_all(part, task, loaded, run)]
    return Results(found, [part.suite for part in selected])


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRun:
    """What all tasks of one evaluation share."""

    output: Path
    data: Path | None
    seed: int
    options: EvaluationOptions
    progress: ProgressCallback

    def folder(self, system: System, seed: int) -> Path:
        """Return the folder of a system's results with a seed."""
        return self.output / folder_name(system.name, self.options.format, seed)

    def check_owners(self, systems: Sequence[System]) -> None:
        """Raise InputError where two models would share a folder, or one would add to another's."""
        owners: dict[Path, str] = {}
        for system in systems:
            folder = self.folder(system, self.seed)
            if found := find_any_result(folder):
                _check_owner(found, system, folder)
            if owners.setdefault(folder, system.fingerprint) != system.fingerprint:
                raise InputError(f"two models are named {system.name}; evaluate them with different -o")


def _score_all(part: SelectedTasks, task: Task, systems: Sequence[System], run: EvaluationRun) -> Iterator[TaskResult]:
    """Yield the results of all systems and seeds at one task.

    With the format "search", papers of other tasks are encoded as queries (SciRepEval, Table 4).
    """
    data, options = TaskData(task, run.data), run.options
    for system in systems:
        context = EvaluationContext(
            format=cast("Format", options.format or task.format),
            role="query" if options.format == "search" != task.format else "paper",
            fields=task.fields,
            first_seed=run.seed,
            grid_file=run.folder(system, run.seed) / part.name / "grid" / f"{task.name}.jsonl",
            key=f"{task.key} {system.fingerprint} {json.dumps(library_versions())}",
            cache=[],
        )
        for seed in range(run.seed, run.seed + (options.seeds or task.seeds)):
            folder = run.folder(system, seed) / part.name
            result = find_result(folder, task.name)
            if result is not None:
                _check_owner(result, system, folder)
            if result is None or not is_current(result, task, run.data):
                run.progress(system, task, None)
                names = {"suite": part.name, "encoded_format": options.format, "command": options.command}
                result, item_scores = score_task(data, system, replace(context, seed=seed), **names)
                write_result(folder, result, item_scores)
            run.progress(system, task, result)
            yield result


def _check_owner(result: TaskResult, system: System, folder: Path) -> None:
    found = result.system.get("fingerprint")
    if found != system.fingerprint:
        raise InputError(
            f"{folder} holds results of another model named {system.name} (fingerprint {found}, now "
            f"{system.fingerprint}); choose another folder with -o, or remove it"
        )
