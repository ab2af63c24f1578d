"""Score systems on tasks, one result file each; existing results are kept, failed tasks have no number."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from torch import OutOfMemoryError

from sciprism.datasets.data_root import DataRoot
from sciprism.errors import InputError
from sciprism.evaluation import stored_results
from sciprism.evaluation.item_scores import ItemScores, bootstrap_interval, estimate
from sciprism.evaluation.results import Measure, TaskResult, folder_name, write_result
from sciprism.evaluation.systems import NotServedError, System
from sciprism.evaluation.task import EvaluationContext, Suite, Task, to_declaration
from sciprism.files import sha256
from sciprism.formats import FORMATS, Format

PACKAGES = ("sciprism", "torch", "numpy", "tokenizers", "scikit-learn", "scipy", "lightgbm", "bm25s")

ProgressCallback = Callable[[System, Task, "TaskResult | None"], None]
"""Called with None before a task is scored, and with its result afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRun:
    """What all tasks of one `evaluate` share.

    out: the folder of results. data: the local folder of data, or None. seeds: runs of each task, from `seed`
    on; 0: as many as the task declares. encoded_format: score with the vectors of this format instead of each
    task's own, "" for its own. command: recorded in every result.
    """

    out: Path
    data: Path | None = None
    seed: int = 0
    seeds: int = 0
    encoded_format: str = ""
    command: str = ""

    def __post_init__(self) -> None:
        if self.encoded_format and self.encoded_format not in FORMATS:
            raise InputError(f"unknown format {self.encoded_format!r}; known: {', '.join(FORMATS)}")
        if self.seeds < 0:
            raise InputError(f"{self.seeds} seeds; 0 is as many as each task declares")

    def each(self, task: Task) -> Iterator[EvaluationRun]:
        """Yield the run of each seed of a task."""
        for seed in range(self.seed, self.seed + (self.seeds or task.seeds)):
            yield replace(self, seed=seed)

    def system_folder(self, system: System) -> Path:
        """Return the folder of a system's results with this seed."""
        return self.out / folder_name(system.name, self.encoded_format, self.seed)

    def folder(self, suite: Suite, system: System) -> Path:
        """Return the folder of a system's results at a suite; those of a view are in its suite's."""
        return self.system_folder(system) / suite.name.partition("/")[0]

    def check(self, systems: Sequence[System]) -> None:
        """Raise InputError where two models would share a folder, or one would add to another's."""
        owners: dict[Path, str] = {}
        for system in systems:
            folder = self.system_folder(system)
            if found := stored_results.find_any_result(folder):
                _check_owner(found, system, folder)
            if owners.setdefault(folder, system.fingerprint) != system.fingerprint:
                raise InputError(f"two models are named {system.name}; evaluate them with different -o")


def evaluate(
    suite: Suite,
    tasks: Sequence[Task],
    systems: Sequence[System],
    run: EvaluationRun,
    progress: ProgressCallback,
) -> list[TaskResult]:
    """Score systems on some tasks of a suite; `progress` is called before and after each.

    A task's data are read once for all systems and seeds. An existing result of the same declaration and
    model is kept. A task that cannot be scored gets a result that says why, and no number.
    """
    systems = list({system.fingerprint: system for system in systems}.values())
    run.check(systems)
    found = []
    for task in tasks:
        data = _TaskData(suite, task, run)
        for system in systems:
            context = _build_context(suite, task, system, run)
            found += [
                _load_or_score(data, system, one, replace(context, seed=one.seed), progress) for one in run.each(task)
            ]
    return found


def _build_context(suite: Suite, task: Task, system: System, run: EvaluationRun) -> EvaluationContext:
    """Return what all seeds of a task and system share.

    With encoded_format "search", papers of other tasks are encoded as queries (SciRepEval, Table 4).
    """
    return EvaluationContext(
        format=cast("Format", run.encoded_format or task.format),
        role="query" if run.encoded_format == "search" != task.format else "paper",
        fields=task.fields,
        seed=run.seed,
        first_seed=run.seed,
        grid_file=run.folder(suite, system) / "grid" / f"{task.name}.jsonl",
        key=f"{task.key} {system.fingerprint} {json.dumps(dict(_versions()))}",
        cache=[],
    )


