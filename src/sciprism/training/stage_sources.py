"""Open the sources of all stages, and refuse what cannot be trained on."""

from __future__ import annotations

from collections.abc import Mapping

from sciprism.encoders.methods.registry import build_method
from sciprism.errors import InputError
from sciprism.training.learners.learner import Learner
from sciprism.training.learners.registry import learners
from sciprism.training.processes import Processes
from sciprism.training.recipe import Recipe, SourceSpec, Stage
from sciprism.training.sources import ExampleSource, OverlapCheck, StageSource
from sciprism.training.token_source import TokenSource

SourceMap = Mapping[tuple[str, str], StageSource]
"""Names of a stage and of its source -> the source."""


def open_sources(recipe: Recipe, processes: Processes, overlaps: OverlapCheck | None) -> SourceMap:
    """Return every source of every stage. Raises InputError for one that cannot be trained on."""
    found: dict[tuple[str, str], StageSource] = {}
    for stage in recipe.stages:
        if stage.finished_model is not None:
            continue
        if stage.batch_size % processes.count:
            raise InputError(
                f"stage {stage.name}: {processes.count} processes cannot share {stage.batch_size} examples evenly"
            )
        evaluation = stage.evaluation
        if evaluation.patience and not (evaluation.every and any(source.dev for source in stage.sources)):
            raise InputError(f"stage {stage.name}: patience needs evaluation.every and a source with dev examples")
        for spec in stage.sources:
            learner = learners[str(stage.objective_of(spec)["name"])]
            source = next((s for s in found.values() if (s.spec, s.learner) == (spec, learner)), None)
            if source is None:
                source = _open_source(spec, learner, stage, processes)
                if overlaps is not None and processes.first:
                    source.refuse_overlaps(overlaps, evaluation.examples)
            found[stage.name, spec.name] = source
    return found


def _open_source(spec: SourceSpec, learner: type[Learner], stage: Stage, processes: Processes) -> StageSource:
    where = f"stage {stage.name}, source {spec.name}"
    _check_method(spec, learner, stage, where)
    source_type: type[StageSource] = TokenSource if learner.reads == "blocks" else ExampleSource
    source = source_type(spec, learner)
    if len(source) < processes.count:
        raise InputError(f"{where}: {processes.count} processes cannot share {len(source)} examples")
    if processes.first:
        source.check_files(stage.evaluation.examples)
    return source


def _check_method(spec: SourceSpec, learner: type[Learner], stage: Stage, where: str) -> None:
    """Refuse a source or an objective that does not fit the stage's method."""
    method = build_method(stage.method, stage.options)
    if learner.reads == "blocks":
        if method.reserved_positions:
            raise InputError(f"{where}: token blocks have no positions for the tokens of {stage.method}")
        frozen = stage.train == "method" or not method.trainable("embeddings.word.weight")
        if method.keeps_text_states and frozen:
            raise InputError(f"{where}: token blocks train the network, which {stage.method} keeps as it is")
    elif spec.format not in method.formats:
        raise InputError(
            f"{where}: its format is {spec.format}, but the method {stage.method} has {', '.join(method.formats)}"
        )
    elif learner.by_facet and not method.facets:
        raise InputError(f"{where}: its objective needs facets, which the method {stage.method} lacks")
