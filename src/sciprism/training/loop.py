"""The one loop: batches of a stage to gradients to weights, stopped at any moment and continued exactly.

Nothing random has a state: which examples a step takes, which positive stands for one, and every dropout
are functions of the seed and the step. A checkpoint is therefore weights, optimiser and step, and a run that
was killed gives the losses and weights of one that was not.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from sciprism.encoders.encoder import Encoder
from sciprism.errors import BrokeError
from sciprism.files import write_lines
from sciprism.training.batch import Batch
from sciprism.training.batches import mixed, mixings, share, tempered
from sciprism.training.blockwise import Blockwise
from sciprism.training.drift import WINDOW, DivergedError, Drift
from sciprism.training.learners.blocks import BlockLearner
from sciprism.training.learners.learner import Learner, Open, Tools, load
from sciprism.training.learners.registry import learners, settings_of
from sciprism.training.optimisers import optimiser_of, set_rate
from sciprism.training.passes import Memory
from sciprism.training.processes import Processes
from sciprism.training.recipe import Stage
from sciprism.training.run_folder import Checkpoint, StageFolder, draft_of, replace_folder
from sciprism.training.schedules import rate
from sciprism.training.starting import AnySource
from sciprism.training.stopping import asked_to_stop
from sciprism.training.together import Together
from sciprism.training.weighting import weighting_of, weightings

AHEAD = 32
"""Steps whose batches learners hear of at once."""


class Step(NamedTuple):
    """What a step tells whoever shows progress."""

    stage: str
    step: int
    steps: int
    loss: float
    examples_per_second: float


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the loop asks of the world above it.

    evaluate: an encoder and names of benchmark tasks -> scores. tell: shows a step. note: says a line. open:
    gives teachers.
    """

    evaluate: Callable[[Encoder, Sequence[str]], Mapping[str, float]] = lambda _encoder, _names: {}
    tell: Callable[[Step], None] = lambda _step: None
    note: Callable[[str], None] = lambda _line: None
    open: Open = load


@dataclass(slots=True)
class State:
    """What evaluations have found so far: the best dev score, its step, and how many since were no better."""

    best: float = -math.inf
    best_step: int = 0
    worse: int = 0
    examples: int = 0


def _learner(source: AnySource, stage: Stage, tools: Tools) -> Learner:
    objective = settings_of(stage.objective_of(source.spec))
    tools = replace(tools, labels=source.labels, candidates=source.candidates)
    return learners[objective.name](objective, tools)


def _coming(step: int, steps: int, accumulate: int) -> range:
    """Return the numbers of the batches of the coming steps."""
    return range(step * accumulate, min(step + AHEAD, steps) * accumulate)


def _look_ahead(learners: Sequence[Learner], coming: Iterable[Sequence[tuple[int, Batch]]]) -> None:
    """Tell learners of their batches of coming steps, where any wants to know."""
    wanting = [place for place, learner in enumerate(learners) if learner.looks_ahead]
    batches = [pair for each in coming for pair in each] if wanting else []
    for wanted in wanting:
        learners[wanted].ahead([batch for place, batch in batches if place == wanted])


def _together(
    stage: Stage, learners: Sequence[Learner], encoder: Encoder, processes: Processes
) -> Together | Blockwise:
    """Return what takes batches to gradients: of vectors together, of blocks one by one."""
    memory = Memory(tokens=stage.tokens, precision=stage.precision, caching=stage.caching)
    blocks = [each for each in learners if isinstance(each, BlockLearner)]
    if blocks:
        return Blockwise(encoder, blocks, processes=processes, memory=memory)
    weighting = weightings[str(stage.weighting["name"])](weighting_of(stage.weighting), len(learners))
    return Together(
        encoder, learners, weighting=weighting.to(processes.device), processes=processes, memory=memory
    )


