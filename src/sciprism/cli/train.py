"""`sciprism train`: train the model of a recipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import folder_or_none
from sciprism.cli.printing import build_progress
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.protocols import EncoderProtocol
    from sciprism.evaluation.results import TaskResult
    from sciprism.evaluation.task import Suite, Task
    from sciprism.training.examples import Example
    from sciprism.training.loop import Hooks
    from sciprism.training.recipe import Recipe

SuiteData = Annotated[
    str,
    typer.Option(envvar="SCIPRISM_DATA", help="The suites' data: sources are checked for papers of tests."),
]


def train(
    recipe: Annotated[Path, typer.Argument(help="A recipe: recipes/*.toml or your own (docs/training.md).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the run.")],
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change the recipe: seed=3, stages.0.optimizer.lr=1e-4; repeatable."),
    ] = None,
    sources: Annotated[
        Path | None, typer.Option(help="The folder of the recipe's sources; else the recipe's own folder.")
    ] = None,
    data: SuiteData = "",
    allow_overlap: Annotated[bool, typer.Option(help="Train on papers of tests too.")] = False,
    device: Annotated[str, typer.Option(help="cpu or cuda; else cuda where there is one.")] = "",
) -> None:
    """Train a model stage by stage; the same command continues an interrupted run.

    The recipe and its sources are checked before the first step. Several devices: `accelerate launch -m
    sciprism train ...`.

    Example: sciprism train recipes/laptop/scimult-vanilla.toml --sources open-sources -o runs/vanilla
    """
    from sciprism.training.recipe_file import read_recipe
    from sciprism.training.run import train as run

    loaded = read_recipe(recipe, changes or [], sources=sources)
    data_folder = folder_or_none(data)
    first = os.environ.get("RANK", "0") == "0"
    if data_folder is None and not allow_overlap and first:
        print("sciprism: no --data: sources are not checked for papers of tests", file=sys.stderr)
    check = _build_overlap_check(data_folder) if data_folder is not None and not allow_overlap else None
    hooks, close = _hooks(loaded, data_folder, device or None)
    try:
        model = run(loaded, output, hooks=hooks, overlaps=check, device=device or None)
    finally:
        close()
    if first:
        print(model)


def _build_overlap_check(data: Path) -> Callable[[Iterable[Example]], Sequence[str]]:
    """Return a function that names the papers of tests among examples."""
    from sciprism.datasets.data_root import DataRoot
    from sciprism.prepare.open.leaks import find_leaks

    return partial(find_leaks, DataRoot(data))


def _hooks(recipe: Recipe, data: Path | None, device: str | None) -> tuple[Hooks, Callable[[], None]]:
    """Return the hooks of the loop, and the function that closes the progress bar."""
    from rich.console import Console

    from sciprism.training.loop import Hooks, StepReport

    console = Console(stderr=True)
    bar = build_progress(console, "{task.description}")
    shown = {}

    def tell(step: StepReport) -> None:
        if step.stage not in shown:
            bar.start()
            shown[step.stage] = bar.add_task(step.stage, total=step.steps, facts="")
        facts = f"loss {step.loss:.4f}, {step.examples_per_second:.1f} examples/s"
        bar.update(shown[step.stage], completed=step.step, facts=facts)
        if not console.is_terminal and step.step % max(1, step.steps // 20) == 0:
            console.print(f"{step.stage}: step {step.step:,} of {step.steps:,}, {facts}")

    tasks = {name: _find_task(name) for stage in recipe.stages for name in stage.evaluation.tasks}

    def note(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    def evaluate(encoder: Encoder, names: Sequence[str]) -> Mapping[str, float]:
        results = {name: _score(encoder, *tasks[name], data) for name in names}
        for name, result in results.items():
            if not result.metrics:
                note(f"{name} has no score: {result.reason}")
        return {name: next(iter(r.metrics.values())).value for name, r in results.items() if r.metrics}

    return Hooks(
        evaluate=evaluate, on_step=tell, on_message=note, load_model=partial(_load_teacher, device=device)
    ), bar.stop


def _load_teacher(
    name: str, max_length: int | None = None, precision: str = "float32", *, device: str | None
) -> EncoderProtocol:
    """Load a teacher: any encoder that `evaluate` knows by name."""
    from sciprism.evaluation.systems.loading import SystemOptions, load_encoder

    return load_encoder(name, SystemOptions(max_length=max_length, precision=precision, device=device))


def _find_task(name: str) -> tuple[Suite, Task]:
    """Find a task by `suite/task`."""
    from sciprism.evaluation.suites.registry import suites

    where, _, which = name.partition("/")
    suite = suites[where]
    for task in suite.tasks:
        if task.name == which:
            return suite, task
    raise InputError(f"evaluation: no task {name!r}; write SUITE/TASK, as in open/vis-citation")


def _score(encoder: Encoder, suite: Suite, task: Task, data: Path | None) -> TaskResult:
    """Score an encoder on a task, without storing vectors."""
    from tempfile import TemporaryDirectory

    from sciprism.evaluation.run import EvaluationRun, evaluate
    from sciprism.evaluation.systems.dense import DenseSystem

    with TemporaryDirectory() as folder:
        system = DenseSystem(encoder, Path(folder) / "vectors")
        run = EvaluationRun(out=Path(folder) / "results", data=data)
        (result,) = evaluate(suite, [task], [system], run, lambda _system, _task, _result: None)
    return result
