"""Score a task by fine-tuning: grid search on dev with the first seed, then one run per seed."""

from __future__ import annotations

import json
import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from torch import Tensor

from sciprism.arrays import Rows
from sciprism.checksums import hash_bytes
from sciprism.datasets.inputs import PairInput, SpanInput, TaggingInput
from sciprism.drop_report import DropReport
from sciprism.encoders.encoder import Encoder
from sciprism.errors import DamagedCacheWarning, InputError
from sciprism.evaluation.intervals import estimate
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.systems import DenseSystem, NotServedError, System
from sciprism.evaluation.task import EvaluationContext, ProtocolResult
from sciprism.evaluation.tuning.examples import TuningExample, WindowTokenizer
from sciprism.evaluation.tuning.runs import DivergedRunError, Hyperparameters, Outputs, TunableEncoder, Tuning
from sciprism.files import write_lines

COLLAPSED = "run that predicts the same for every item (collapsed)"
DIVERGED = "run whose loss was not finite (diverged), scored as if all outputs were 0"

GRID_KEYS = {"key", "setting", "dev"}
SplitScores = Mapping[str, Mapping[str, ItemScores]]
"""Split ("dev", "test") -> metric -> item scores."""
Predictions = Sequence[tuple[TuningExample, Outputs]]  # examples with the outputs of the head


class TuningProtocol(Protocol):
    """A protocol that fine-tunes."""

    @property
    def length(self) -> int:
        """Return the tokens of a window."""
        ...

    @property
    def tuning(self) -> Tuning:
        """Return the grid and the settings that all runs share."""
        ...


D = TypeVar("D", TaggingInput, PairInput, SpanInput)
P = TypeVar("P", bound=TuningProtocol)


class TuningProblem(ABC, Generic[D, P]):
    """The data of a task as examples of a head, and the head's outputs as predictions.

    width: of the head's outputs. dropped: what tokenizing lost.
    """

    width: int

    def __init__(self, data: D, tokenizer: WindowTokenizer, protocol: P) -> None:
        self.data: D = data
        self.tokenizer, self.protocol = tokenizer, protocol
        self.dropped = DropReport()

    @cached_property
    def examples(self) -> list[TuningExample]:
        """Return the examples of all rows."""
        return [example for row in range(len(self.data.ids)) for example in self.row_examples(row)]

    @abstractmethod
    def row_examples(self, row: int) -> Iterable[TuningExample]:
        """Return the examples of one row."""

    @abstractmethod
    def loss(self, outputs: Tensor, examples: Sequence[TuningExample]) -> Tensor:
        """Return the sum of the losses of some examples."""

    @abstractmethod
    def item_scores(self, rows: Rows, predictions: Predictions) -> Mapping[str, ItemScores]:
        """Return the item scores of some rows for each metric, the main one first."""

    @abstractmethod
    def is_uniform(self, predictions: Predictions) -> bool:
        """Tell whether all predictions are the same."""


class TuningExperiment:
    """An encoder with its original weights and the examples of a task, shared by all settings and seeds."""

    def __init__(self, encoder: TunableEncoder, problem: TuningProblem[Any, Any]) -> None:
        self.splits: dict[str, Rows] = {name: getattr(problem.data, name) for name in ("train", "dev", "test")}
        sizes = {name: len(rows) for name, rows in self.splits.items()}
        if not sizes["train"] or not sizes["test"]:
            raise InputError(f"{sizes['train']} texts to train on and {sizes['test']} to test; need both")
        self.encoder, self.problem, self.sizes = encoder, problem, sizes
        wanted = [set(rows.tolist()) for rows in self.splits.values()]
        train, dev, test = ([example for example in problem.examples if example.row in rows] for rows in wanted)
        self.train_examples = [example for example in train if not example.idle]
        self.examples = {"dev": dev, "test": test}

    def run(
        self, setting: Hyperparameters, tuning: Tuning, seed: int, *splits: str
    ) -> tuple[SplitScores, dict[str, Any]]:
        """Train once; return the scores of splits, "dev" or "test", and facts of the run on the last."""
        facts: dict[str, Any] = {"steps": 0, "diverged": False}
        began, width = time.monotonic(), self.problem.width
        with self.encoder.start_run(width, tuning.dropout, seed) as run:
            try:
                facts["steps"] = run.train(self.train_examples, self.problem.loss, setting, tuning, seed)
                trained = time.monotonic() - began
                outputs = {split: run.outputs(self.examples[split]) for split in splits}
            except DivergedRunError:
                facts["diverged"], trained = True, time.monotonic() - began
                outputs = {
                    split: [np.zeros((len(example.positions), width), np.float32) for example in self.examples[split]]
                    for split in splits
                }
        predictions = {
            split: list(zip(self.examples[split], of_split, strict=True)) for split, of_split in outputs.items()
        }
        facts |= {
            "seconds of training": round(trained, 2),
            "collapsed": self.problem.is_uniform(predictions[splits[-1]]),
        }
        return {name: self.problem.item_scores(self.splits[name], pairs) for name, pairs in predictions.items()}, facts


