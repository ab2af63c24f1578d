"""`sciprism train`: train the model of a recipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sciprism.cli.json_documents import print_json
from sciprism.cli.options import AsJson
from sciprism.cli.printing import print_entries
from sciprism.cli.training_display import show_training
from sciprism.cli.training_plan import print_plan
from sciprism.errors import InputError

if TYPE_CHECKING:
    from sciprism.encoders.protocols import EncoderProtocol
    from sciprism.training.examples import Example
    from sciprism.training.loop import Hooks
    from sciprism.training.plan import Plan

RecipeFile = Annotated[
    Path | None,
    typer.Argument(help="A recipe: a file (docs/training.md), or one of --list by name.", show_default=False),
]
Listed = Annotated[bool, typer.Option("--list", help="List the recipes in ./recipes and the package, and stop.")]
RunFolder = Annotated[Path | None, typer.Option("--output", "-o", help="The folder of the run.")]
Changes = Annotated[
    list[str] | None, typer.Option("--set", help="Change the recipe: seed=3, stages.0.optimizer.lr=1e-4; repeatable.")
]
SourceFolder = Annotated[
    Path | None, typer.Option(help="The folder of the recipe's sources; else the recipe's own folder.")
]
SuiteData = Annotated[
    str, typer.Option(envvar="SCIPRISM_DATA", help="The suites' data: sources are checked for papers of tests.")
]
AllowOverlap = Annotated[bool, typer.Option(help="Train on papers of tests too.")]
Device = Annotated[str, typer.Option(help="cpu or cuda; else cuda where there is one.")]
PlanOnly = Annotated[bool, typer.Option("--plan", help="Check everything, time a few steps, print the plan and stop.")]


def train(
    recipe: RecipeFile = None,
    output: RunFolder = None,
    changes: Changes = None,
    sources: SourceFolder = None,
    data: SuiteData = "",
    allow_overlap: AllowOverlap = False,
    device: Device = "",
    plan_only: PlanOnly = False,
    listed: Listed = False,
    as_json: AsJson = False,
) -> None:
    """Train a model stage by stage; the same command continues an interrupted run.

    The recipe and its sources are checked before the first step. Several devices: `accelerate launch -m
    sciprism train ...`.

    Example: sciprism train recipes/laptop/scimult-vanilla.toml --sources open-sources -o runs/vanilla
    """
    if listed:
        _print_recipes(as_json)
        return
    if recipe is None:
        raise InputError("name a recipe; `sciprism train --list` lists those that are here")
    from sciprism.training.plan import plan_training
    from sciprism.training.recipe_file import read_recipe

    if output is None and not plan_only:
        raise InputError("name the folder of the run: -o RUN; or --plan to see what it would take")
    data_folder = Path(data) if data else None
    overlaps = None if allow_overlap else _build_overlap_check(data_folder)
    loaded = read_recipe(recipe, changes or [], sources=sources)
    display = show_training(loaded, data_folder)
    folder = Path(os.devnull) / "run" if output is None else output  # where no run can be
    loader = partial(_load_teacher, device=device or None)
    plan = plan_training(loaded, folder, overlaps=overlaps, device=device or None, load_model=loader)
    if plan_only:
        print_plan(plan, as_json)
    else:
        _run(plan, display, as_json)


def _is_first() -> bool:
    """Return whether this is the process that prints, of several."""
    return os.environ.get("RANK", "0") == "0"


def _run(plan: Plan, display: AbstractContextManager[Hooks], as_json: bool) -> None:
    from sciprism.training.run import train as run

    first = _is_first()
    with display as hooks:
        model = run(plan, hooks)
    if first and as_json:
        print_json("sciprism.train/1", {"model": str(model)})
    elif first:
        print(model)


def _print_recipes(as_json: bool) -> None:
    from sciprism.training.recipe_folder import list_recipes, recipes_folder

    folders = {folder.resolve(): folder for folder in (recipes_folder(), Path("recipes")) if folder is not None}
    found = list_recipes(folders.values())
    if as_json:
        print_json("sciprism.recipes/1", {"recipes": [asdict(each) for each in found]})
        return
    if not found:
        raise InputError(
            "no recipe in ./recipes or the package; the project's are in its repository, docs/training.md has the keys"
        )
    print_entries({each.path: (each.comment, each.reference) for each in found})


def _build_overlap_check(data: Path | None) -> Callable[[Iterable[Example]], Sequence[str]] | None:
    """Return a function that names the papers of tests among examples; None, and say so, without data."""
    if data is None:
        if _is_first():
            print("sciprism: no --data: sources are not checked for papers of tests", file=sys.stderr)
        return None
    from sciprism.datasets.data_root import DataRoot
    from sciprism.prepare.open.leaks import find_leaks

    return partial(find_leaks, DataRoot(data))


def _load_teacher(
    name: str, max_length: int | None = None, precision: str = "float32", *, device: str | None
) -> EncoderProtocol:
    """Load a teacher: any encoder that `evaluate` knows by name."""
    from sciprism.evaluation.systems.loading import SystemOptions, load_encoder

    return load_encoder(name, SystemOptions(max_length=max_length, precision=precision, device=device))
