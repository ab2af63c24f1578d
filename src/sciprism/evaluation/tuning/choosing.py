"""A task by fine-tuning: the grid on dev by the first seed, then a run of the chosen setting for each."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from sciprism.arrays import Rows
from sciprism.datasets.inputs import Questions, Segments, Tagged
from sciprism.drop_report import DropReport
from sciprism.encoders.encoder import Encoder
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import Evidence, estimate
from sciprism.evaluation.systems import NotServedError, System
from sciprism.evaluation.systems.dense import DenseSystem
from sciprism.evaluation.task import Outcome, View
from sciprism.evaluation.tuning.examples import Example, Pieces
from sciprism.evaluation.tuning.runs import DivergedRunError, Loss, Outputs, Start
from sciprism.evaluation.tuning.settings import Setting, Tuning
from sciprism.files import write_lines

D = TypeVar("D", Tagged, Segments, Questions)
P = TypeVar("P", bound="Tunes")
COLLAPSED = "run that says the same of every item (collapsed)"
DIVERGED = "run whose loss was not finite any more, scored as if it said 0 of everything"


Scored = Mapping[str, Mapping[str, Evidence]]
"""Part -> metric -> evidence."""


class Parts(NamedTuple):
    """Rows of the data, by what they serve."""

    train: Rows
    dev: Rows
    test: Rows


class Tunes(Protocol):
    """A protocol that fine-tunes."""

    @property
    def length(self) -> int:
        """Return the tokens of a window."""
        ...

    @property
    def tuning(self) -> Tuning:
        """Return the settings to choose from and what they share."""
        ...


class Problem(Protocol):
    """A task as the runs see it. width: of the head. examples: of each row, in any order.

    evidence: of some rows by what the head said of their examples. uniform: whether these say nothing, being
    all alike. tally: what tokenising lost.
    """

    width: int
    tally: DropReport

    @property
    def loss(self) -> Loss:
        """Return what the head is trained by."""
        ...

    @property
    def examples(self) -> Sequence[Example]:
        """Return the examples of all rows."""
        ...

    def evidence(self, rows: Rows, said: Sequence[tuple[Example, Outputs]]) -> Mapping[str, Evidence]:
        """Return the evidence of each metric, the headline first."""
        ...

    def uniform(self, said: Sequence[tuple[Example, Outputs]]) -> bool:
        """Tell whether everything is said to be the same."""
        ...


class Work:
    """An encoder at its start and the examples of a task, shared by all settings and seeds."""

    def __init__(self, start: Start, problem: Problem, parts: Parts) -> None:
        if not len(parts.train) or not len(parts.test):
            raise InputError(f"{len(parts.train)} texts to train on and {len(parts.test)} to test; need both")
        self.start, self.problem, self.parts = start, problem, parts
        self.of_train, self.of_dev, self.of_test = (self._examples(rows) for rows in parts)
        self.of_train = [example for example in self.of_train if not example.idle]

    def run(self, setting: Setting, tuning: Tuning, seed: int, *parts: str) -> tuple[Scored, dict[str, Any]]:
        """Train once; return the evidence of parts, "dev" or "test", and what there is to say of the run.

        The facts are those of the last part.
        """
        asked = {part: self.of_dev if part == "dev" else self.of_test for part in parts}
        facts: dict[str, Any] = {"steps": 0, "diverged": False}
        began = time.monotonic()
        with self.start.fresh(self.problem.width, tuning.dropout, seed) as tuned:
            try:
                facts["steps"] = tuned.train(self.of_train, self.problem.loss, setting, tuning, seed)
                trained = time.monotonic() - began
                said = {name: tuned.outputs(examples) for name, examples in asked.items()}
            except DivergedRunError:
                facts["diverged"], trained = True, time.monotonic() - began
                width = self.problem.width
                said = {
                    name: [np.zeros((len(each.places), width), np.float32) for each in examples]
                    for name, examples in asked.items()
                }
        pairs = {name: list(zip(examples, said[name], strict=True)) for name, examples in asked.items()}
        facts |= {
            "seconds of training": round(trained, 2),
            "collapsed": self.problem.uniform(pairs[parts[-1]]),
        }
        rows = self.parts._asdict()
        return {name: self.problem.evidence(rows[name], own) for name, own in pairs.items()}, facts

    def _examples(self, rows: Rows) -> list[Example]:
        wanted = set(rows.tolist())
        return [example for example in self.problem.examples if example.row in wanted]


def fine_tuned(
    data: D, system: System, view: View, protocol: P, problem: Callable[[D, Pieces, P], Problem]
) -> Outcome:
    """Choose a setting, train with the view's seed and score the test rows.

    problem: makes one of the data, of what cuts texts into pieces, and of the protocol.
    """
    encoder = encoder_of(system)

    def work() -> Work:
        found = problem(data, Pieces(encoder, protocol.length), protocol)
        start = Start(encoder, encoder.route(view.format))
        return Work(start, found, Parts(data.train, data.dev, data.test))

    return _tuned(view.once(work), protocol.tuning, view)


def _tuned(work: Work, tuning: Tuning, view: View) -> Outcome:
    tried, runs = _tried(work, tuning, view)
    best = _best(tuning, tried)
    scored, facts = runs.get(str(best)) or work.run(best, tuning, view.seed, "test")
    evidence = scored["test"]
    tally = DropReport()
    tally.update(work.problem.tally)
    for reason, flag in ((COLLAPSED, "collapsed"), (DIVERGED, "diverged")):
        if facts[flag]:
            tally.add(reason, f"seed {view.seed}")
    sizes = {name: len(rows) for name, rows in work.parts._asdict().items()}
    details = sizes | {"setting": asdict(best), "dev scores": tried, "shared": tuning.shared} | facts
    return Outcome(evidence=evidence, details=details, tally=tally)


def encoder_of(system: System) -> Encoder:
    """Return the encoder whose weights a run changes. Raises NotServedError for what has none of ours."""
    if isinstance(system, DenseSystem) and isinstance(system.encoder, Encoder):
        return system.encoder
    raise NotServedError(f"{system.name} cannot be fine-tuned; only encoders that this package loads itself")


def _tried(work: Work, tuning: Tuning, view: View) -> tuple[dict[str, float | None], dict[str, Any]]:
    """Return the dev score of every setting, None for one that failed; nothing where there is no choice.

    With them come the runs that were made just now with the view's own seed, which need not be made again.
    """
    if len(tuning.grid) == 1:
        return {}, {}
    if not len(work.parts.dev):
        raise InputError("the grid has several settings and the data no dev part; give one setting (--grid)")
    found = _kept(view)
    runs: dict[str, Any] = {}
    parts = ("dev", "test") if view.seed == view.first_seed else ("dev",)
    for setting in tuning.grid:
        if str(setting) not in found:
            scored, facts = runs[str(setting)] = work.run(setting, tuning, view.first_seed, *parts)
            score = estimate(next(iter(scored["dev"].values())))
            found[str(setting)] = None if math.isnan(score) or facts["diverged"] else score
            _keep(view, found)
    return {str(setting): found[str(setting)] for setting in tuning.grid}, runs if "test" in parts else {}


def _best(tuning: Tuning, tried: Mapping[str, float | None]) -> Setting:
    """Return the setting of the best dev score, the first of equals; where all failed, the first."""
    scores = [tried.get(str(setting)) for setting in tuning.grid]
    known = [-math.inf if score is None else score for score in scores]
    return tuning.grid[known.index(max(known))]


def _kept(view: View) -> dict[str, float | None]:
    """Return what an earlier run of the same task and model has tried."""
    rows = [] if view.kept is None else _lines(view.kept)
    return {row["setting"]: row["dev"] for row in rows if row["key"] == view.key}


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _keep(view: View, found: Mapping[str, float | None]) -> None:
    if view.kept is not None:
        rows = [row for row in _lines(view.kept) if row["key"] != view.key]
        rows += [{"key": view.key, "setting": name, "dev": score} for name, score in found.items()]
        write_lines(view.kept, map(json.dumps, rows))
