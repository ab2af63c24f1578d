"""Score systems on tasks, one result file each; existing results are kept, failed tasks have no number."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from sciprism.datasets.data_root import DataRoot
from sciprism.encoders.cached_encoder import TextProgress
from sciprism.errors import InputError
from sciprism.evaluation.report.run_results import Results
from sciprism.evaluation.results import TaskResult, folder_name
from sciprism.evaluation.scoring import EvaluationRun, ProgressCallback, TaskData, TaskDataSource, score_systems
from sciprism.evaluation.selection import TaskName, select_tasks
from sciprism.evaluation.stored_results import check_owners
from sciprism.evaluation.systems.loading import SystemName, SystemOptions, load_systems
from sciprism.files import cache_folder
from sciprism.formats import FORMATS


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """Options of `evaluate` besides systems, tasks and data.

    seeds: runs of each task, from `seed` on; 0: as many as the task declares. format: score with the vectors
    of this format instead of each task's own, "" for its own. loading: of the models that are given by name.
    command: recorded in every result. text_progress: called while a model encodes with the texts done and their
    number. task_data: called with a task and the folder of data; returns the data, which may have been read before.
    """

    seeds: int = 0
    format: str = ""
    loading: SystemOptions = field(default_factory=SystemOptions)
    command: str = ""
    text_progress: TextProgress | None = None
    task_data: TaskDataSource = TaskData

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
    options = options or EvaluationOptions()
    selected = select_tasks(tasks)
    folder = data_root.folder if isinstance(data_root, DataRoot) else data_root or os.environ.get("SCIPRISM_DATA")
    with TemporaryDirectory() if output is None else nullcontext(output) as place:
        cache = (Path(place) if output is None else cache_folder()) / "vectors"
        loaded = load_systems(systems, replace(options.loading, seed=seed), cache, options.text_progress)
        run = EvaluationRun(
            output=Path(place),
            data=Path(folder) if folder else None,
            seed=seed,
            seeds=options.seeds,
            encoded_format=options.format,
            command=options.command,
            task_data=options.task_data,
            progress=progress or (lambda _system, _task, _result: None),
        )
        check_owners([(run.output / folder_name(system.name, options.format, seed), system) for system, _ in loaded])
        found: list[TaskResult] = []
        for part in selected:
            for task in part.tasks:
                found += score_systems(part.suite.folder, task, loaded, run)
    return Results(found, [part.suite for part in selected])