class Loop:
    """One stage in progress.

    tools: the encoder, whose weights are changed in place, and what learners work with. sources: of the
    stage, checked. seed: of the whole stage. On CPUs with the same number of threads equal input gives equal
    bits.
    """

    def __init__(
        self,
        tools: Tools,
        stage: Stage,
        *,
        sources: Sequence[AnySource],
        folder: StageFolder,
        seed: int,
        hooks: Hooks,
    ) -> None:
        self.encoder, self.processes = encoder, processes = tools.encoder, tools.processes
        self.stage, self.sources, self.folder = stage, sources, folder
        self.hooks, self.seed = hooks, seed
        self.learners = [_learner(source, stage, tools) for source in sources]
        self.together = _together(stage, self.learners, encoder, processes)
        self.modules = nn.ModuleDict({"model": encoder.model, "objective": self.together.modules})
        named = self.modules.named_parameters()
        self.optimiser = optimiser_of(named, stage.optimiser, encoder.model.config.layers)
        self.scaler = torch.amp.GradScaler(processes.device.type, enabled=stage.precision == "float16")
        sizes = tuple(map(len, sources))
        often = tempered(sizes, stage.tempering) if stage.tempering < 1 else (1.0,) * len(sizes)
        rates = tuple(each * source.spec.rate for each, source in zip(often, sources, strict=True))
        self.plan = mixings[stage.mixing](sizes, rates, stage.batch, mixed(seed, "plan"))
        self.steps = stage.steps or math.ceil(self.plan.epoch * (stage.epochs or 1) / stage.accumulate)
        wanted = stage.evaluation.examples
        self.dev = [
            (learner, name, batch)
            for learner, source in zip(self.learners, sources, strict=True)
            for name, batch in (source.dev(wanted) if processes.first else {}).items()
        ]
        self.state, self.drift, self.step = State(), Drift(), 0
        self._go_on()

    def run(self) -> State:
        """Take all steps that are left; return what the evaluations found."""
        if self.step == 0 and self.stage.evaluation.every:
            self._evaluate()
        self.encoder.model.train()
        with asked_to_stop() as asked:
            self._go(asked)
        self.folder.close()
        return self.state

    def _go(self, asked: Callable[[], bool]) -> None:
        while self.step < self.steps and not self._patience_is_over():
            if self.processes.sum(asked()):
                self._save()
                raise KeyboardInterrupt
            began = time.perf_counter()
            if self.step % AHEAD == 0:
                numbers = _coming(self.step, self.steps, self.stage.accumulate)
                _look_ahead(self.learners, map(self._batches, numbers))
            row = self._take()
            self.step += 1
            seconds = time.perf_counter() - began
            if self.processes.first:
                self.folder.log({"step": self.step, **row, "seconds": round(seconds, 4)})
                speed = row["examples"] / seconds
                self.hooks.tell(Step(self.stage.name, self.step, self.steps, row["loss"], speed))
            every = self.stage.evaluation.every
            if self.step == self.steps or (every and self.step % every == 0):
                self._evaluate()
            if self.step == self.steps or self.step % self.stage.checkpoint_every == 0:
                self._save()

    def _take(self) -> dict[str, Any]:
        """Take one step: `accumulate` batches, each with negatives of its own."""
        self.optimiser.zero_grad(set_to_none=True)
        lr = rate(self.stage.schedule, self.step, self.steps, self.stage.optimiser.lr)
        set_rate(self.optimiser, lr)
        taken: list[Batch] = []
        losses: dict[str, list[float]] = {}
        scale = float(self.scaler.scale(torch.ones((), device=self.processes.device)))
        for part in range(self.stage.accumulate):
            batches = self._batches(self.step * self.stage.accumulate + part)
            taken += [batch for _, batch in batches]
            found = self.together(batches, scale / self.stage.accumulate)
            for (place, batch), loss in zip(batches, found, strict=True):
                name = self.sources[place].name
                losses.setdefault(name, []).append(loss)
                with self._kept_if_diverged([batch]):
                    self.drift.check(name, loss, self.step + 1)
        self.processes.add_gradients(self.modules.parameters(), mean=self.stage.gradient == "mean")
        self.scaler.unscale_(self.optimiser)
        clip = self.stage.optimiser.clip or math.inf
        norm = float(
            nn.utils.clip_grad_norm_([p for p in self.modules.parameters() if p.grad is not None], clip)
        )
        if not self.scaler.is_enabled():  # with float16 such a step is skipped and the scale lowered
            with self._kept_if_diverged(taken):
                self.drift.check_gradient(norm, self.step + 1)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        examples = sum(map(len, taken)) * self.processes.count
        self.state.examples += examples
        means = {name: sum(values) / len(values) for name, values in losses.items()}
        return {
            "loss": sum(map(sum, losses.values())) / self.stage.accumulate,
            "losses": means,
            "lr": lr,
            "gradient": norm if math.isfinite(norm) else None,
            "examples": examples,
        }

    def _batches(self, number: int) -> list[tuple[int, Batch]]:
        """Return this process's share of a batch: the place of each source, and examples of it."""
        seed = mixed(self.seed, "dropout", number, self.processes.rank)
        found = []
        for place, rows in share(self.plan[number], self.processes.rank, self.processes.count):
            batch = self.sources[place].batch(rows.tolist(), seed=seed, draw=(self.seed, number))
            found.append((place, batch))
        return found

    @contextmanager
    def _kept_if_diverged(self, batches: Sequence[Batch]) -> Iterator[None]:
        """Stop, with the examples of the batches saved, where a check raises DivergedError."""
        try:
            yield
        except DivergedError as error:
            name = f"batch-at-step-{self.step + 1}" + f"-{self.processes.rank}" * (not self.processes.first)
            path = self.folder.folder / f"{name}.jsonl"
            write_lines(path, (line for batch in batches for line in batch.lines()))
            raise BrokeError(
                f"stage {self.stage.name}: {error}; its examples are in {path}. Lower the learning rate or "
                "clip gradients, in a new folder, or look at the examples"
            ) from error

    def _evaluate(self) -> None:
        """Score the dev examples and the named tasks; keep the model where it is the best so far."""
        if self.processes.first and (self.dev or self.stage.evaluation.tasks):
            self.encoder.prepare()
            scores = {name: learner.score(batch) for learner, name, batch in self.dev}
            tasks = {name: float(score) for name, score in self._tasks().items()}
            row: dict[str, Any] = {"step": self.step, "dev_scores": scores, "tasks": tasks}
            if scores:
                mean = sum(scores.values()) / len(scores)
                row["dev"] = mean
                self.state.worse += 1
                if mean > self.state.best:
                    self.state = State(mean, self.step, 0, self.state.examples)
                    self._keep()
            self.folder.log(row)
            self.encoder.model.train()
        self.processes.wait()

    def _tasks(self) -> Mapping[str, float]:
        names = self.stage.evaluation.tasks
        return self.hooks.evaluate(self.encoder, names) if names else {}

    def _patience_is_over(self) -> bool:
        patience = self.stage.evaluation.patience
        return (
            bool(patience) and self.processes.sum(self.state.worse if self.processes.first else 0) >= patience
        )

    def _keep(self) -> None:
        draft = draft_of(self.folder.best)
        self.save(draft, stage=self.stage.name, step=self.step, dev=self.state.best, seed=self.seed)
        replace_folder(self.folder.best, draft)

    def save(self, folder: Path, **about: Any) -> None:
        """Write the model as it is, with what its learners keep. about: its provenance."""
        self.encoder.save(folder, **about)
        for learner in self.learners:
            learner.save(folder)

    def _save(self) -> None:
        if self.processes.first:
            optimiser = {"optimiser": self.optimiser.state_dict(), "scaler": self.scaler.state_dict()}
            drift = {"first": self.drift.first, "last": {k: list(v) for k, v in self.drift.last.items()}}
            state = {"state": asdict(self.state), "drift": drift}
            self.folder.save(Checkpoint(self.step, self.modules.state_dict(), optimiser, state))
        self.processes.wait()

    def _go_on(self) -> None:
        if self.processes.first:
            self.folder.recover()
        self.processes.wait()
        found = self.folder.load()
        if found is None:
            if self.processes.first:
                self.folder.forget_after(-1)
            return
        self.modules.load_state_dict(found.weights)
        self.optimiser.load_state_dict(found.optimiser["optimiser"])
        self.scaler.load_state_dict(found.optimiser["scaler"])
        self.state, self.step = State(**found.state["state"]), found.step
        self.drift.first = found.state["drift"]["first"]
        self.drift.last = {k: deque(v, WINDOW) for k, v in found.state["drift"]["last"].items()}
        if self.processes.first:
            self.folder.forget_after(self.step)
            self.hooks.note(f"{self.stage.name}: goes on after step {self.step:,} of {self.steps:,}")
