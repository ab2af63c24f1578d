"""Score systems on tasks, one result file each: what is done is kept, what failed has no number."""

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
from sciprism.evaluation import results, stored_results
from sciprism.evaluation.item_scores import Evidence, estimate, interval
from sciprism.evaluation.results import Measure, TaskResult
from sciprism.evaluation.systems import NotServedError, System
from sciprism.evaluation.task import Suite, Task, View, plain
from sciprism.files import sha256
from sciprism.formats import FORMATS, Format

PACKAGES = ("sciprism", "torch", "numpy", "tokenizers", "scikit-learn", "scipy", "lightgbm", "bm25s")

Tell = Callable[[System, Task, "TaskResult | None"], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What all tasks of one `evaluate` share.

    data: the local folder of data, or None. out: the folder of results. seeds: runs of each task, from `seed`
    on; 0 for as many as the task itself declares. as_format: score with the vectors of this format instead of
    each task's own, "" for none. command: what a result says made it.
    """

    out: Path
    data: Path | None = None
    seed: int = 0
    seeds: int = 0
    as_format: str = ""
    command: str = ""

    def __post_init__(self) -> None:
        if self.as_format and self.as_format not in FORMATS:
            raise InputError(f"unknown format {self.as_format!r}; known: {', '.join(FORMATS)}")
        if self.seeds < 0:
            raise InputError(f"{self.seeds} seeds; 0 is as many as each task declares")

    def each(self, task: Task) -> Iterator[Run]:
        """Yield the run of each seed of a task."""
        for seed in range(self.seed, self.seed + (self.seeds or task.seeds)):
            yield replace(self, seed=seed)

    def folder(self, suite: Suite, system: System) -> Path:
        """Return where a system's results of this seed lie; a view's results are the suite's."""
        home = self.out / results.folder_name(system.name, self.as_format, self.seed)
        return home / suite.name.partition("/")[0]

    def check(self, systems: Sequence[System]) -> None:
        """Raise InputError where two models would share a folder, or one would add to another's."""
        owners: dict[Path, str] = {}
        for system in systems:
            home = self.out / results.folder_name(system.name, self.as_format, self.seed)
            if found := stored_results.find_any(home):
                _check_owner(found, system, home)
            if owners.setdefault(home, system.fingerprint) != system.fingerprint:
                raise InputError(f"two models are named {system.name}; evaluate them with different -o")


def evaluate(
    suite: Suite, tasks: Sequence[Task], systems: Sequence[System], run: Run, tell: Tell
) -> list[TaskResult]:
    """Score systems on some tasks of a suite; `tell` is called before and after each.

    A task's data are read once for all systems and seeds. A result that is there, by the same declaration and
    model, is kept. A task that cannot be scored gets a result that says why, and no number.
    """
    systems = list({system.fingerprint: system for system in systems}.values())
    run.check(systems)
    found = []
    for task in tasks:
        reading = _Reading(task, run)
        for system in systems:
            view = _view(suite, task, system, run)
            for one in run.each(task):
                found.append(_kept_or_made(suite, reading, system, one, replace(view, seed=one.seed), tell))
    return found


def _view(suite: Suite, task: Task, system: System, run: Run) -> View:
    """Return what all seeds of a task and system share.

    What only queries of a search have, such as their code, papers of other tasks get (SciRepEval, Table 4).
    """
    return View(
        format=cast("Format", run.as_format or task.format),
        role="query" if run.as_format == "search" != task.format else "paper",
        fields=task.fields,
        seed=run.seed,
        first_seed=run.seed,
        kept=run.folder(suite, system) / "grid" / f"{task.name}.jsonl",
        key=f"{task.key} {system.fingerprint} {json.dumps(dict(_versions()))}",
        memory=[],
    )


def _kept_or_made(
    suite: Suite, reading: _Reading, system: System, run: Run, view: View, tell: Tell
) -> TaskResult:
    task, folder = reading.task, run.folder(suite, system)
    result = stored_results.find(folder, task.name)
    if result is not None:
        _check_owner(result, system, folder)
    if result is None or result.key != task.key or not _holds(result, run):
        tell(system, task, None)
        result, evidence = _attempt(suite, reading, system, run, view)
        results.write(folder, result, evidence)
    tell(system, task, result)
    return result


def _check_owner(result: TaskResult, system: System, home: Path) -> None:
    found = result.system.get("fingerprint")
    if found != system.fingerprint:
        raise InputError(
            f"{home} holds results of another model named {system.name} (fingerprint {found}, now "
            f"{system.fingerprint}); choose another folder with -o, or remove it"
        )


def _holds(result: TaskResult, run: Run) -> bool:
    """Tell whether a result was made by this release, and from files that are still the same."""
    if result.status == "failed" or result.provenance.get("versions") != dict(_versions()):
        return False
    for name, digest in result.provenance.get("data", {}).items():
        path = (run.data or Path()) / name
        if path.is_file() and _digest(path, path.stat().st_mtime_ns) != digest:
            return False
    return True


@lru_cache(maxsize=256)
def _digest(path: Path, changed: int) -> str:  # noqa: ARG001 (a file that changed is another)
    return sha256(path)


class _Reading:
    """The data of one task, read when the first system asks, and the files that they came from."""

    def __init__(self, task: Task, run: Run) -> None:
        self.task = task
        self.home = DataRoot(run.data)  # one each: a result names the files that its own task read
        self._data: Any = None
        self._error: InputError | OSError | None = None

    def data(self) -> Any:
        """Return the protocol's input, or raise again what went wrong with it."""
        if self._error is not None:
            raise self._error
        if self._data is None:
            try:
                self._data = self.task.data.read(self.home)
            except (InputError, OSError) as error:
                self._error = error
                raise
            except (KeyError, TypeError, AttributeError) as error:
                self._error = InputError(f"a record lacks or misuses {type(error).__name__}: {error}")
                raise self._error from error
        return self._data


def _attempt(
    suite: Suite, reading: _Reading, system: System, run: Run, view: View
) -> tuple[TaskResult, dict[str, Evidence]]:
    task, began = reading.task, time.monotonic()
    base = _base(suite, task, system, run)
    try:
        data = reading.data()
        outcome = task.protocol.evaluate(data, system, view)
    except NotServedError as reason:
        facts = {"versions": dict(_versions())}
        return TaskResult(**base, status="not served", reason=str(reason), provenance=facts), {}
    except (InputError, OSError, MemoryError, OutOfMemoryError) as reason:
        return TaskResult(**base, status="failed", reason=f"{type(reason).__name__}: {reason}"), {}
    facts = _provenance(task, run) | {
        "data": reading.home.provenance(),
        "seconds": round(time.monotonic() - began, 2),
    }
    done = TaskResult(
        **base,
        status="done",
        metrics={name: _measure(items, run.seed) for name, items in outcome.evidence.items()},
        details=outcome.details,
        tally=data.tally.to_json() | outcome.tally.to_json(),
        provenance=facts,
    )
    return done, dict(outcome.evidence)


def _base(suite: Suite, task: Task, system: System, run: Run) -> dict[str, Any]:
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
        "as_format": run.as_format,
    }


def _measure(items: Evidence, seed: int) -> Measure:
    low, high = interval(items, seed=seed)
    return Measure(value=estimate(items), low=low, high=high, n=len(items.ids))


def _provenance(task: Task, run: Run) -> dict[str, Any]:
    import platform

    return {
        "command": run.command,
        "declaration": plain(task),
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
