"""The plan of a training run: what it needs is opened, counted and checked before the first step."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.registry import build_method
from sciprism.encoders.protocols import EncoderProtocol
from sciprism.errors import InputError, MissingExtraError
from sciprism.files import check_folder, sha256
from sciprism.seeding import derive_seed
from sciprism.training.batches import BatchPlan, mixings
from sciprism.training.learners.learner import ModelLoader, learners
from sciprism.training.learners.learner import load_model as load_packaged
from sciprism.training.processes import Processes
from sciprism.training.recipe import Recipe, SourceSpec, Stage
from sciprism.training.run_folder import TEST_PAPERS, RunFolder, StageFolder
from sciprism.training.sources import ExampleSource, OverlapCheck, StageSource, TokenSource
from sciprism.training.stage_models import build_early


def check_stage(stage: Stage, processes: Processes) -> None:
    """Refuse a batch that the processes cannot share, patience without dev scores, and Muon where torch has none."""
    if stage.batch_size % processes.count:
        raise InputError(
            f"stage {stage.name}: {processes.count} processes cannot share {stage.batch_size} examples evenly"
        )
    scored = [source for source in stage.sources if source.dev]
    evaluation = stage.evaluation
    if (evaluation.patience or evaluation.untouched_patience) and not (evaluation.every and scored):
        raise InputError(f"stage {stage.name}: patience needs evaluation.every and a source with dev examples")
    heads = [source.name for source in scored if not learners[str(stage.objective_of(source)["name"])].by_vectors]
    if evaluation.untouched_patience and heads:
        raise InputError(
            f"stage {stage.name}, source {heads[0]}: its dev score needs a head, which the untouched backbone lacks; "
            "leave out untouched_patience, or the source's dev"
        )
    if stage.optimizer.name == "muon" and not hasattr(torch.optim, "Muon"):
        raise InputError(
            f"stage {stage.name}: optimizer muon needs torch 2.9 or newer, this is {torch.__version__}; "
            "upgrade torch or use adamw"
        )


def open_source(spec: SourceSpec, stage: Stage, processes: Processes, opened: Iterable[StageSource]) -> StageSource:
    """Return a source of a stage, the same object where it is opened already.

    Raises InputError for a source that cannot be trained on, or does not fit the stage's method.
    """
    where = f"stage {stage.name}, source {spec.name}"
    learner = learners[str(stage.objective_of(spec)["name"])]
    method = build_method(stage.method, stage.options)
    if learner.reads == "blocks":
        if method.reserved_positions:
            raise InputError(f"{where}: token blocks have no positions for the tokens of {stage.method}")
        frozen = stage.train != "all" or not method.trainable("embeddings.word.weight")
        if method.keeps_text_states and frozen:
            raise InputError(f"{where}: token blocks train the network, which {stage.method} keeps as it is")
    elif spec.format not in method.formats:
        raise InputError(
            f"{where}: its format is {spec.format}, but the method {stage.method} has {', '.join(method.formats)}"
        )
    elif learner.by_facet and not method.facets:
        raise InputError(f"{where}: its objective needs facets, which the method {stage.method} lacks")
    for source in opened:
        if (source.spec, source.learner) == (spec, learner):
            return source
    source = (TokenSource if learner.reads == "blocks" else ExampleSource)(spec, learner)
    if len(source) < processes.count:
        raise InputError(f"{where}: {processes.count} processes cannot share {len(source)} examples")
    if processes.first:
        source.check_files(stage.evaluation.examples)
    return source


@dataclass(frozen=True, slots=True)
class StagePlan:
    """A stage that is to be trained.

    name: of its model in tables. seed: of all that is random in it. sources: opened. batches: the examples of every
    batch. steps: of the optimizer. folder: of the stage, in that of the run. models: stage -> folder of its model, of
    the stages before. find_model: loads any other model by name.
    """

    stage: Stage
    name: str
    seed: int
    sources: Sequence[StageSource]
    batches: BatchPlan
    steps: int
    folder: StageFolder
    models: Mapping[str, Path]
    find_model: ModelLoader

    def load_model(self, name: str, max_length: int | None = None, precision: str = "float32") -> EncoderProtocol:
        """Load a teacher: the model of a stage before, or any other by name."""
        return self.find_model(str(self.models.get(name, name)), max_length, precision)


@dataclass(frozen=True, slots=True)
class Plan:
    """A run that can begin.

    changed: what numbers depend on, besides the recipe, and has changed since the run began. stages: those that
    are not finished, in their order. encoders: those that are built already, by stage. model: the folder of the
    last stage's model.
    """

    recipe: Recipe
    folder: RunFolder
    changed: Sequence[str]
    processes: Processes
    stages: Sequence[StagePlan]
    encoders: dict[str, Encoder]
    model: Path


class _Inspection:
    """What a recipe names, opened and checked; problems: what is wrong, a line each."""

    def __init__(self, recipe: Recipe, load_model: ModelLoader | None, device: str | None) -> None:
        self.recipe, self.processes = recipe, Processes(device)
        self.load_model: ModelLoader = load_model or partial(load_packaged, device=str(self.processes.device))
        self.problems: list[str] = []
        self.sources: dict[tuple[str, str], StageSource] = {}

    def refuse_problems(self) -> None:
        """Raise one InputError with all that is wrong."""
        if self.problems:
            raise InputError("\n".join(self.problems))

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Add an InputError of the block to the problems, and continue after the block."""
        try:
            yield
        except InputError as error:
            self.problems += [line for line in str(error).splitlines() if line not in self.problems]

    def open_sources(self, overlaps: OverlapCheck | None) -> None:
        """Open the sources of all stages; a file that several stages read in one way is opened once."""
        for stage in self.recipe.stages:
            if stage.finished_model is not None:
                continue
            with self.collect():
                check_stage(stage, self.processes)
            for spec in stage.sources:
                with self.collect():
                    opened = list(self.sources.values())
                    source = open_source(spec, stage, self.processes, opened)
                    if overlaps is not None and self.processes.first and source not in opened:
                        source.check_overlap(overlaps, stage.evaluation.examples)
                    self.sources[stage.name, spec.name] = source

    def of_stage(self, stage: Stage) -> list[StageSource]:
        """Return the opened sources of a stage; those with a problem are left out."""
        return [source for (name, _), source in self.sources.items() if name == stage.name]

    def build_encoder(self, stage: Stage, models: Mapping[str, Path]) -> Encoder | None:
        """Return the encoder that a stage starts from, None before it exists; check what it must read.

        models: of the stages before.
        """
        for name in stage.named_models():
            if name not in models:
                with self.collect():
                    self.load_model(name)
        encoder, is_own = None, False
        with self.collect():
            encoder, is_own = build_early(self.recipe, stage, models, self.processes)
        if encoder is not None:
            for opened in self.of_stage(stage):
                with self.collect():
                    opened.check(encoder)
        return encoder if is_own else None


