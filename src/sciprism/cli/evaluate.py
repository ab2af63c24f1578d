"""`sciprism evaluate`: models on the tasks of a suite, or on one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sciprism.cli.scoring import Precision, command_line, teller
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.evaluation.results import TaskResult
    from sciprism.evaluation.run import Run
    from sciprism.evaluation.systems import System
    from sciprism.evaluation.task import Suite, Task
    from sciprism.probes.settings import SolverName

Names = Annotated[
    list[str],
    typer.Argument(
        help="Models: folder, packaged name, hub id; bm25; random; sentence-transformers:NAME, "
        "transformers:NAME, aspire:NAME, aspire-ot:NAME, mean:A+B, concat:A+B."
    ),
]


Output = Annotated[Path, typer.Option("--output", "-o", help="The folder of results.")]
SuiteName = Annotated[str, typer.Option(help="A suite or suite/view: open, scirepeval, beir ...")]
OwnTasks = Annotated[str, typer.Option(help="Your own tasks: a TOML file (docs/own-tasks.md).")]
OnlyTasks = Annotated[list[str] | None, typer.Option(help="Only this task of the suite; repeatable.")]
Quick = Annotated[bool, typer.Option("--quick", help="Only the suite's quick view.")]
DataFolder = Annotated[
    str, typer.Option(envvar="SCIPRISM_DATA", help="The folder of data; else the hub's cache, the hub.")
]
AsFormat = Annotated[str, typer.Option(help="Score with the vectors of this format everywhere.")]
Pooling = Annotated[str, typer.Option(help="cls, mean or last, where the folder does not state it.")]
MaxLength = Annotated[int, typer.Option(help="Tokens of a text that are read; 0: the model's.")]
Solver = Annotated[str, typer.Option(help="Who fits linear probes: sciprism or sklearn.")]
Seed = Annotated[int, typer.Option(help="Of what is drawn by chance: few-shot samples, bootstrap.")]
Seeds = Annotated[
    int, typer.Option(help="Runs of each task, from --seed on; 0: as many as the task declares.")
]
Grid = Annotated[
    list[str] | None,
    typer.Option(help="What fine-tuning tries on dev: rate=1e-5,3e-5, batch=16,32, epochs=3; repeatable."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def evaluate(
    models: Names,
    output: Output,
    suite: SuiteName = "",
    tasks: OwnTasks = "",
    task: OnlyTasks = None,
    quick: Quick = False,
    data: DataFolder = "",
    as_format: AsFormat = "",
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
    from sciprism.evaluation.run import Run
    from sciprism.evaluation.systems.named import SystemOptions, load_system

    chosen, selected = _chosen(suite, tasks, task or [], quick)
    selected = tuple(_changed(task, solver, _grid(grid or [])) for task in selected)
    options = SystemOptions(
        pooling=pooling or None, max_length=max_length or None, precision=precision, seed=seed
    )
    where = Path(data) if data else None
    run = Run(out=output, data=where, seed=seed, seeds=seeds, as_format=as_format, command=command_line())
    found = _scored([load_system(name, options) for name in models], chosen, selected, run)
    _print(found, chosen, as_json)
    if any(result.status == "failed" for result in found):
        raise typer.Exit(1)


def _print(found: list[TaskResult], suite: Suite, as_json: bool) -> None:
    from sciprism.evaluation.report.printing import print_results

    if not as_json:
        print_results(found, suite)
        return
    import json
    from dataclasses import asdict

    print(json.dumps([asdict(result) for result in found], indent=1, ensure_ascii=False))


def _chosen(name: str, own: str, only: list[str], quick: bool) -> tuple[Suite, tuple[Task, ...]]:
    """Find the suite and the tasks of it that are asked for."""
    from sciprism.evaluation.custom_tasks import read_tasks
    from sciprism.evaluation.suites.registry import suites

    if bool(name) == bool(own):
        raise InputError("say what to run: --suite NAME, or --tasks FILE for tasks of your own; not both")
    name, _, view = name.partition("/")
    suite = suites[name] if name else read_tasks(Path(own))
    view = "quick" if quick else view
    suite = suite.part(view) if view else suite
    names = [task.name for task in suite.tasks]
    unknown = [task for task in only if task not in names]
    if unknown:
        raise InputError(f"the suite {suite.name} has no task {unknown[0]!r}; known: {', '.join(names)}")
    return suite, tuple(task for task in suite.tasks if task.name in (only or names))


def _changed(task: Task, solver: str, grid: dict[str, list[float]]) -> Task:
    """Return a task with another solver of probes or another grid, where it has any."""
    from dataclasses import replace

    from sciprism.evaluation.protocols.probe import Probe
    from sciprism.evaluation.tuning.settings import Tuning

    protocol = task.protocol
    if isinstance(protocol, Probe) and solver != protocol.solver:
        return replace(task, protocol=replace(protocol, solver=cast("SolverName", solver)))
    tuning = getattr(protocol, "tuning", None)
    if grid and isinstance(tuning, Tuning):
        return replace(task, protocol=replace(protocol, tuning=tuning.with_grid(grid)))  # type: ignore[type-var]
    return task


def _grid(given: list[str]) -> dict[str, list[float]]:
    """Read NAME=VALUE,VALUE ... of each part of a grid."""
    found = {}
    for part in given:
        name, _, values = part.partition("=")
        try:
            found[name] = [float(value) for value in values.split(",")]
        except ValueError:
            raise InputError(f"--grid {part!r} is not NAME=NUMBER,NUMBER such as rate=1e-5,3e-5") from None
    return found


def _scored(systems: list[System], suite: Suite, tasks: tuple[Task, ...], run: Run) -> list[TaskResult]:
    from sciprism.evaluation.run import evaluate as score

    return score(suite, tasks, systems, run, teller())
