"""The encoder that a stage starts from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.new_models import copy_weights, create_encoder
from sciprism.errors import InputError
from sciprism.seeding import derive_seed
from sciprism.training.finishing import check_interpolation, check_whitening
from sciprism.training.processes import Processes
from sciprism.training.recipe import Recipe, Stage

Models = Mapping[str, Path]  # folders of the models of earlier stages, by stage, in their order


def build_encoder(recipe: Recipe, stage: Stage, models: Models, processes: Processes) -> Encoder:
    """Return the encoder that a stage starts from; gradients flow only to what the stage trains."""
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
    encoder.method.remember_texts()
    for name, parameter in encoder.model.named_parameters():
        of_method = encoder.method.owns_parameter(name)
        chosen = {"all": True, "method": of_method, "heads": False}[stage.train]
        parameter.requires_grad_(encoder.method.trainable(name) and chosen)
    if stage.train != "heads" and not any(parameter.requires_grad for parameter in encoder.model.parameters()):
        raise InputError(
            f'the method {encoder.settings.method} adds no parameters: train = "{stage.train}" trains nothing; '
            'train = "heads" trains the heads of objectives alone'
        )
    check_interpolation(encoder, stage.interpolation)
    check_whitening(encoder, stage)
    return encoder


def _load(recipe: Recipe, stage: Stage, models: Models, processes: Processes) -> Encoder:
    """Return the model of the stage before or of an earlier one, the backbone, or that of a folder."""
    model = recipe.model
    names = {name: str(folder) for name, folder in models.items()}
    names |= {"previous": [model.backbone, *names.values()][-1], "backbone": model.backbone}
    return Encoder.start(names.get(stage.initialize_from, stage.initialize_from), **_settings(recipe, stage, processes))


def _create(recipe: Recipe, stage: Stage, models: Models, processes: Processes) -> Encoder:
    """Return a model of the stage's architecture, with weights copied from another one if it says so."""
    model, new = recipe.model, stage.architecture
    assert new is not None
    begin = None
    if new.copy_from is not None and (
        new.copy_from in models or new.copy_from not in [other.name for other in recipe.stages]
    ):
        other = Encoder.load(models.get(new.copy_from, new.copy_from), device=str(processes.device))
        begin = partial(copy_weights, other=other, layers=new.copied_layers)
    tokenizer = model.tokenizer or resolve(model.backbone)[1]
    return create_encoder(new.config, tokenizer, initializer=begin, **_settings(recipe, stage, processes))


def _settings(recipe: Recipe, stage: Stage, processes: Processes) -> dict[str, Any]:
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
        "seed": derive_seed(recipe.seed, stage.name),
        "device": str(processes.device),
    }


def build_untouched(recipe: Recipe, processes: Processes) -> Encoder | None:
    """Return the backbone as its own folder states it; None where it is not what is trained.

    It reads as many tokens as the recipe's model. A folder that does not state its pooling has the recipe's.
    """
    model = recipe.model
    if not recipe.has_untouched:
        return None
    settings: dict[str, Any] = {"max_length": model.max_length, "device": str(processes.device)}
    try:
        return Encoder.start(model.backbone, **settings)
    except InputError:
        return Encoder.start(model.backbone, pooling="mean" if model.pooling == "mean" else "cls", **settings)


def build_early(recipe: Recipe, stage: Stage, models: Models, processes: Processes) -> tuple[Encoder | None, bool]:
    """Return the encoder of a stage before the stages before it are run, and whether it is the stage's own.

    models: of the stages before, which may not exist yet. Where the stage starts from one of these, the encoder
    is a substitute with other weights, for checks and timing; None where none can be built. Raises InputError
    where that stage's model cannot become one of this stage's method.
    """
    start = [*models][-1:] if stage.initialize_from == "previous" else [stage.initialize_from]
    if stage.architecture is not None:
        start = [stage.architecture.copy_from or ""]
    missing = [name for name in start if name in models and not models[name].exists()]
    if not missing:
        return build_encoder(recipe, stage, models, processes), True
    if stage.architecture is not None:
        return build_encoder(recipe, stage, {}, processes), False
    before = next(other.method for other in recipe.stages if other.name == missing[0])
    starts_from = methods[stage.method].starts_from
    if before not in (starts_from, stage.method):
        raise InputError(f"stage {stage.name}: a model of {before} cannot become one of {stage.method}")
    if starts_from != "single" or not recipe.model.backbone:
        return None, False
    return build_encoder(recipe, stage.model_copy(update={"initialize_from": "backbone"}), {}, processes), False
