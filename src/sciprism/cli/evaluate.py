"""`sciprism evaluate`: models on the tasks of a suite, or on custom tasks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sciprism.cli.json_documents import print_json
from sciprism.cli.options import AsJson, DataFolder, ScorePrecision, exact_precision, folder_or_none
from sciprism.cli.scoring import ScoringProgress, command_line
from sciprism.cli.suite_list import print_suites
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.evaluation.run import EvaluationOptions
    from sciprism.evaluation.selection import SelectedTasks
    from sciprism.probes.settings import SolverName

Models = Annotated[
    list[str] | None,
    typer.Argument(
        help="Models: folder, packaged name, hub id; bm25; random; sentence-transformers:NAME, "
        "transformers:NAME, aspire:NAME, aspire-ot:NAME, mean:A+B, concat:A+B.",
        show_default=False,
    ),
]
ResultsFolder = Annotated[Path | None, typer.Option("--output", "-o", help="The folder of results.")]
SuiteName = Annotated[str, typer.Option(help="A suite or suite/view: open, scirepeval, beir ...")]
TasksFile = Annotated[str, typer.Option(help="Custom tasks: a TOML file (docs/custom-tasks.md).")]
TaskNames = Annotated[list[str] | None, typer.Option(help="Only this task of the suite; repeatable.")]
Listed = Annotated[bool, typer.Option("--list", help="List suites, their tasks and data, and stop.")]
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
    models: Models = None,
    output: ResultsFolder = None,
    suite: SuiteName = "",
    tasks: TasksFile = "",
    task: TaskNames = None,
    quick: Quick = False,
    data: DataFolder = "",
    format: Format = "",
    pooling: Pooling = "",
    max_length: MaxLength = 0,
    precision: ScorePrecision = "auto",
    solver: Solver = "sciprism",
    seed: Seed = 0,
    seeds: Seeds = 0,
    grid: Grid = None,
    listed: Listed = False,
    as_json: AsJson = False,
) -> None:
    """Score models on benchmark tasks, with intervals; a second run continues where the first stopped.

    A task that fails has no number: it is named at the end, and the exit status is 1. Tasks that fine-tune
    (blurb, nasa-qa, climate-ner, open-nlu) choose a setting on dev with the first seed and run it with each.

    Example: sciprism evaluate all-MiniLM-L6-v2 bm25 random --suite open --quick -o out/open
    """
    from sciprism import evaluation

    if listed:
        print_suites(suite, as_json)
        return
    if not models or output is None:
        raise InputError("name the models and the folder of results: sciprism evaluate MODEL --suite open -o RESULTS")
    selected = _select_tasks(suite, tasks, task or [], quick, cast("SolverName", solver), grid or [])
    loading = evaluation.SystemOptions(
        pooling=pooling or None, max_length=max_length or None, precision=exact_precision(precision)
    )
    options = evaluation.EvaluationOptions(seeds=seeds, format=format, loading=loading, command=command_line())
    _score(models, selected, folder_or_none(data), output, seed, options, as_json)


def _score(
    models: list[str],
    tasks: list[SelectedTasks],
    data: Path | None,
    output: Path,
    seed: int,
    options: EvaluationOptions,
    as_json: bool,
) -> None:
    """Score and print the results, with progress; exit with status 1 where a task failed."""
    from sciprism.evaluation import evaluate

    with ScoringProgress() as shown:
        options = replace(options, text_progress=shown.on_texts)
        results = evaluate(models, tasks, data, output=output, seed=seed, options=options, progress=shown.on_task)
    if as_json:
        print_json("sciprism.evaluate/1", {"results": results.to_json()})
    else:
        results.show()
    if results.failed:
        raise typer.Exit(1)


def _select_tasks(
    suite: str, file: str, only: list[str], quick: bool, solver: SolverName, grid: list[str]
) -> list[SelectedTasks]:
    """Return tasks of a suite, by name or of custom tasks, with the solver of probes and the grid of fine-tuning."""
    from sciprism.evaluation.selection import configure_tasks, select_tasks

    if bool(suite) == bool(file):
        raise InputError("name the tasks: --suite NAME, or --tasks FILE for custom tasks; not both")
    if quick and file:
        raise InputError("--quick is a view of a suite; custom tasks have none")
    values = {}
    for text in grid:
        axis, _, numbers = text.partition("=")
        try:
            values[axis] = [float(number) for number in numbers.split(",")]
        except ValueError:
            raise InputError(f"--grid {text!r} is not NAME=NUMBER,NUMBER such as rate=1e-5,3e-5") from None
    name = f"{suite.partition('/')[0]}/quick" if quick else suite
    return configure_tasks(select_tasks(Path(file) if file else name, only), solver, values)
