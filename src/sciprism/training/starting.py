"""What must be right before the first step: sources, and what each stage starts from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods import make, methods
from sciprism.errors import InputError
from sciprism.training.batches import mixed
from sciprism.training.learners import Learner, learners
from sciprism.training.processes import Processes
from sciprism.training.recipe import Recipe, SourceSpec, Stage
from sciprism.training.sources import Overlaps, Source, refuse_overlaps

Sources = Mapping[tuple[str, str], Source]


def seed_of(recipe: Recipe, stage: Stage) -> int:
    """Return the seed of all that is random in a stage."""
    return mixed(recipe.seed, stage.name)


def started(recipe: Recipe, stage: Stage, previous: Path | None, processes: Processes) -> Encoder:
    """Return the encoder that a stage starts from; previous: the model of the stage before, if any."""
    model = recipe.model
    first = model.backbone if previous is None else str(previous)
    start = {"previous": first, "backbone": model.backbone}.get(stage.start, stage.start)
    template = {"separator": model.separator, "lowercase": model.lowercase}
    encoder = Encoder.start(
        start,
        method=stage.method,
        options=dict(stage.options),
        pooling=model.pooling,
        max_length=model.max_length,
        distance=model.distance,
        normalize=model.normalize,
        template={key: value for key, value in template.items() if value is not None},
        seed=seed_of(recipe, stage),
        device=str(processes.device),
    )
    if model.dropout is not None:
        encoder.model.set_dropout(model.dropout)
    if model.training_length is not None:
        if model.training_length > encoder.settings.max_length:
            raise InputError(
                f"model: training_length is {model.training_length}, but the model reads "
                f"{encoder.settings.max_length} tokens"
            )
        encoder.cut(model.training_length)
    encoder.model.recomputes = stage.checkpointing
    _freeze(encoder, stage.train)
    return encoder


def _freeze(encoder: Encoder, train: str) -> None:
    """Let gradients flow to what a stage trains alone; InputError where that is nothing."""
    for name, parameter in encoder.model.named_parameters():
        own = encoder.method.own(name)
        parameter.requires_grad_(encoder.method.trainable(name) and (train == "all" or own))
    if not any(parameter.requires_grad for parameter in encoder.model.parameters()):
        raise InputError(
            f'the method {encoder.settings.method} adds no parameters: train = "{train}" trains nothing'
        )


def check_starts(recipe: Recipe, folder: Path, processes: Processes) -> None:
    """Refuse what a stage that is not finished cannot start from, before the first of them runs."""
    method = "single"
    for number, stage in enumerate(recipe.stages):
        if stage.done is not None:
            if not (stage.done / "config.json").is_file():
                raise InputError(f"stage {stage.name}: done = {stage.done} is no folder of a model")
        elif not (folder / stage.name / "model").exists():
            grows_from = methods[stage.method].grows_from
            if stage.start != "previous" or not number:
                started(recipe, stage, None, processes)
            elif method not in (grows_from, stage.method):
                raise InputError(
                    f"stage {stage.name}: a model of {method} does not become one of {stage.method}"
                )
            elif grows_from == "single":
                started(recipe, stage, None, processes)
        method = stage.method


def checked(recipe: Recipe, processes: Processes, overlaps: Overlaps | None) -> Sources:
    """Open every source of every stage; whatever cannot be trained on is refused here."""
    found: dict[tuple[str, str], Source] = {}
    for stage in recipe.stages:
        if stage.done is not None:
            continue
        if stage.batch % processes.count:
            raise InputError(
                f"stage {stage.name}: {processes.count} processes cannot share {stage.batch} examples evenly"
            )
        if stage.evaluation.patience and not (
            stage.evaluation.every and any(source.dev for source in stage.sources)
        ):
            raise InputError(
                f"stage {stage.name}: patience needs evaluation.every and a source with dev examples"
            )
        for spec in stage.sources:
            kind = learners[str(stage.objective_of(spec)["name"])]
            known = (each for each in found.values() if (each.spec, each.learner) == (spec, kind))
            found[stage.name, spec.name] = next(known, None) or _opened(
                spec, kind, stage, processes, overlaps
            )
    return found


def _opened(
    spec: SourceSpec, kind: type[Learner], stage: Stage, processes: Processes, overlaps: Overlaps | None
) -> Source:
    where = f"stage {stage.name}, source {spec.name}"
    method = make(stage.method, stage.options)
    formats = method.formats
    if spec.format not in formats:
        raise InputError(
            f"{where}: its format is {spec.format}, but the method {stage.method} has {', '.join(formats)}"
        )
    if kind.by_facet and method.pooling != "facets":
        raise InputError(f"{where}: its objective looks at facets, which the method {stage.method} has not")
    source = Source(spec, kind)
    if len(source) < processes.count:
        raise InputError(f"{where}: {processes.count} processes cannot share {len(source)} examples")
    dev = source.dev(stage.evaluation.examples)
    if overlaps is not None and processes.first:
        refuse_overlaps(source, dev, overlaps)
    return source
