"""The encoder that each stage starts from, and the checks that it can be built."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.new_models import create_encoder
from sciprism.encoders.weight_transfer import copy_weights
from sciprism.errors import InputError
from sciprism.training.batch_plan import derive_seed
from sciprism.training.interpolation import check_interpolation
from sciprism.training.learners.learner import ModelLoader
from sciprism.training.processes import Processes
from sciprism.training.recipe import Recipe, Stage
from sciprism.training.stage_sources import SourceMap
from sciprism.training.whitening import check_whitening

Models = Mapping[str, Path]
"""Folders of the models of earlier stages, by stage, in their order."""


def seed_of(recipe: Recipe, stage: Stage) -> int:
    """Return the seed of all that is random in a stage."""
    return derive_seed(recipe.seed, stage.name)


def build_encoder(recipe: Recipe, stage: Stage, models: Models, processes: Processes) -> Encoder:
    """Return the encoder that a stage starts from."""
    model = recipe.model
    encoder = (_create if stage.architecture else _load)(recipe, stage, models, processes)
    dropout = model.dropout if stage.dropout is None else stage.dropout
    if dropout is not None:
        encoder.model.set_dropout(dropout)
    length = model.training_length if stage.training_length is None else stage.training_length
    if length is not None:
        if length > encoder.settings.max_length:
            where = "model" if stage.training_length is None else f"stage {stage.name}"
            raise InputError(
                f"{where}: training_length is {length}, but the model reads {encoder.settings.max_length} tokens"
            )
        encoder.truncate_to(length)
    encoder.model.gradient_checkpointing = stage.gradient_checkpointing
    _freeze(encoder, stage.train)
    check_interpolation(encoder, stage.interpolation)
    check_whitening(encoder, stage)
    return encoder


def _load(recipe: Recipe, stage: Stage, models: Models, processes: Processes) -> Encoder:
    """Return the model of the stage before or of an earlier one, the backbone, or that of a folder."""
    model = recipe.model
    known = {name: str(folder) for name, folder in models.items()}
    known |= {"previous": [model.backbone, *known.values()][-1], "backbone": model.backbone}
    return Encoder.start(known.get(stage.initialize_from, stage.initialize_from), **_settings(recipe, stage, processes))


def _create(recipe: Recipe, stage: Stage, models: Models, processes: Processes) -> Encoder:
    """Return a model of the stage's architecture, with weights copied from another one if it says so."""
    model, new = recipe.model, stage.architecture
    assert new is not None
    begin = None
    if new.copy_from is not None and (
        new.copy_from in models or new.copy_from not in [each.name for each in recipe.stages]
    ):
        other = Encoder.load(models.get(new.copy_from, new.copy_from), device=str(processes.device))
        begin = partial(copy_weights, other=other, layers=new.copied_layers)
    tokenizer = model.tokenizer or resolve(model.backbone)[1]
    return create_encoder(new.config, tokenizer, initializer=begin, **_settings(recipe, stage, processes))


def _settings(recipe: Recipe, stage: Stage, processes: Processes) -> dict[str, Any]:
    """Return the settings of an encoder that recipe and stage state."""
    model = recipe.model
    template = {"separator": model.separator, "lowercase": model.lowercase}
    return {
        "method": stage.method,
        "options": dict(stage.options),
        "pooling": stage.pooling or model.pooling,
        "distance": model.distance,
        "normalize": model.normalize,
        "template": {key: value for key, value in template.items() if value is not None},
        "max_length": model.max_length,
        "seed": seed_of(recipe, stage),
        "device": str(processes.device),
    }


def _freeze(encoder: Encoder, train: str) -> None:
    """Let gradients flow only to what a stage trains; InputError where that is nothing."""
    for name, parameter in encoder.model.named_parameters():
        own = encoder.method.owns_parameter(name)
        parameter.requires_grad_(encoder.method.trainable(name) and (train == "all" or own))
    if not any(parameter.requires_grad for parameter in encoder.model.parameters()):
        raise InputError(f'the method {encoder.settings.method} adds no parameters: train = "{train}" trains nothing')


def check_initialization(
    recipe: Recipe, folder: Path, processes: Processes, sources: SourceMap, load_model: ModelLoader
) -> None:
    """Refuse an unfinished stage that cannot be initialized, before the first of them runs."""
    earlier: dict[str, str] = {}
    for stage in recipe.stages:
        if stage.finished_model is not None:
            if not (stage.finished_model / "config.json").is_file():
                raise InputError(f"stage {stage.name}: finished_model = {stage.finished_model} is no folder of a model")
        elif not (folder / stage.name / "model").exists():
            _check_teachers(stage, earlier, load_model)
            encoder = _try_build(recipe, stage, earlier, processes)
            if encoder is not None:
                for spec in stage.sources:
                    sources[stage.name, spec.name].check(encoder)
        earlier[stage.name] = stage.method


def _try_build(recipe: Recipe, stage: Stage, earlier: Mapping[str, str], processes: Processes) -> Encoder | None:
    """Return the encoder of a stage, if it can be built before earlier stages are run.

    earlier: stage -> its method.
    """
    start = stage.initialize_from
    before = [None, *earlier.values()][-1] if start == "previous" else earlier.get(start)
    if stage.architecture is not None or before is None:
        return build_encoder(recipe, stage, {}, processes)
    starts_from = methods[stage.method].starts_from
    if before not in (starts_from, stage.method):
        raise InputError(f"stage {stage.name}: a model of {before} cannot become one of {stage.method}")
    if starts_from == "single" and recipe.model.backbone:
        stage = stage.model_copy(update={"initialize_from": "backbone"})
        return build_encoder(recipe, stage, {}, processes)
    return None


def _check_teachers(stage: Stage, earlier: Mapping[str, str], load_model: ModelLoader) -> None:
    """Refuse a teacher, or a model with the initial head, that is no earlier stage and cannot be loaded."""
    for source in stage.sources:
        for key in ("teacher", "head_from"):
            other = stage.objective_of(source).get(key)
            if isinstance(other, str) and other and other not in earlier:
                load_model(other)
