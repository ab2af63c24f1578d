"""`sciprism evaluate`: models on the tasks of a suite, or on custom tasks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sciprism.cli.options import AsJson, DataFolder, Precision, folder_or_none
from sciprism.cli.printing import print_json
from sciprism.cli.scoring import build_progress_printer, command_line
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.evaluation.results import TaskResult
    from sciprism.evaluation.task import Suite, Task
    from sciprism.probes.settings import SolverName

Models = Annotated[
    list[str],
    typer.Argument(
        help="Models: folder, packaged name, hub id; bm25; random; sentence-transformers:NAME, "
        "transformers:NAME, aspire:NAME, aspire-ot:NAME, mean:A+B, concat:A+B."
    ),
]
ResultsFolder = Annotated[Path, typer.Option("--output", "-o", help="The folder of results.")]
SuiteName = Annotated[str, typer.Option(help="A suite or suite/view: open, scirepeval, beir ...")]
TasksFile = Annotated[str, typer.Option(help="Custom tasks: a TOML file (docs/custom-tasks.md).")]
TaskNames = Annotated[list[str] | None, typer.Option(help="Only this task of the suite; repeatable.")]
Quick = Annotated[bool, typer.Option("--quick", help="Only the suite's quick view, for development.")]
Format = Annotated[
    str,
    typer.Option(help="Use vectors of this format: classification, regression, proximity, search; else each task's."),
]
Pooling = Annotated[str, typer.Option(help="cls, mean or last, where the folder does not state it.")]
MaxLength = Annotated[int, typer.Option(help="Texts are truncated to so many tokens; 0: the model's number.")]
Solver = Annotated[str, typer.Option(help="What fits linear probes: sciprism or sklearn.")]
Seed = Annotated[int, typer.Option(help="Seed of all random choices: few-shot samples, bootstrap.")]
Seeds = Annotated[
    int, typer.Option(help="Runs of each task, with seeds from --seed on; 0: as many as the task declares.")
]
Grid = Annotated[
    list[str] | None,
    typer.Option(help="Values that fine-tuning tries on dev: rate=1e-5,3e-5, batch=16,32, epochs=3; repeatable."),
]


def evaluate(
    models: Models,
    output: ResultsFolder,
    suite: SuiteName = "",
    tasks: TasksFile = "",
    task: TaskNames = None,
    quick: Quick = False,
    data: DataFolder = "",
    format: Format = "",
    pooling: Pooling = "",
    max_length: MaxLength = 0,
    precision: Precision = "float32",
    solver: Solver = "sciprism",
    seed: Seed = 0,
    seeds: Seeds = 0,
    grid: Grid = None,
    as_json: AsJson = False,
) -> None:
    """Score models on benchmark tasks, with intervals; a second run continues where the first stopped.

    A task that fails has no number: it is named at the end, and the exit status is 1. Tasks that fine-tune
    (blurb, nasa-qa, climate-ner, open-nlu) choose a setting on dev with the first seed and run it with each.

    Example: sciprism evaluate all-MiniLM-L6-v2 bm25 random --suite open --quick -o out/open
    """
    from sciprism.evaluation.run import EvaluationRun
    from sciprism.evaluation.run import evaluate as score
    from sciprism.evaluation.systems.loading import SystemOptions, load_system

    chosen, selected = _select_tasks(suite, tasks, task or [], quick)
    selected = _configure_tasks(selected, solver, _parse_grid(grid or []))
    options = SystemOptions(pooling=pooling or None, max_length=max_length or None, precision=precision, seed=seed)
    where, command = folder_or_none(data), command_line()
    run = EvaluationRun(out=output, data=where, seed=seed, seeds=seeds, encoded_format=format, command=command)
    systems = [load_system(name, options) for name in models]
    _report(score(chosen, selected, systems, run, build_progress_printer()), chosen, as_json)


def _report(found: list[TaskResult], suite: Suite, as_json: bool) -> None:
    """Print the results; the exit status is 1 where one failed."""
    from dataclasses import asdict

    from sciprism.evaluation.report.printing import print_results

    if as_json:
        print_json([asdict(result) for result in found])
    else:
        print_results(found, suite)
    if any(result.status == "failed" for result in found):
        raise typer.Exit(1)


def _select_tasks(name: str, file: str, only: list[str], quick: bool) -> tuple[Suite, tuple[Task, ...]]:
    """Return a suite, by name or of custom tasks, and the selected tasks of it."""
    from sciprism.evaluation.custom_tasks import read_tasks
    from sciprism.evaluation.suites.registry import suites

    if bool(name) == bool(file):
        raise InputError("name the tasks: --suite NAME, or --tasks FILE for custom tasks; not both")
    name, _, view = name.partition("/")
    suite = suites[name] if name else read_tasks(Path(file))
    view = "quick" if quick else view
    suite = suite.select_view(view) if view else suite
    names = [task.name for task in suite.tasks]
    unknown = [task for task in only if task not in names]
    if unknown:
        raise InputError(f"the suite {suite.name} has no task {unknown[0]!r}; known: {', '.join(names)}")
    return suite, tuple(task for task in suite.tasks if task.name in (only or names))


def _configure_tasks(tasks: Iterable[Task], solver: str, grid: dict[str, list[float]]) -> tuple[Task, ...]:
    """Return tasks with another solver of probes or another grid, where they have any."""
    return tuple(_configure_task(task, solver, grid) for task in tasks)


def _configure_task(task: Task, solver: str, grid: dict[str, list[float]]) -> Task:
    from dataclasses import replace

    from sciprism.evaluation.protocols.probe import ProbeProtocol
    from sciprism.evaluation.tuning.settings import Tuning

    protocol = task.protocol
    if isinstance(protocol, ProbeProtocol) and solver != protocol.solver:
        return replace(task, protocol=replace(protocol, solver=cast("SolverName", solver)))
    tuning = getattr(protocol, "tuning", None)
    if grid and isinstance(tuning, Tuning):
        return replace(task, protocol=replace(protocol, tuning=tuning.with_grid(grid)))  # type: ignore[type-var]
    return task


def _parse_grid(texts: list[str]) -> dict[str, list[float]]:
    """Return the values that texts such as `rate=1e-5,3e-5` name. Raises InputError for another form."""
    found = {}
    for text in texts:
        name, _, values = text.partition("=")
        try:
            found[name] = [float(value) for value in values.split(",")]
        except ValueError:
            raise InputError(f"--grid {text!r} is not NAME=NUMBER,NUMBER such as rate=1e-5,3e-5") from None
    return found
