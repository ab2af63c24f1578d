"""`sciprism evaluate`: models on the tasks of a suite, or on custom tasks; which suites there are."""

from __future__ import annotations

import shlex
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from sciprism.cli.options import data_folder, split_names
from sciprism.cli.output import ProgressDisplay, echo, join_counts, plain_console, print_entries, print_result
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.evaluation.results import TaskResult
    from sciprism.evaluation.run import SelectedTasks
    from sciprism.evaluation.systems import System
    from sciprism.evaluation.task import Suite, Task
    from sciprism.probes.grid import SolverName


Format = Annotated[str, "Format of the vectors: classification, regression, proximity, search; else each task's."]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChoice:
    """Which tasks are scored, with which solver of probes, and what fine-tuning tries."""

    suite: Annotated[str, "A suite or suite/view: open, open/quick, scirepeval, beir ..."] = ""
    tasks: Annotated[str, "Custom tasks: a TOML file (docs/custom-tasks.md)."] = ""
    task: Annotated[tuple[str, ...], "Only this task of the suite; repeatable."] = ()
    solver: Annotated[str, "Solver of probes: exact, published, intercept or sklearn; else the suite's."] = ""
    grid: Annotated[
        tuple[str, ...], "Values that fine-tuning tries on dev: rate=1e-5,3e-5, batch=16,32, epochs=3; repeatable."
    ] = ()

    def select(self) -> list[SelectedTasks]:
        """Return tasks of a suite, by name or of custom tasks."""
        from sciprism.evaluation.run import configure_tasks, select_tasks

        if bool(self.suite) == bool(self.tasks):
            raise InputError("name the tasks: --suite NAME, or --tasks FILE for custom tasks; not both")
        values = {}
        for text in self.grid:
            axis, _, numbers = text.partition("=")
            try:
                values[axis] = [float(number) for number in numbers.split(",")]
            except ValueError:
                raise InputError(f"--grid {text!r} is not NAME=NUMBER,NUMBER such as rate=1e-5,3e-5") from None
        selected = select_tasks(Path(self.tasks) if self.tasks else self.suite, list(self.task))
        return configure_tasks(selected, cast("SolverName | None", self.solver or None), values)


def evaluate(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="Models: folder of a model or a run, packaged name, hub id; bm25; random; sentence-transformers:NAME, "
            "transformers:NAME, hybrid:NAME, aspire:NAME, aspire-ot:NAME, mean:A+B, concat:A+B. TITLE=NAME titles it.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[Path | None, "The folder of results.", "--output", "-o"] = None,
    *,
    choice: TaskChoice,
    pooling: Annotated[str, "cls, mean or last, for a model that does not state it."] = "",
    format: Format = "",
    dimensions: Annotated[str, "Score truncated vectors too, such as 256,128,64."] = "",
    seeds: Annotated[int, "Seeds of each task; 0: as many as it declares."] = 0,
    listed: Annotated[bool, "List suites, their tasks and data, and stop.", "--list"] = False,
) -> None:
    """Score models on benchmark tasks, with intervals; the same command resumes.

    Tasks that fail or lack data have no number and are named at the end. The exit status is 1 if one failed, or if all
    lack data. Fine-tuning tasks (blurb, nasa-qa, climate-ner, open-nlu) choose a setting on dev with the first seed,
    and run it with each.

    Example: sciprism evaluate all-MiniLM-L6-v2 bm25 random --suite open/quick -o out/open
    """
    from sciprism.evaluation import EvaluationOptions, SystemOptions
    from sciprism.evaluation import evaluate as score

    if listed:
        return print_suites(choice.suite)
    if not models or output is None:
        raise InputError("name the models and the folder of results: sciprism evaluate MODEL --suite open -o RESULTS")
    selected = choice.select()
    try:
        widths = tuple(map(int, split_names(dimensions)))
    except ValueError:
        raise InputError(f"--dimensions {dimensions!r} is not a list of whole numbers such as 256,128") from None
    loading = SystemOptions(pooling=pooling or None, dimensions=widths)
    options = EvaluationOptions(seeds=seeds, format=format, loading=loading, command=command_line())
    with ScoringProgress() as shown:
        options = replace(options, text_progress=shown.on_texts)
        results = score(models, selected, data_folder(), output=output, options=options, progress=shown.on_task)
    print_result("sciprism.evaluate/1", {"results": results.to_json()}, lambda: results.show(plain_console()))
    if results.failed:
        raise typer.Exit(1)
    return None