def fine_tune(
    data: D,
    system: System,
    context: EvaluationContext,
    protocol: P,
    build_problem: Callable[[D, WindowTokenizer, P], TuningProblem[D, P]],
) -> ProtocolResult:
    """Choose a setting, train with the context's seed and score the test rows."""
    encoder = tunable_encoder(system)

    def build() -> TuningExperiment:
        problem = build_problem(data, WindowTokenizer(encoder, protocol.length), protocol)
        tunable = TunableEncoder(encoder, encoder.route(context.format))
        return TuningExperiment(tunable, problem)

    experiment, tuning = context.build_once(build), protocol.tuning
    dev_scores, runs = _search_grid(experiment, tuning, context)
    converged = {name: score for name, score in dev_scores.items() if score is not None}
    best = max(tuning.grid, key=lambda setting: converged.get(str(setting), -math.inf))  # the first of equals
    scores, facts = runs.get(str(best)) or experiment.run(best, tuning, context.seed, "test")
    dropped = DropReport()
    dropped.update(experiment.problem.dropped)
    for reason, flag in ((COLLAPSED, "collapsed"), (DIVERGED, "diverged")):
        if facts[flag]:
            dropped.add(reason, f"seed {context.seed}")
    details = experiment.sizes | {"setting": asdict(best), "dev scores": dev_scores, "shared": tuning.shared} | facts
    return ProtocolResult(item_scores=scores["test"], details=details, dropped=dropped)


def tunable_encoder(system: System) -> Encoder:
    """Return the encoder whose weights a run changes. Raises NotServedError for systems without one."""
    if isinstance(system, DenseSystem) and isinstance(system.encoder, Encoder):
        return system.encoder
    raise NotServedError(f"{system.name} cannot be fine-tuned; only encoders that this package loads itself")


def _search_grid(
    experiment: TuningExperiment, tuning: Tuning, context: EvaluationContext
) -> tuple[dict[str, float | None], dict[str, Any]]:
    """Return the dev score of every setting, None for one that failed; nothing for a grid of one.

    Also returns the runs that were made now with the context's seed, so that they are not repeated.
    """
    if len(tuning.grid) == 1:
        return {}, {}
    if not experiment.sizes["dev"]:
        raise InputError("the grid has several settings and the data no dev part; give one setting (--grid)")
    stored = _read_lines(context.grid_file)
    dev_scores: dict[str, float | None] = {row["setting"]: row["dev"] for row in stored if row["key"] == context.key}
    runs: dict[str, Any] = {}
    splits = ("dev", "test") if context.seed == context.first_seed else ("dev",)
    for setting in tuning.grid:
        if str(setting) not in dev_scores:
            scores, facts = runs[str(setting)] = experiment.run(setting, tuning, context.first_seed, *splits)
            score = estimate(next(iter(scores["dev"].values())))
            dev_scores[str(setting)] = None if math.isnan(score) or facts["diverged"] else score
            _write_grid(context, dev_scores)
    return {str(setting): dev_scores[str(setting)] for setting in tuning.grid}, runs if "test" in splits else {}


def _read_lines(path: Path | None) -> list[dict[str, Any]]:
    """Return the dev scores that earlier runs stored; none without a file."""
    if path is None or not path.exists():
        return []
    rows = []
    lines = path.read_bytes().splitlines()
    for line in lines:
        try:
            row = json.loads(line)
            check = row.pop("check", None)
            if row.keys() == GRID_KEYS and check == _hash_row(row):
                rows.append(row)
        except (ValueError, AttributeError):
            continue
    if lost := len(lines) - len(rows):
        message = f"{path}: {lost} of {len(lines)} dev scores are damaged; they are computed again"
        warnings.warn(DamagedCacheWarning(message), stacklevel=2)
    return rows


def _hash_row(row: Mapping[str, Any]) -> str:
    return hash_bytes(json.dumps(row, sort_keys=True).encode())


def _write_grid(context: EvaluationContext, dev_scores: Mapping[str, float | None]) -> None:
    if context.grid_file is not None:
        rows = [row for row in _read_lines(context.grid_file) if row["key"] != context.key]
        rows += [{"key": context.key, "setting": name, "dev": score} for name, score in dev_scores.items()]
        write_lines(context.grid_file, (json.dumps(row | {"check": _hash_row(row)}) for row in rows))
