"""Open a stage's sources, and refuse what cannot be trained on."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from sciprism.encoders.methods.registry import build_method
from sciprism.errors import InputError
from sciprism.training.learners.learner import Learner
from sciprism.training.learners.registry import learners
from sciprism.training.processes import Processes
from sciprism.training.source_spec import SourceSpec
from sciprism.training.sources import ExampleSource, StageSource
from sciprism.training.stage import Stage
from sciprism.training.token_source import TokenSource


def check_stage(stage: Stage, processes: Processes) -> None:
    """Refuse a batch that the processes cannot share, patience without dev examples, and Muon where torch has none."""
    if stage.batch_size % processes.count:
        raise InputError(
            f"stage {stage.name}: {processes.count} processes cannot share {stage.batch_size} examples evenly"
        )
    if stage.evaluation.patience and not (stage.evaluation.every and any(source.dev for source in stage.sources)):
        raise InputError(f"stage {stage.name}: patience needs evaluation.every and a source with dev examples")
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
    _check_method(spec, learner, stage, where)
    for source in opened:
        if (source.spec, source.learner) == (spec, learner):
            return source
    source = (TokenSource if learner.reads == "blocks" else ExampleSource)(spec, learner)
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
        frozen = stage.train != "all" or not method.trainable("embeddings.word.weight")
        if method.keeps_text_states and frozen:
            raise InputError(f"{where}: token blocks train the network, which {stage.method} keeps as it is")
    elif spec.format not in method.formats:
        raise InputError(
            f"{where}: its format is {spec.format}, but the method {stage.method} has {', '.join(method.formats)}"
        )
    elif learner.by_facet and not method.facets:
        raise InputError(f"{where}: its objective needs facets, which the method {stage.method} lacks")