def plan_training(
    recipe: Recipe,
    folder: Path,
    *,
    overlaps: OverlapCheck | None = None,
    device: str | None = None,
    load_model: ModelLoader | None = None,
) -> Plan:
    """Return the plan of a recipe's run; nothing is written.

    folder: new, or of the same recipe, whose run is then resumed. overlaps: names the test papers among
    examples; sources that hold some are refused. load_model: None for sciprism's models, on the device. Raises one
    InputError with all that is wrong in any stage.
    """
    for package in ("accelerate", "tensorboard", "matplotlib"):
        if find_spec(package) is None:
            raise MissingExtraError("train", f"training (without {package})")
    inspection = _Inspection(recipe, load_model, device)
    processes = inspection.processes
    inspection.open_sources(overlaps)
    models, left, encoders = dict[str, Path](), list[tuple[Stage, dict[str, Path]]](), dict[str, Encoder]()
    for stage in recipe.stages:
        model = stage.finished_model or folder / stage.name / "model"
        if stage.finished_model and not (model / "config.json").is_file():
            inspection.problems.append(f"stage {stage.name}: finished_model = {model} is not a folder of a model")
        # One process looks for the model, for all of them.
        if not stage.finished_model and not processes.sum(processes.first and model.exists()):
            encoder = inspection.build_encoder(stage, models)
            if encoder is not None and not left:
                encoders[stage.name] = encoder  # of later stages it would only take memory
            left.append((stage, dict(models)))
        elif processes.first:
            try:
                check_folder(model)
            except InputError as error:
                again = f"; or remove {model}, and it is written again from the stage's checkpoint"
                inspection.problems.append(f"stage {stage.name}: {error}{again * (not stage.finished_model)}")
        models[stage.name] = model
    processes.on_first(inspection.refuse_problems)  # it alone looks for test papers, and at finished models
    inspection.refuse_problems()
    run_folder = RunFolder(folder, recipe.model_dump(mode="json"), _facts(recipe, inspection.sources, processes))
    changed = processes.on_first(run_folder.compare) or []
    stages = [
        _plan_stage(stage, recipe, inspection.of_stage(stage), run_folder, before, inspection.load_model)
        for stage, before in left
    ]
    return Plan(recipe, run_folder, changed, processes, stages, encoders, model)


def _plan_stage(
    stage: Stage,
    recipe: Recipe,
    sources: Sequence[StageSource],
    folder: RunFolder,
    models: Mapping[str, Path],
    find_model: ModelLoader,
) -> StagePlan:
    """Return the plan of a stage whose sources are open. models: of the stages before."""
    seed, sizes = derive_seed(recipe.seed, stage.name), tuple(map(len, sources))
    repeats = tuple(source.spec.repeat for source in sources)
    batches = mixings[stage.mixing](sizes, repeats, stage.batch_size, derive_seed(seed, "plan"))
    steps = stage.steps or math.ceil(batches.epoch * (stage.epochs or 1) / stage.gradient_accumulation)
    name = recipe.name if stage is recipe.stages[-1] else f"{recipe.name}-{stage.name}"
    return StagePlan(stage, name, seed, sources, batches, steps, folder.stage(stage.name), models, find_model)


def _facts(recipe: Recipe, sources: Mapping[tuple[str, str], StageSource], processes: Processes) -> dict[str, Any]:
    """Return what a run's numbers depend on besides its recipe. sources: by names of stage and source."""
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