def _load_or_score(
    data: _TaskData,
    system: System,
    run: EvaluationRun,
    context: EvaluationContext,
    progress: ProgressCallback,
) -> TaskResult:
    task, folder = data.task, run.folder(data.suite, system)
    result = stored_results.find_result(folder, task.name)
    if result is not None:
        _check_owner(result, system, folder)
    if result is None or result.key != task.key or not _is_current(result, run):
        progress(system, task, None)
        result, item_scores = _score(data, system, run, context)
        write_result(folder, result, item_scores)
    progress(system, task, result)
    return result


def _check_owner(result: TaskResult, system: System, folder: Path) -> None:
    found = result.system.get("fingerprint")
    if found != system.fingerprint:
        raise InputError(
            f"{folder} holds results of another model named {system.name} (fingerprint {found}, now "
            f"{system.fingerprint}); choose another folder with -o, or remove it"
        )


def _is_current(result: TaskResult, run: EvaluationRun) -> bool:
    """Tell whether a result was made with these library versions, and its data files have not changed."""
    if result.status == "failed" or result.provenance.get("versions") != dict(_versions()):
        return False
    files = [((run.data or Path()) / name, old) for name, old in result.provenance.get("data", {}).items()]
    return all(not path.is_file() or _digest(path, path.stat().st_mtime_ns) == old for path, old in files)


@lru_cache(maxsize=256)
def _digest(path: Path, changed: int) -> str:  # noqa: ARG001 (a file that changed is another)
    return sha256(path)


class _TaskData:
    """The data of one task, read when the first system needs them, and the files that were read."""

    def __init__(self, suite: Suite, task: Task, run: EvaluationRun) -> None:
        self.suite, self.task = suite, task
        self.data_root = DataRoot(run.data)  # one each: a result names the files that its own task read
        self._data: Any = None
        self._error: InputError | OSError | None = None

    def read(self) -> Any:
        """Return the protocol's input, or raise again the error of the first attempt."""
        if self._error is not None:
            raise self._error
        if self._data is None:
            try:
                self._data = self.task.data.read(self.data_root)
            except (InputError, OSError) as error:
                self._error = error
                raise
            except (KeyError, TypeError, AttributeError) as error:
                self._error = InputError(f"a record lacks or misuses {type(error).__name__}: {error}")
                raise self._error from error
        return self._data


def _score(
    task_data: _TaskData, system: System, run: EvaluationRun, context: EvaluationContext
) -> tuple[TaskResult, dict[str, ItemScores]]:
    task, began = task_data.task, time.monotonic()
    common = _common_fields(task_data.suite, task, system, run)
    try:
        data = task_data.read()
        outcome = task.protocol.evaluate(data, system, context)
    except NotServedError as reason:
        facts = {"versions": dict(_versions())}
        return TaskResult(**common, status="not served", reason=str(reason), provenance=facts), {}
    except (InputError, OSError, MemoryError, OutOfMemoryError) as reason:
        return TaskResult(**common, status="failed", reason=f"{type(reason).__name__}: {reason}"), {}
    facts = _provenance(task, run) | {
        "data": task_data.data_root.provenance(),
        "seconds": round(time.monotonic() - began, 2),
    }
    done = TaskResult(
        **common,
        status="done",
        metrics={name: _measure(items, run.seed) for name, items in outcome.item_scores.items()},
        details=outcome.details,
        dropped=data.dropped.to_json() | outcome.dropped.to_json(),
        provenance=facts,
    )
    return done, dict(outcome.item_scores)


def _common_fields(suite: Suite, task: Task, system: System, run: EvaluationRun) -> dict[str, Any]:
    return {
        "suite": suite.name.partition("/")[0],
        "task": task.name,
        "key": task.key,
        "format": task.format,
        "group": task.group,
        "in_train": task.in_train,
        "numbers": task.numbers,
        "system": dict(system.describe()) | {"name": system.name, "fingerprint": system.fingerprint},
        "seed": run.seed,
        "encoded_format": run.encoded_format,
    }


def _measure(items: ItemScores, seed: int) -> Measure:
    low, high = bootstrap_interval(items, seed=seed)
    return Measure(value=estimate(items), low=low, high=high, n=len(items.ids))


def _provenance(task: Task, run: EvaluationRun) -> dict[str, Any]:
    import platform

    return {
        "command": run.command,
        "declaration": to_declaration(task),
        "python": platform.python_version(),
        "versions": dict(_versions()),
        "machine": platform.machine(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _versions() -> Iterator[tuple[str, str]]:
    from importlib.metadata import PackageNotFoundError, version

    for name in PACKAGES:
        try:
            yield name, version(name)
        except PackageNotFoundError:
            continue
