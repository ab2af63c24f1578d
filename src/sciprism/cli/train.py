"""`sciprism train`: a recipe into a model."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.face import Encodes
    from sciprism.evaluation.results import TaskResult
    from sciprism.evaluation.task import Suite, Task
    from sciprism.training.examples import Example
    from sciprism.training.loop import Hooks
    from sciprism.training.recipe import Recipe


def train(
    recipe: Annotated[Path, typer.Argument(help="A recipe: recipes/*.toml or your own (docs/training.md).")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder of the run.")],
    change: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change the recipe: seed=3, stages.0.optimiser.lr=1e-4; repeatable."),
    ] = None,
    sources: Annotated[
        Path | None, typer.Option(help="The folder of the recipe's sources; else they lie beside it.")
    ] = None,
    data: Annotated[
        str, typer.Option(envvar="SCIPRISM_DATA", help="The data of the suites, against overlap with tests.")
    ] = "",
    allow_overlap: Annotated[bool, typer.Option(help="Train on papers that stand in tests.")] = False,
    device: Annotated[str, typer.Option(help="cpu or cuda; else what there is.")] = "",
) -> None:
    """Train a model stage by stage; the same command goes on where a run was stopped.

    Everything that is wrong with the recipe or its sources is said before the first step. Several devices:
    `accelerate launch -m sciprism train ...`.

    Example: sciprism train recipes/laptop/scimult-vanilla.toml --sources open-sources -o runs/vanilla
    """
    from sciprism.training.recipe import read_recipe
    from sciprism.training.run import train as run

    read = read_recipe(recipe, change or [], sources=sources)
    home = Path(data) if data else None
    first = os.environ.get("RANK", "0") == "0"
    if home is None and not allow_overlap and first:
        print("sciprism: no --data: sources are not compared with any test", file=sys.stderr)
    check = _overlaps(home) if home is not None and not allow_overlap else None
    hooks, close = _hooks(read, home, device or None)
    try:
        model = run(read, output, hooks=hooks, overlaps=check, device=device or None)
    finally:
        close()
    if first:
        print(model)


def _overlaps(data: Path) -> Callable[[Iterable[Example]], Sequence[str]]:
    """Return what names the test papers among examples."""
    from sciprism.datasets.data_root import DataRoot
    from sciprism.prepare.open.leaks import overlaps

    home = DataRoot(data)

    def check(examples: Iterable[Example]) -> Sequence[str]:
        return overlaps(home, examples)

    return check


def _hooks(recipe: Recipe, data: Path | None, device: str | None) -> tuple[Hooks, Callable[[], None]]:
    """Return the loop's hooks, and what closes the progress bar."""
    from rich.console import Console

    from sciprism.training.loop import Hooks, Step

    console = Console(stderr=True)
    bar = _bar(console)
    shown = {}

    def tell(step: Step) -> None:
        if step.stage not in shown:
            bar.start()
            shown[step.stage] = bar.add_task(step.stage, total=step.steps, facts="")
        facts = f"loss {step.loss:.4f}, {step.examples_per_second:.1f} examples/s"
        bar.update(shown[step.stage], completed=step.step, facts=facts)
        if not console.is_terminal and step.step % max(1, step.steps // 20) == 0:
            console.print(f"{step.stage}: step {step.step:,} of {step.steps:,}, {facts}")

    tasks = {name: _task(name) for stage in recipe.stages for name in stage.evaluation.tasks}

    def note(line: str) -> None:
        console.print(line, highlight=False, markup=False, soft_wrap=True)

    def evaluate(encoder: Encoder, names: Sequence[str]) -> Mapping[str, float]:
        results = {name: _scored(encoder, *tasks[name], data) for name in names}
        for name, result in results.items():
            if not result.metrics:
                note(f"{name} has no score: {result.reason}")
        return {name: next(iter(r.metrics.values())).value for name, r in results.items() if r.metrics}

    return Hooks(evaluate=evaluate, tell=tell, note=note, open=partial(_teacher, device=device)), bar.stop


def _teacher(
    name: str, max_length: int | None = None, precision: str = "float32", *, device: str | None
) -> Encodes:
    """Load a teacher: any encoder that `evaluate` knows by name."""
    from sciprism.evaluation.systems.named import SystemOptions, load_encoder

    return load_encoder(name, SystemOptions(max_length=max_length, precision=precision, device=device))


def _bar(console: Console) -> Progress:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    facts = TextColumn("{task.fields[facts]}")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        facts,
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _task(name: str) -> tuple[Suite, Task]:
    """Find a task by `suite/task`."""
    from sciprism.evaluation.suites.registry import suites

    where, _, which = name.partition("/")
    suite = suites[where]
    for task in suite.tasks:
        if task.name == which:
            return suite, task
    raise InputError(f"evaluation: no task {name!r}; write SUITE/TASK, as in open/vis-citation")


def _scored(encoder: Encoder, suite: Suite, task: Task, data: Path | None) -> TaskResult:
    """Score an encoder as it stands; vectors are kept nowhere."""
    from tempfile import TemporaryDirectory

    from sciprism.evaluation.run import Run, evaluate
    from sciprism.evaluation.systems.dense import DenseSystem

    with TemporaryDirectory() as folder:
        system = DenseSystem(encoder, Path(folder) / "vectors")
        run = Run(out=Path(folder) / "results", data=data)
        (result,) = evaluate(suite, [task], [system], run, lambda _system, _task, _result: None)
    return result
