"""What must be right before the first step: sources, and what each stage starts from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from sciprism.encoders.checkpoints.names import resolve
from sciprism.encoders.encoder import Encoder
from sciprism.encoders.methods.registry import make, methods
from sciprism.encoders.new import new_encoder
from sciprism.encoders.transfer import copy_parts
from sciprism.errors import InputError
from sciprism.training.batches import mixed
from sciprism.training.interpolation import check_shares
from sciprism.training.learners.learner import Learner, Open
from sciprism.training.learners.registry import learners
from sciprism.training.processes import Processes
from sciprism.training.recipe import Recipe, SourceSpec, Stage
from sciprism.training.sources import Overlaps, Source, refuse_overlaps
from sciprism.training.token_source import TokenSource
from sciprism.training.whitening import check_whitening

AnySource = Source | TokenSource
Sources = Mapping[tuple[str, str], AnySource]


def seed_of(recipe: Recipe, stage: Stage) -> int:
    """Return the seed of all that is random in a stage."""
    return mixed(recipe.seed, stage.name)


def started(recipe: Recipe, stage: Stage, models: Mapping[str, Path], processes: Processes) -> Encoder:
    """Return the encoder that a stage starts from; models: of the stages before, in their order."""
    model = recipe.model
    begun = _new if stage.shape else _from
    encoder = begun(recipe, stage, models, processes)
    dropout = model.dropout if stage.dropout is None else stage.dropout
    if dropout is not None:
        encoder.model.set_dropout(dropout)
    length = model.training_length if stage.training_length is None else stage.training_length
    if length is not None:
        if length > encoder.settings.max_length:
            where = "model" if stage.training_length is None else f"stage {stage.name}"
            raise InputError(
                f"{where}: training_length is {length}, but the model reads "
                f"{encoder.settings.max_length} tokens"
            )
        encoder.cut(length)
    encoder.model.recomputes = stage.checkpointing
    _freeze(encoder, stage.train)
    check_shares(encoder, stage.interpolation)
    check_whitening(encoder, stage)
    return encoder


def _from(recipe: Recipe, stage: Stage, models: Mapping[str, Path], processes: Processes) -> Encoder:
    """Continue a model: the one of the stage before or of an earlier one, the backbone, or any folder."""
    model = recipe.model
    known = {name: str(folder) for name, folder in models.items()}
    known |= {"previous": [model.backbone, *known.values()][-1], "backbone": model.backbone}
    return Encoder.start(
        known.get(stage.start, stage.start),
        max_length=model.max_length,
        seed=seed_of(recipe, stage),
        device=str(processes.device),
        **_settings(recipe, stage),
    )


def _new(recipe: Recipe, stage: Stage, models: Mapping[str, Path], processes: Processes) -> Encoder:
    """Make a model of the stage's shape, with parts of another one where it says so."""
    model, shape = recipe.model, stage.shape
    assert shape is not None
    stages = [each.name for each in recipe.stages]
    begin = None
    if shape.copies is not None and (shape.copies in models or shape.copies not in stages):
        other = Encoder.load(models.get(shape.copies, shape.copies), device=str(processes.device))
        begin = partial(copy_parts, other=other, layers=shape.copied)
    return new_encoder(
        shape.fields,
        model.tokenizer or resolve(model.backbone)[1],
        max_length=model.max_length,
        seed=seed_of(recipe, stage),
        begin=begin,
        device=str(processes.device),
        **_settings(recipe, stage),
    )


def _settings(recipe: Recipe, stage: Stage) -> dict[str, Any]:
    """Return what makes vectors of a transformer, as recipe and stage say."""
    model = recipe.model
    template = {"separator": model.separator, "lowercase": model.lowercase}
    return {
        "method": stage.method,
        "options": dict(stage.options),
        "pooling": stage.pooling or model.pooling,
        "distance": model.distance,
        "normalize": model.normalize,
        "template": {key: value for key, value in template.items() if value is not None},
    }


