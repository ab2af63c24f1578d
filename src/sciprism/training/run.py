"""Run a recipe: its stages one after the other, each from where the one before ended."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods import make
from sciprism.errors import InputError, MissingExtraError
from sciprism.text.template import Template
from sciprism.training.batches import mixed
from sciprism.training.curve import draw
from sciprism.training.loop import Hooks, Loop
from sciprism.training.processes import Processes
from sciprism.training.recipe import Recipe, Stage
from sciprism.training.run_folder import StageFolder, claim, draft_of, replace_folder
from sciprism.training.sources import Overlaps, Source, refuse_overlaps

Sources = Mapping[tuple[str, str], Source]


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
    sources = _checked(recipe, processes, overlaps)
    if recipe.stages[0].done is None:
        started(recipe, recipe.stages[0], None, processes)  # a backbone that is not there is refused now
    if processes.first:
        claim(folder, recipe.model_dump(mode="json"), _provenance(sources, processes))
    processes.wait()
    previous: Path | None = None
    for stage in recipe.stages:
        previous = stage.done or _run(recipe, stage, sources, previous, folder, processes, hooks)
    assert previous is not None
    return previous


def _run(
    recipe: Recipe,
    stage: Stage,
    sources: Sources,
    previous: Path | None,
    folder: Path,
    processes: Processes,
    hooks: Hooks,
) -> Path:
    """Run one stage, unless its model is there already, and return the folder of its model."""
    place = StageFolder(folder / stage.name)
    if not place.model.exists():
        mine = [sources[stage.name, spec.name] for spec in stage.sources]
        seed = mixed(recipe.seed, stage.name)
        with torch.random.fork_rng():
            torch.manual_seed(seed)  # of what a method or an objective adds to the backbone
            encoder = started(recipe, stage, previous, processes)
            loop = Loop(encoder, stage, mine, place, processes, seed=seed, hooks=hooks)
            state = loop.run()
        if processes.first:
            draw(place)
            _finish(encoder, place, recipe, stage, loop.step)
            kept = f"the best of its steps, {state.best_step:,}" if place.best.exists() else "the last one"
            hooks.note(f"{stage.name}: {loop.step:,} steps, {state.examples:,} examples; the model is {kept}")
        processes.wait()
    return place.model


def started(recipe: Recipe, stage: Stage, previous: Path | None, processes: Processes) -> Encoder:
    """Return the encoder that a stage starts from."""
    first = recipe.model.backbone if previous is None else str(previous)
    start = {"previous": first, "backbone": recipe.model.backbone}.get(stage.start, stage.start)
    model = recipe.model
    template = None
    if model.separator is not None or model.lowercase is not None:
        template = Template(separator=model.separator or " ", lowercase=bool(model.lowercase))
    encoder = Encoder.start(
        start,
        method=stage.method,
        options=dict(stage.options),
        pooling=model.pooling,
        max_length=model.max_length,
        distance=model.distance,
        normalize=model.normalize,
        template=template,
        device=str(processes.device),
    )
    if model.dropout is not None:
        encoder.model.set_dropout(model.dropout)
    encoder.model.recomputes = stage.checkpointing
    return encoder


def _finish(encoder: Encoder, place: StageFolder, recipe: Recipe, stage: Stage, steps: int) -> None:
    """Put the finished model in its place: the best one by dev examples where there were any."""
    if place.best.exists():
        draft = draft_of(place.model)
        shutil.copytree(place.best, draft, dirs_exist_ok=True)
        replace_folder(place.model, draft)
    else:
        encoder.prepare()
        encoder.save(place.model, recipe=recipe.name, stage=stage.name, step=steps, seed=recipe.seed)


def _checked(recipe: Recipe, processes: Processes, overlaps: Overlaps | None) -> Sources:
    """Open every source of every stage; whatever cannot be trained on is refused here."""
    found: dict[tuple[str, str], Source] = {}
    for stage in recipe.stages:
        if stage.done is not None:
            if not stage.done.is_dir():
                raise InputError(f"stage {stage.name}: done = {stage.done} is no folder of a model")
            continue
        if stage.batch % processes.count:
            raise InputError(
                f"stage {stage.name}: {processes.count} processes cannot share {stage.batch} examples evenly"
            )
        formats = make(stage.method, stage.options).formats
        for spec in stage.sources:
            if spec.format not in formats:
                raise InputError(
                    f"stage {stage.name}, source {spec.name}: its format is {spec.format}, but the method "
                    f"{stage.method} has {', '.join(formats)}"
                )
            source = next((one for one in found.values() if one.spec == spec), None)
            if source is None:
                source = Source(spec)
                source.dev(1)
                if overlaps is not None:
                    refuse_overlaps(source, overlaps)
            found[stage.name, spec.name] = source
    return found


def _provenance(sources: Sources, processes: Processes) -> dict[str, Any]:
    """Return what a run's numbers depend on besides its recipe."""
    packages = ("sciprism", "torch", "numpy", "tokenizers")
    return {
        "versions": {name: metadata.version(name) for name in packages},
        "python": platform.python_version(),
        "device": str(processes.device),
        "processes": processes.count,
        "threads": torch.get_num_threads(),
        "sources": {
            f"{stage}/{name}": {
                "examples": len(source),
                "without_positive": source.without_positive,
                "sha256": source.sha256,
            }
            for (stage, name), source in sources.items()
        },
    }