def print_suites(only: str) -> None:
    """Print every suite, or one with what each of its tasks needs."""
    from sciprism.evaluation.suites import suites

    chosen = [suites[only.partition("/")[0]]] if only else list(suites.values())
    documents = [_suite_to_json(suite) for suite in chosen]
    entries: dict[str, Iterable[str]] = {suite.name: _describe_suite(suite) for suite in chosen}
    end = "\nWhat each task needs: sciprism evaluate --list --suite NAME"
    if only:
        tasks = documents[0]["tasks"]
        entries |= {f"{only}/{task['name']}": [f"{task['format']}; {task['data']}"] for task in tasks}
        end = f"\nWhere the data come from, and which are here: sciprism data list {only}"
    print_result("sciprism.suites/1", {"suites": documents}, lambda: print_entries(entries, end))


def _suite_to_json(suite: Suite) -> dict[str, Any]:
    from sciprism.datasets.data_root import describe_needed_data

    tasks = []
    for task in suite.tasks:
        data, obtain = describe_needed_data(task.data)
        metrics = list(task.protocol.metrics)
        tasks.append({"name": task.name, "format": task.format, "metrics": metrics, "data": data, "obtain": obtain})
    return {
        "name": suite.name,
        "reference": suite.reference,
        "remark": suite.remark,
        "views": {name: list(tasks) for name, tasks in suite.views.items()},
        "tasks": tasks,
    }


def _describe_suite(suite: Suite) -> Iterator[str]:
    facts = _suite_to_json(suite)["tasks"]
    formats = join_counts(Counter(task["format"] for task in facts))
    yield suite.reference
    yield f"{len(facts)} tasks: {formats}" + (f"; views: {', '.join(suite.views)}" if suite.views else "")
    yield f"tasks: {', '.join(task['name'] for task in facts)}"
    yield f"data: {', '.join(dict.fromkeys(task['data'] for task in facts))}"
    yield from dict.fromkeys(task["obtain"] for task in facts)


class ScoringProgress:
    """Shows which task is scored, and how many of its texts are encoded; prints a line for each finished task."""

    def __init__(self) -> None:
        self._display: ProgressDisplay | None = None
        self._task = ""
        self._began: dict[tuple[str, str], float] = {}
        self._unserved: set[tuple[str, str]] = set()
        self._absent: set[str] = set()

    def __enter__(self) -> ScoringProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._display is not None:
            self._display.__exit__()
        self._display = None

    def on_texts(self, work: str, unit: str = "", done: int = 0, total: int | None = None, /) -> None:
        """Show how many texts of a call are encoded."""
        if self._display is not None:
            self._display(f"{self._task}, {work}", unit, done, total)
            if done == total:
                self._display(self._task)

    def on_task(self, system: System, task: Task, result: TaskResult | None) -> None:
        """Show the task that begins, or print the result of the one that ended: its numbers, or why there are none.

        That a system cannot serve a kind of task, such as BM25 where vectors are needed, is printed once, and that
        the data of a task are not here.
        """
        self.__exit__()
        key, name = (system.name, task.name), f"{task.name}  {system.name}"
        if result is None:
            self._began[key], self._task = time.monotonic(), name
            self._display = ProgressDisplay(name).__enter__()
        elif result.status == "not here":
            if task.name not in self._absent:
                echo(f"{task.name}: not here: {result.reason}", error=True)
            self._absent.add(task.name)
        elif result.status != "not served":
            time_taken = f"{time.monotonic() - self._began[key]:.0f} s" if key in self._began else "already scored"
            _print_result(name, result, time_taken)
        elif (system.name, result.reason) not in self._unserved:
            self._unserved.add((system.name, result.reason))
            echo(f"{name}: not served: {result.reason}; nor are other such tasks", error=True)


def _print_result(name: str, result: TaskResult, time_taken: str) -> None:
    numbers = ", ".join(f"{metric} {m.value:.4f}" for metric, m in result.metrics.items()) or result.reason
    echo(f"{name}: {numbers}  ({time_taken})", error=True)
    for metric, reason in result.details.get("without number", {}).items():
        echo(f"{name}: no {metric}: {reason}", error=True)
    for warning in result.details.get("warnings", ()):
        echo(f"{name}: warning: {warning}", error=True)


def command_line() -> str:
    """Return the command as it would be typed again, without the path of this machine's program."""
    return shlex.join(["sciprism", *sys.argv[1:]])
