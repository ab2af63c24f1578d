"""Run a recipe: its stages one after the other, each from where the one before ended."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from sciprism.encoders.encoder import Encoder
from sciprism.errors import MissingExtraError
from sciprism.files import sha256
from sciprism.training.curve import draw
from sciprism.training.loop import Hooks, Loop
from sciprism.training.processes import Processes
from sciprism.training.recipe import Recipe, Stage
from sciprism.training.run_folder import StageFolder, claim, draft_of, replace_folder
from sciprism.training.sources import Overlaps, Source
from sciprism.training.starting import Sources, check_starts, checked, seed_of, started


def train(
    recipe: Recipe,
    folder: Path,
    *,
    hooks: Hooks | None = None,
    overlaps: Overlaps | None = None,
    device: str | None = None,
) -> Path:
    """Train what a recipe says and return the folder of its last model.

    folder: new, or of this same recipe, which then goes on where it stopped. overlaps: names the test papers
    among examples; sources that hold some are refused. Whatever is wrong with any stage is an InputError
    before the first step of the first one.
    """
    for package in ("accelerate", "tensorboard", "matplotlib"):
        if find_spec(package) is None:
            raise MissingExtraError("train", f"training (without {package})")
    hooks = hooks or Hooks()
    processes = Processes(device)
    sources = checked(recipe, processes, overlaps)
    check_starts(recipe, folder, processes)
    if processes.first:
        for changed in claim(folder, recipe.model_dump(mode="json"), _provenance(recipe, sources, processes)):
            hooks.note(f"{changed} has changed since the run began: digits may differ from then on")
    processes.wait()
    previous: Path | None = None
    for stage in recipe.stages:
        if stage.done is not None:
            previous = stage.done
            continue
        place = StageFolder(folder / stage.name)
        if not processes.sum(processes.first and place.model.exists()):  # one process looks, for all
            mine = [sources[stage.name, spec.name] for spec in stage.sources]
            _run(recipe, stage, previous, sources=mine, place=place, processes=processes, hooks=hooks)
        previous = place.model
    assert previous is not None
    return previous


def _run(
    recipe: Recipe,
    stage: Stage,
    previous: Path | None,
    *,
    sources: Sequence[Source],
    place: StageFolder,
    processes: Processes,
    hooks: Hooks,
) -> None:
    """Run one stage and put its model in its place."""
    seed = seed_of(recipe, stage)
    encoder = started(recipe, stage, previous, processes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # of what an objective adds
        loop = Loop(
            encoder, stage, sources=sources, folder=place, processes=processes, seed=seed, hooks=hooks
        )
    state = loop.run()
    if processes.first:
        _finish(encoder, place, recipe=recipe.name, stage=stage.name, step=loop.step, seed=recipe.seed)
        draw(place)
        line = f"{stage.name}: {loop.step:,} steps, {state.examples:,} examples"
        if place.best.exists():
            line += f"; the model is that of step {state.best_step:,}, the best by dev examples"
            line += ": no step made it better" * (state.best_step == 0)
        hooks.note(line)
    processes.wait()


def _finish(encoder: Encoder, place: StageFolder, **about: Any) -> None:
    """Put the finished model in its place: the best one by dev examples where there were any."""
    draft = draft_of(place.model)
    if place.best.exists():
        shutil.copytree(place.best, draft, dirs_exist_ok=True)
    else:
        encoder.prepare()
        encoder.save(draft, **about)
    replace_folder(place.model, draft)


def _provenance(recipe: Recipe, sources: Sources, processes: Processes) -> dict[str, Any]:
    """Return what a run's numbers depend on besides its recipe."""
    packages = ("sciprism", "torch", "numpy", "tokenizers")
    return {
        "versions": {name: metadata.version(name) for name in packages},
        "python": platform.python_version(),
        "device": str(processes.device),
        "processes": processes.count,
        "threads": torch.get_num_threads(),
        "done": {str(stage.done): _weights(stage.done) for stage in recipe.stages if stage.done},
        "sources": {
            f"{stage}/{name}": {
                "examples": len(source),
                "left_out": source.left_out,
                "sha256": source.sha256,
            }
            for (stage, name), source in sources.items()
        },
    }


def _weights(model: Path) -> dict[str, str]:
    return {path.name: sha256(path) for path in sorted(model.glob("*.safetensors"))}
