"""`sciprism train`: train the model of a recipe, or print what that would take."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.options import data_folder
from sciprism.cli.output import (
    AS_JSON,
    ProgressDisplay,
    echo,
    format_duration,
    plain_console,
    print_entries,
    print_result,
    print_table,
)
from sciprism.errors import InputError
from sciprism.parallel import DEVICE

if TYPE_CHECKING:
    from sciprism.encoders.encoder import Encoder
    from sciprism.encoders.protocols import EncoderProtocol
    from sciprism.evaluation.results import TaskResult
    from sciprism.evaluation.run import SelectedTasks
    from sciprism.training.estimate import StageEstimate
    from sciprism.training.examples import Example
    from sciprism.training.loop import Hooks
    from sciprism.training.plan import Plan
    from sciprism.training.recipe import Recipe


def train(
    recipe: Annotated[
        Path | None,
        typer.Argument(help="A recipe: a file (docs/training.md), or a name of --list.", show_default=False),
    ] = None,
    output: Annotated[Path | None, "The folder of the run.", "--output", "-o"] = None,
    changes: Annotated[
        list[str] | None, "Change the recipe: seed=3, stages.0.optimizer.lr=1e-4; repeatable.", "--set"
    ] = None,
    sources: Annotated[Path | None, "The folder of the recipe's sources; else the recipe's folder."] = None,
    plan_only: Annotated[bool, "Check everything, time a few steps, print the plan and stop.", "--plan"] = False,
    listed: Annotated[bool, "List the recipes in ./recipes and the package, and stop.", "--list"] = False,
) -> None:
    """Train a model stage by stage; the same command resumes.

    The recipe and its sources are checked first; with --data, also for test papers. For several devices use
    `accelerate launch -m sciprism train ...`.

    Example: sciprism train recipes/laptop/scimult-vanilla.toml --sources open-sources -o runs/vanilla
    """
    if listed:
        return _print_recipes()
    if recipe is None:
        raise InputError("name a recipe; `sciprism train --list` lists those that are here")
    from sciprism.training.plan import plan_training
    from sciprism.training.recipe_file import read_recipe

    if output is None and not plan_only:
        raise InputError("name the folder of the run: -o RUN; or --plan to see what it would take")
    data = data_folder()
    loaded = read_recipe(recipe, changes or [], sources=sources)
    display = show_training(loaded, data)
    folder = Path(os.devnull) / "run" if output is None else output  # where no run can be
    device = DEVICE.get() or None
    loader = partial(_load_teacher, device=device)
    plan = plan_training(loaded, folder, overlaps=_build_overlap_check(data), device=device, load_model=loader)
    if plan_only:
        return print_plan(plan)
    return _run(plan, display)


def _is_first() -> bool:
    """Return whether this is the process that prints, of several."""
    return os.environ.get("RANK", "0") == "0"


def _run(plan: Plan, display: AbstractContextManager[Hooks]) -> None:
    from sciprism.encoders.settings import describe_unpaid
    from sciprism.training.run import train as run

    with display as hooks:
        model = run(plan, hooks)
    if _is_first():
        keys = ("step", "dev", "untouched")
        stages = {
            name: {key: provenance.get(key) for key in keys} | {"unpaid": describe_unpaid(provenance)}
            for name, provenance in plan.folder.outcomes().items()
        }
        print_result("sciprism.train/1", {"model": str(model), "stages": stages}, str(model))


def _print_recipes() -> None:
    from sciprism.training.recipe_file import list_recipes, recipes_folder

    folders = {folder.resolve(): folder for folder in (recipes_folder(), Path("recipes")) if folder is not None}
    recipes = list_recipes(folders.values())
    if not recipes and not AS_JSON.get():
        raise InputError(
            "no recipe in ./recipes or the package; the project's are in its repository, docs/training.md has the keys"
        )
    entries = {recipe.path: (recipe.comment, recipe.reference) for recipe in recipes}
    print_result("sciprism.recipes/1", {"recipes": [*map(asdict, recipes)]}, lambda: print_entries(entries))


def _build_overlap_check(data: Path | None) -> Callable[[Iterable[Example]], Sequence[str]] | None:
    """Return a function that names the papers of tests among examples; None, and say so, without data."""
    if data is None:
        if _is_first():
            echo("sciprism: no --data: sources are not checked for papers of tests", error=True)
        return None
    from sciprism.datasets.data_root import DataRoot
    from sciprism.prepare.filters import find_leaks

    return partial(find_leaks, DataRoot(data))


def _load_teacher(
    name: str, max_length: int | None = None, precision: str = "float32", *, device: str | None
) -> EncoderProtocol:
    from sciprism.evaluation.systems.loading import SystemOptions, load_encoder

    return load_encoder(name, SystemOptions(max_length=max_length, precision=precision, device=device))


def print_plan(plan: Plan) -> None:
    """Print what is left of a run, and what it takes; a few steps of each stage are timed."""
    from sciprism.training.estimate import estimate_stage

    stages = [estimate_stage(plan, stage) for stage in plan.stages]
    facts = {"recipe": plan.recipe.name, "seed": plan.recipe.seed, "device": str(plan.processes.device)}
    document = {**facts, "changed": list(plan.changed), "stages": [*map(asdict, stages)]}
    print_result("sciprism.plan/1", document, lambda: _print_plan(plan, stages))


def _print_plan(plan: Plan, stages: Sequence[StageEstimate]) -> None:
    threads = f", {plan.folder.facts['threads']} threads" if plan.processes.device.type == "cpu" else ""
    echo(f"recipe {plan.recipe.name}, seed {plan.recipe.seed}, device {plan.processes.device}{threads}")
    for fact in plan.changed:
        echo(f"changed since the run began: {fact}")
    if not plan.stages:
        echo(f"all stages are finished; the model is {plan.model}")
        return
    for stage, planned in zip(stages, plan.stages, strict=True):
        facts = [f"{stage.steps:,} steps of {planned.stage.batch_size:,} examples"]
        if stage.tokens is not None and stage.seconds is not None:
            speed = stage.tokens / stage.seconds
            facts += [f"{stage.tokens:,.0f} tokens", f"{format_duration(stage.seconds)} at {speed:,.0f} tokens/s"]
        if stage.memory is not None:
            facts.append(f"memory {stage.memory / 2**20:,.0f} MiB")
        if stage.reason:
            facts.append(f"not timed: {stage.reason}")
        echo(f"\n{stage.name}: {', '.join(facts)}")
        rows = []
        for source in stage.sources:
            tokens = "" if source.tokens is None else f"{source.tokens:,.0f}"
            rows.append([source.name, f"{source.examples:,}", f"{source.dropped:,}", f"{source.used:,}", tokens])
        print_table(["source"], ["examples", "dropped", "used", "tokens/example"], rows)
    timed = [stage.seconds for stage in stages if stage.seconds is not None]
    seconds = format_duration(sum(timed))
    echo(f"timed stages, {len(timed)} of {len(stages)}: {seconds}, without evaluations and checkpoints")


def show_training(recipe: Recipe, data: Path | None) -> AbstractContextManager[Hooks]:
    """Return a context with the loop's hooks, which show its progress and score tasks."""
    from sciprism.training.loop import Hooks, StepReport

    console = plain_console(error=True)
    on_message = partial(console.print, soft_wrap=True)
    display = ProgressDisplay("preparing")

    def on_step(step: StepReport) -> None:
        facts = f"loss {step.loss:.4f}, {step.examples_per_second:.1f} examples/s"
        display(step.stage, "steps", step.step, step.steps, facts=facts)
        if not console.is_terminal and step.step % max(1, step.steps // 20) == 0:
            on_message(f"{step.stage}: step {step.step:,} of {step.steps:,}, {display.describe_rate()}")

    tasks = {name: _find_task(name) for stage in recipe.stages for name in stage.evaluation.tasks}

    def evaluate(encoder: Encoder, names: Sequence[str]) -> Mapping[str, float]:
        results = {name: _score_task(encoder, tasks[name], data) for name in names}
        for name, result in results.items():
            if not result.metrics:
                on_message(f"{name} has no score: {result.reason}")
        return {name: next(iter(r.metrics.values())).value for name, r in results.items() if r.metrics}

    @contextmanager
    def show() -> Iterator[Hooks]:
        with display if _is_first() else nullcontext():
            yield Hooks(evaluate=evaluate, on_step=on_step, on_texts=display, on_message=on_message)

    return show()


def _find_task(name: str) -> SelectedTasks:
    from sciprism.evaluation.run import select_tasks

    (selected,) = select_tasks(name)
    if len(selected.tasks) != 1 or selected.tasks[0].name != name.partition("/")[2]:
        raise InputError(f"evaluation: no task {name!r}; write SUITE/TASK, as in open/vis-citation")
    return selected


def _score_task(encoder: Encoder, task: SelectedTasks, data: Path | None) -> TaskResult:
    from sciprism.evaluation.run import evaluate

    (result,) = evaluate(encoder, task, data)
    return result