def _freeze(encoder: Encoder, train: str) -> None:
    """Let gradients flow to what a stage trains alone; InputError where that is nothing."""
    for name, parameter in encoder.model.named_parameters():
        own = encoder.method.own(name)
        parameter.requires_grad_(encoder.method.trainable(name) and (train == "all" or own))
    if not any(parameter.requires_grad for parameter in encoder.model.parameters()):
        raise InputError(
            f'the method {encoder.settings.method} adds no parameters: train = "{train}" trains nothing'
        )


def check_starts(
    recipe: Recipe, folder: Path, processes: Processes, sources: Sources, open_model: Open
) -> None:
    """Refuse what a stage that is not finished cannot start from, before the first of them runs."""
    made: dict[str, str] = {}
    for stage in recipe.stages:
        if stage.done is not None:
            if not (stage.done / "config.json").is_file():
                raise InputError(f"stage {stage.name}: done = {stage.done} is no folder of a model")
        elif not (folder / stage.name / "model").exists():
            _check_teachers(stage, made, open_model)
            encoder = _tried(recipe, stage, made, processes)
            if encoder is not None:
                for spec in stage.sources:
                    sources[stage.name, spec.name].check(encoder)
        made[stage.name] = stage.method


def _tried(recipe: Recipe, stage: Stage, made: Mapping[str, str], processes: Processes) -> Encoder | None:
    """Return what a stage starts from, as far as it is there before the stages in front of it are done."""
    before = [None, *made.values()][-1] if stage.start == "previous" else made.get(stage.start)
    if stage.shape is not None or before is None:
        return started(recipe, stage, {}, processes)
    grows_from = methods[stage.method].grows_from
    if before not in (grows_from, stage.method):
        raise InputError(f"stage {stage.name}: a model of {before} does not become one of {stage.method}")
    if grows_from == "single" and recipe.model.backbone:
        return started(recipe, stage.model_copy(update={"start": "backbone"}), {}, processes)
    return None


def _check_teachers(stage: Stage, made: Mapping[str, str], open_model: Open) -> None:
    """Refuse a teacher, or the owner of a head, that is no earlier stage and cannot be opened."""
    for source in stage.sources:
        for key in ("teacher", "head"):
            other = stage.objective_of(source).get(key)
            if isinstance(other, str) and other and other not in made:
                open_model(other)


def checked(recipe: Recipe, processes: Processes, overlaps: Overlaps | None) -> Sources:
    """Open every source of every stage; whatever cannot be trained on is refused here."""
    found: dict[tuple[str, str], AnySource] = {}
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
) -> AnySource:
    where = f"stage {stage.name}, source {spec.name}"
    method = make(stage.method, stage.options)
    if kind.reads == "blocks":
        if method.places:
            raise InputError(f"{where}: blocks of tokens have no places for the tokens of {stage.method}")
        kept = stage.train == "method" or not method.trainable("embeddings.word.weight")
        if method.apart and kept:
            raise InputError(
                f"{where}: blocks of tokens train the network, which {stage.method} keeps as it is"
            )
        blocks = TokenSource(spec, kind)
        if processes.first:
            blocks.check_files()
            if overlaps is not None:
                blocks.refuse_overlaps()
        return _enough(blocks, where, processes)
    formats = method.formats
    if spec.format not in formats:
        raise InputError(
            f"{where}: its format is {spec.format}, but the method {stage.method} has {', '.join(formats)}"
        )
    if kind.by_facet and not method.facets:
        raise InputError(f"{where}: its objective looks at facets, which the method {stage.method} has not")
    source = Source(spec, kind)
    _enough(source, where, processes)
    dev = source.dev_examples(stage.evaluation.examples)
    if overlaps is not None and processes.first:
        refuse_overlaps(source, dev, overlaps)
    return source


def _enough(source: AnySource, where: str, processes: Processes) -> AnySource:
    if len(source) < processes.count:
        raise InputError(f"{where}: {processes.count} processes cannot share {len(source)} examples")
    return source
