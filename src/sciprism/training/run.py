"""Run a recipe: its stages one after the other, each from where the one before ended."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.errors import MissingExtraError
from sciprism.files import lock_folder, sha256
from sciprism.training.curve import plot_curves
from sciprism.training.initialization import build_encoder, check_initialization, seed_of
from sciprism.training.interpolation import copy_start_weights, interpolate
from sciprism.training.learners.learner import LearnerContext
from sciprism.training.loop import Hooks, TrainingLoop
from sciprism.training.processes import Processes
from sciprism.training.recipe import Recipe, Stage
from sciprism.training.run_folder import (
    TEST_PAPERS,
    StageFolder,
    create_draft,
    open_run_folder,
    replace_folder,
)
from sciprism.training.sources import OverlapCheck
from sciprism.training.stage_sources import SourceMap, open_sources
from sciprism.training.whitening import whiten


@dataclass(frozen=True, slots=True)
class _Run:
    """A run: its recipe and opened sources, and where and how it is trained."""

    recipe: Recipe
    folder: Path
    sources: SourceMap
    processes: Processes
    hooks: Hooks

    def train_stages(self) -> Path:
        """Train the stages that are not finished; return the folder of the last one's model."""
        models: dict[str, Path] = {}
        for stage in self.recipe.stages:
            folder = stage.finished_model or self.folder / stage.name / "model"
            # One process looks for the model, for all of them.
            if stage.finished_model is None and not self.processes.sum(self.processes.first and folder.exists()):
                self._train_stage(stage, models)
            models[stage.name] = folder
        return models[stage.name]

    def _train_stage(self, stage: Stage, models: Mapping[str, Path]) -> None:
        """Train one stage and write its model. models: of the stages before."""
        seed, folder = seed_of(self.recipe, stage), StageFolder(self.folder / stage.name)
        encoder = build_encoder(self.recipe, stage, models, self.processes)
        sources = [self.sources[stage.name, spec.name] for spec in stage.sources]
        for source in sources:
            source.check(encoder)

        def load_model(name: str, max_length: int | None = None, precision: str = "float32") -> EncoderProtocol:
            return self.hooks.load_model(str(models.get(name, name)), max_length, precision)

        context = LearnerContext(encoder=encoder, processes=self.processes, load_model=load_model)
        start_weights = copy_start_weights(encoder, stage.interpolation)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # of the modules of objectives
            loop = TrainingLoop(context, stage, sources=sources, folder=folder, seed=seed, hooks=self.hooks)
        state = loop.run()
        if self.processes.first:
            about = {"recipe": self.recipe.name, "stage": stage.name, "step": loop.step}
            _write_model(loop, start_weights, about | {"seed": self.recipe.seed})
            plot_curves(folder)
            line = f"{stage.name}: {loop.step:,} steps, {state.examples:,} examples"
            if folder.best.exists():
                line += f"; the model is that of step {state.best_step:,}, the best by dev examples"
                line += ": no step improved it" * (state.best_step == 0) + f" ({_format_dev_scores(loop)})"
            self.hooks.on_message(line)
        self.processes.wait()


def train(
    recipe: Recipe,
    folder: Path,
    *,
    hooks: Hooks | None = None,
    overlaps: OverlapCheck | None = None,
    device: str | None = None,
) -> Path:
    """Train a recipe's stages and return the folder of the last model.

    folder: new, or of the same recipe, whose run is then resumed. overlaps: names the test papers among
    examples; sources that hold some are refused. Raises InputError for an error in any stage before the first
    step of the first one, and for a folder that another process is writing.
    """
    for package in ("accelerate", "tensorboard", "matplotlib"):
        if find_spec(package) is None:
            raise MissingExtraError("train", f"training (without {package})")
    hooks, processes = hooks or Hooks(), Processes(device)
    sources = open_sources(recipe, processes, overlaps)
    check_initialization(recipe, folder, processes, sources, hooks.load_model)
    if processes.first:
        facts = _provenance(recipe, sources, processes)
        for changed in open_run_folder(folder, recipe.model_dump(mode="json"), facts):
            hooks.on_message(f"{changed} has changed since the run began: results may differ in the last digits")
    processes.wait()
    with lock_folder(folder) if processes.first else nullcontext():
        return _Run(recipe, folder, sources, processes, hooks).train_stages()


def _format_dev_scores(loop: TrainingLoop) -> str:
    """Return the dev score of each source, or domain, at the best step."""
    rows = [row for row in loop.folder.rows() if "dev" in row and row["step"] == loop.state.best_step]
    scores = rows[-1]["dev_scores"] if rows else {}
    found = [(learner, name) for learner, name, _ in loop.dev if name in scores]
    return ", ".join(f"{name} {learner.format_score(scores[name])}" for learner, name in found)


def _write_model(loop: TrainingLoop, start_weights: Mapping[str, Tensor], provenance: dict[str, Any]) -> None:
    """Write the finished model: the best one by dev examples, if there are any, else the last.

    start_weights: with which the stage's interpolation mixes it.
    """
    folder = loop.folder
    draft = create_draft(folder.model)
    if folder.best.exists():
        shutil.copytree(folder.best, draft, dirs_exist_ok=True)
    else:
        loop.encoder.prepare()
        loop.save(draft, **provenance)
    if start_weights or loop.stage.whitening:
        encoder = Encoder.load(draft)
        interpolate(encoder, start_weights, loop.stage.interpolation)
        encoder.prepare()
        whiten(encoder, loop.sources, loop.stage.whitening)
        encoder.save(draft, **encoder.provenance)
    replace_folder(folder.model, draft)


def _provenance(recipe: Recipe, sources: SourceMap, processes: Processes) -> dict[str, Any]:
    """Return what a run's numbers depend on besides its recipe."""
    named = {f"{stage}/{name}": source for (stage, name), source in sources.items()}
    finished = [stage.finished_model for stage in recipe.stages if stage.finished_model]
    return {
        "versions": {name: metadata.version(name) for name in ("sciprism", "torch", "numpy", "tokenizers")},
        "python": platform.python_version(),
        "device": str(processes.device),
        "processes": processes.count,
        "threads": torch.get_num_threads(),
        TEST_PAPERS: {name: source.test_papers for name, source in named.items()},
        "finished_models": {
            str(model): {path.name: sha256(path) for path in sorted(model.glob("*.safetensors"))} for model in finished
        },
        "sources": {
            name: {"examples": len(source), "dropped": source.dropped, "sha256": source.sha256}
            for name, source in named.items()
        },
    }
