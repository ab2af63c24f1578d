"""The model that a stage starts from, and what it does to the weights after its last step.

That is interpolation with those of its start, and whitening. Between the start and the end of a training, the gain in
the new tasks comes early and the loss in others late (Wortsman et al. 2022). Partial whitening is ours, after whitened
sentence vectors (Su et al. 2021), which are rotated and scaled to equal variance; here dimensions are only scaled, and
only a part of the way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sciprism.arrays import normalize_rows
from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.registry import methods
from sciprism.encoders.new_models import copy_weights, create_encoder
from sciprism.errors import InputError
from sciprism.formats import ROLES, Format
from sciprism.seeding import derive_seed, sample
from sciprism.text.template import Item
from sciprism.training.processes import Processes
from sciprism.training.recipe import Recipe, Stage
from sciprism.training.sources import ExampleSource, StageSource

Models = Mapping[str, Path]  # folders of the models of earlier stages, by stage, in their order


def build_encoder(recipe: Recipe, stage: Stage, models: Models, processes: Processes) -> Encoder:
    """Return the encoder that a stage starts from; gradients flow only to what the stage trains."""
    model = recipe.model
    template = {"separator": model.separator, "lowercase": model.lowercase}
    settings: dict[str, Any] = {
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
    if (new := stage.architecture) is None:
        names = {name: str(folder) for name, folder in models.items()}
        names |= {"previous": [model.backbone, *names.values()][-1], "backbone": model.backbone}
        encoder = Encoder.start(names.get(stage.initialize_from, stage.initialize_from), **settings)
    else:
        begin, copied = None, new.copy_from
        if copied is not None and (copied in models or copied not in [other.name for other in recipe.stages]):
            other = Encoder.load(models.get(copied, copied), device=str(processes.device))
            begin = partial(copy_weights, other=other, layers=new.copied_layers)
        tokenizer = model.tokenizer or resolve(model.backbone)[1]
        encoder = create_encoder(new.config, tokenizer, initializer=begin, **settings)
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
    trained = [name for name, parameter in encoder.model.named_parameters() if parameter.requires_grad]
    if stage.train != "heads" and not trained:
        raise InputError(
            f'the method {encoder.settings.method} adds no parameters: train = "{stage.train}" trains nothing; '
            'train = "heads" trains the heads of objectives alone'
        )
    named = set(stage.interpolation) if isinstance(stage.interpolation, Mapping) else set()
    if unknown := sorted(named - {part for name in trained for part in name.split(".")}):
        raise InputError(f"interpolation: no module {unknown[0]!r} has weights that are trained")
    check_whitening(encoder, stage)
    return encoder


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


MAX_EXAMPLES = 200  # of each source, whose papers are measured
MIN_SPREAD = 0.01  # smallest standard deviation that is used, as a fraction of the mean over dimensions


def check_whitening(encoder: Encoder, stage: Stage) -> None:
    """Refuse formats without scales of their own, and different numbers for formats that share a space."""
    shares = stage.whitening
    if unknown := sorted(set(shares) - set(encoder.formats)):
        raise InputError(f"whitening: {unknown[0]!r} is not a format of the model, {', '.join(encoder.formats)}")
    if shares and not encoder.method.scales(encoder.model):
        raise InputError("whitening needs the method prism with options = { scaled = true }")
    for formats in _formats_by_space(encoder, shares):
        if len({shares.get(format) for format in formats}) > 1:
            raise InputError(f"whitening: {' and '.join(formats)} share a space; give both one number")
        specs = [spec for spec in stage.sources if spec.format in formats]
        if all("paper" not in (spec.query, spec.candidate) for spec in specs):
            raise InputError(f"whitening: no source of {' or '.join(formats)} holds papers to measure")


def whiten(encoder: Encoder, sources: Sequence[StageSource], shares: Mapping[Format, float]) -> None:
    """Scale a model's dimensions towards equal variance: for each format 0 for not at all, 1 for equal.

    The variance is measured on papers of the format's sources; queries get the scale of their papers.
    """
    scales = encoder.method.scales(encoder.model)
    for formats in _formats_by_space(encoder, shares):
        papers: list[Item] = []
        for source in sources:
            if isinstance(source, ExampleSource) and source.spec.format in formats:
                for example in source.examples(sample(range(len(source)), MAX_EXAMPLES, "whitening", source.name)):
                    papers += [example.query] * (source.spec.query == "paper")
                    papers += example.positives[: source.spec.candidate == "paper"]
        vectors = encoder.encode(papers, format=formats[0])
        if encoder.distance == "cosine":
            vectors = normalize_rows(vectors)
        scale = torch.from_numpy(whitening_scale(vectors, shares[formats[0]], unscaled=encoder.model.config.lexical))
        with torch.no_grad():
            for route in {encoder.route(format, role) for format, role in product(formats, ROLES)}:
                scales[route].mul_(scale.to(encoder.device))


def _formats_by_space(encoder: Encoder, shares: Mapping[Format, float]) -> list[list[Format]]:
    """Return the formats to whiten, grouped with all that share their space."""
    by_space: dict[str, list[Format]] = defaultdict(list)
    for format in encoder.formats:
        by_space[encoder.space(format)].append(format)
    return [formats for formats in by_space.values() if not set(shares).isdisjoint(formats)]


def whitening_scale(vectors: NDArray[np.floating], share: float, *, unscaled: int = 0) -> NDArray[np.float32]:
    """Return the factor of each dimension of vectors, (n, d): (d,).

    It is std^-share, times a constant that keeps the mean square length. unscaled: the number of last dimensions
    that are not scaled: lexical features have equal variance by construction.
    """
    free = vectors[:, : vectors.shape[1] - unscaled].astype(np.float64)
    spread = free.std(axis=0)
    scale = np.ones_like(spread)
    if spread.any():
        scale = np.maximum(spread, MIN_SPREAD * spread.mean()) ** -share
        scale *= np.sqrt((free**2).sum() / ((free * scale) ** 2).sum())
    return np.append(scale, np.ones(unscaled)).astype(np.float32)


# ---- interpolation (WiSE-FT, Wortsman et al. 2022, equation 1) ----

InterpolationWeights = float | Mapping[str, float]
"""The weight of the stage's end, 1 for the end alone: of all weights, or by names of modules."""


def interpolation_weight(name: str, weights: InterpolationWeights) -> float:
    """Return the weight of the end for a parameter; 1 where no name is a part of its own."""
    if not isinstance(weights, Mapping):
        return weights
    return next((weight for part, weight in weights.items() if part in name.split(".")), 1.0)


def copy_start_weights(encoder: Encoder, weights: InterpolationWeights) -> dict[str, Tensor]:
    """Return copies of the weights that training changes and interpolation needs."""
    return {
        name: parameter.detach().clone()
        for name, parameter in encoder.model.named_parameters()
        if parameter.requires_grad and interpolation_weight(name, weights) < 1
    }


def interpolate(encoder: Encoder, start_weights: Mapping[str, Tensor], weights: InterpolationWeights) -> None:
    """Interpolate a model's weights with those of its start; call `prepare` before it encodes."""
    with torch.no_grad():
        for name, weight in encoder.model.named_parameters():
            if name in start_weights:
                weight.copy_(torch.lerp(start_weights[name].to(weight), weight, interpolation_weight(name, weights)))
