"""Score one system on one task: read the data once, run the protocol, and say why where there is no number."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import OutOfMemoryError

from sciprism.datasets.data_root import DataRoot
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores, bootstrap_interval, estimate
from sciprism.evaluation.provenance import describe_run, library_versions
from sciprism.evaluation.results import Measure, TaskResult
from sciprism.evaluation.systems import NotServedError, System
from sciprism.evaluation.task import EvaluationContext, Task


class TaskData:
    """The data of one task, read when the first system needs them, and the files that were read."""

    def __init__(self, task: Task, folder: Path | None) -> None:
        self.task = task
        self.data_root = DataRoot(folder)  # one each: a result names the files that its own task read
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


def score_task(
    task_data: TaskData, system: System, context: EvaluationContext, *, suite: str, encoded_format: str, command: str
) -> tuple[TaskResult, Mapping[str, ItemScores]]:
    """Return the result of a system at a task, and the item scores of each metric.

    encoded_format, command: as the result records them. A task that cannot be scored has a reason and no number.
    """
    task, began = task_data.task, time.monotonic()
    common: dict[str, Any] = {
        "suite": suite,
        "task": task.name,
        "key": task.key,
        "format": task.format,
        "group": task.group,
        "in_train": task.in_train,
        "numbers": task.numbers,
        "system": dict(system.describe()) | {"name": system.name, "fingerprint": system.fingerprint},
        "seed": context.seed,
        "encoded_format": encoded_format,
    }
    try:
        data = task_data.read()
        outcome = task.protocol.evaluate(data, system, context)
    except NotServedError as reason:
        facts = {"versions": library_versions()}
        return TaskResult(**common, status="not served", reason=str(reason), provenance=facts), {}
    except (InputError, OSError, MemoryError, OutOfMemoryError) as reason:
        return TaskResult(**common, status="failed", reason=f"{type(reason).__name__}: {reason}"), {}
    files = {"data": task_data.data_root.provenance(), "seconds": round(time.monotonic() - began, 2)}
    done = TaskResult(
        **common,
        status="done",
        metrics={name: _measure(items, context.seed) for name, items in outcome.item_scores.items()},
        details=outcome.details,
        dropped=data.dropped.to_json() | outcome.dropped.to_json(),
        provenance=describe_run(task, command) | files,
    )
    return done, outcome.item_scores


def _measure(items: ItemScores, seed: int) -> Measure:
    low, high = bootstrap_interval(items, seed=seed)
    return Measure(value=estimate(items), low=low, high=high, n=len(items.ids))
