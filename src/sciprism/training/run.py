"""Run a recipe: its stages one after the other, each from where the one before ended."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.face import Encodes
from sciprism.errors import MissingExtraError
from sciprism.files import only_writer, sha256
from sciprism.training.curve import draw
from sciprism.training.interpolation import interpolate, starts_of
from sciprism.training.learners.learner import Tools
from sciprism.training.loop import Hooks, Loop
from sciprism.training.processes import Processes
from sciprism.training.recipe import Recipe, Stage
from sciprism.training.run_folder import TESTED, StageFolder, claim, draft_of, replace_folder
from sciprism.training.sources import Overlaps
from sciprism.training.starting import AnySource, Sources, check_starts, checked, seed_of, started
from sciprism.training.whitening import whiten


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
    before the first step of the first one, and so is a folder that another process is writing.
    """
    for package in ("accelerate", "tensorboard", "matplotlib"):
        if find_spec(package) is None:
            raise MissingExtraError("train", f"training (without {package})")
    hooks = hooks or Hooks()
    processes = Processes(device)
    sources = checked(recipe, processes, overlaps)
    check_starts(recipe, folder, processes, sources, hooks.open)
    if processes.first:
        facts = _provenance(recipe, sources, processes)
        for changed in claim(folder, recipe.model_dump(mode="json"), facts):
            hooks.note(f"{changed} has changed since the run began: digits may differ from then on")
    processes.wait()
    with only_writer(folder) if processes.first else nullcontext():
        return _stages(recipe, folder, sources=sources, processes=processes, hooks=hooks)


def _stages(recipe: Recipe, folder: Path, *, sources: Sources, processes: Processes, hooks: Hooks) -> Path:
    """Run the stages that are not done yet; return the folder of the last one's model."""
    models: dict[str, Path] = {}
    for stage in recipe.stages:
        if stage.done is None:
            place = StageFolder(folder / stage.name)
            if not processes.sum(processes.first and place.model.exists()):  # one process looks, for all
                mine = [sources[stage.name, spec.name] for spec in stage.sources]
                _run(recipe, stage, models, sources=mine, place=place, processes=processes, hooks=hooks)
        models[stage.name] = stage.done or place.model
    return models[stage.name]


def _run(
    recipe: Recipe,
    stage: Stage,
    models: Mapping[str, Path],
    *,
    sources: Sequence[AnySource],
    place: StageFolder,
    processes: Processes,
    hooks: Hooks,
) -> None:
    """Run one stage and put its model in its place. models: of the stages before."""
    seed = seed_of(recipe, stage)
    encoder = started(recipe, stage, models, processes)
    for source in sources:
        source.check(encoder)

    def open_model(name: str, max_length: int | None = None, precision: str = "float32") -> Encodes:
        return hooks.open(str(models.get(name, name)), max_length, precision)

    tools = Tools(encoder=encoder, processes=processes, open=open_model)
    starts = starts_of(encoder, stage.interpolation)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # of what an objective adds
        loop = Loop(tools, stage, sources=sources, folder=place, seed=seed, hooks=hooks)
    state = loop.run()
    if processes.first:
        _finish(loop, place, starts, recipe=recipe.name, stage=stage.name, step=loop.step, seed=recipe.seed)
        draw(place)
        line = f"{stage.name}: {loop.step:,} steps, {state.examples:,} examples"
        if place.best.exists():
            line += f"; the model is that of step {state.best_step:,}, the best by dev examples"
            line += ": no step made it better" * (state.best_step == 0) + f" ({_told(loop)})"
        hooks.note(line)
    processes.wait()


def _told(loop: Loop) -> str:
    """Say what the held-out examples of each source, or domain, came to at the best step."""
    rows = [row for row in loop.folder.rows() if "dev" in row and row["step"] == loop.state.best_step]
    scores = rows[-1]["dev_scores"] if rows else {}
    found = [(learner, name) for learner, name, _ in loop.dev if name in scores]
    return ", ".join(f"{name} {learner.told(scores[name])}" for learner, name in found)


def _finish(loop: Loop, place: StageFolder, starts: Mapping[str, Tensor], **about: Any) -> None:
    """Put the finished model in its place: the best one by dev examples where there were any.

    starts: weights that it goes back towards, as the stage says.
    """
    draft = draft_of(place.model)
    if place.best.exists():
        shutil.copytree(place.best, draft, dirs_exist_ok=True)
    else:
        loop.encoder.prepare()
        loop.save(draft, **about)
    if starts or loop.stage.whitening:
        encoder = Encoder.load(draft)
        interpolate(encoder, starts, loop.stage.interpolation)
        encoder.prepare()
        whiten(encoder, loop.sources, loop.stage.whitening)
        encoder.save(draft, **encoder.provenance)
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
        TESTED: {f"{stage}/{name}": source.of_tests for (stage, name), source in sources.items()},
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
