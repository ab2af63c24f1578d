"""The training loop of a stage: batches to gradients to weights; resumes exactly after an interruption.

Nothing random has a state: the examples of a step, their sampled positives, and every dropout are functions
of the seed and the step. So a checkpoint is weights, optimizer and step, and a run that was killed and
resumed gives the losses and weights of one that was not.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from sciprism.encoders.encoder import Encoder
from sciprism.encoders.settings import training_facts
from sciprism.errors import InputError, RunFailedError
from sciprism.files import CHECKSUMS_NAME, hash_file, open_draft, replace_folder, write_checksums, write_lines
from sciprism.parallel import Progress, map_ahead, show_nothing
from sciprism.seeding import derive_seed
from sciprism.training.batches import Batch, split_parts
from sciprism.training.learners.learner import BlockLearner, Learner, LearnerContext, check_objective, learners
from sciprism.training.optimizers import build_optimizer, learning_rate, set_learning_rate
from sciprism.training.plan import StagePlan
from sciprism.training.processes import defer_interrupts
from sciprism.training.recipe import Evaluation
from sciprism.training.run_folder import Checkpoint
from sciprism.training.sources import StageSource
from sciprism.training.steps import (
    BlockStep,
    JointStep,
    PassSettings,
    default_chunk_tokens,
)

BuildEncoder = Callable[[], Encoder | None]  # loads an encoder only where it is needed


@dataclass(slots=True)
class LoopState:
    """Results of evaluations: the best dev score, its step, and the number of evaluations since.

    examples: seen in training so far. best_checksum: of the checksums of the best model's files. untouched: the
    untouched model's dev scores, of the sources whose metric needs no head. below: evaluations in a row with a mean
    below theirs.
    """

    best: float = -math.inf
    best_step: int = 0
    worse: int = 0
    examples: int = 0
    best_checksum: str = ""
    untouched: dict[str, float] | None = None
    below: int = 0

    def stop_reason(self, evaluation: Evaluation) -> str:
        """Return why a stage ends before its last step, "" where it does not."""
        if 0 < evaluation.untouched_patience <= self.below:
            return f"dev is below the untouched model in {self.below} evaluations in a row"
        if 0 < evaluation.patience <= self.worse:
            return f"no better dev score in {self.worse} evaluations"
        return ""


class DevExamples:
    """Held-out examples of a stage.

    encoder: the one in training. settings: how many examples of each file, and how many tokens of a text: the
    checkpoint is selected on whole texts, though training may truncate them. build_untouched: returns the model that
    would do without training, None if there is none. precision: of vectors, the training's. `examples`: of each
    source, or domain of one, its learner, name and batch.
    """

    def __init__(
        self,
        encoder: Encoder,
        sources: Iterable[tuple[Learner, StageSource]],
        settings: Evaluation,
        build_untouched: BuildEncoder,
        precision: str = "float32",
    ) -> None:
        self.encoder, self._build_untouched = encoder, build_untouched
        self._length = settings.dev_length or encoder.settings.max_length
        self.examples: list[tuple[Learner, str, Batch]] = [
            (learner, name, batch)
            for learner, source in sources
            for name, batch in source.dev(settings.examples).items()
        ]
        has_vectors = all(learner.reads == "examples" for learner, *_ in self.examples)
        self._precision = precision if has_vectors else "float32"

    def score(self) -> dict[str, float]:
        """Return the scores of the encoder in training, by source."""
        with self._read(self.encoder, self.encoder.settings.max_length):
            return {name: learner.score(batch) for learner, name, batch in self.examples}

    def score_encoder(self, encoder: Encoder) -> dict[str, float]:
        """Return the scores of any encoder, by source; without those that need a head or a format that it lacks."""
        with self._read(encoder, encoder.model.config.max_length):
            return {
                name: learner.score_encoder(encoder, batch)
                for learner, name, batch in self.examples
                if learner.by_vectors and batch.format in encoder.formats
            }

    @contextmanager
    def _read(self, encoder: Encoder, most: int) -> Iterator[None]:
        """Let an encoder read whole texts, at most so many tokens, in the training's precision."""
        before, encoder.precision = encoder.precision, self._precision
        encoder.prepare()
        try:
            with encoder.at_length(min(self._length, most)):
                yield
        finally:
            encoder.precision = before
            encoder.prepare()

    def compare(self, dev: float, step: int, state: LoopState) -> float | None:
        """Count an evaluation below the untouched model; return its mean, None where a source has no such score."""
        if state.untouched is None:
            untouched = self._build_untouched()
            state.untouched = {} if untouched is None else self.score_encoder(untouched)
        mean = self.mean(state.untouched)
        state.below = state.below + 1 if step and mean is not None and dev < mean else 0
        return mean

    def mean(self, scores: dict[str, float]) -> float | None:
        """Return the mean of scores of all sources, None where some are missing."""
        return sum(scores.values()) / len(scores) if scores and len(scores) == len(self.examples) else None


WINDOW = 20  # losses of one source that are compared with its first ones
PREFETCHED_STEPS = 32  # steps whose batches learners get at once


class DivergedError(Exception):
    """Report a loss or a gradient that is not finite, or a loss that has grown for many steps."""


@dataclass(slots=True)
class DivergenceCheck:
    """The first and the last losses of each source."""

    first: dict[str, list[float]] = field(default_factory=dict)
    last: dict[str, list[float]] = field(default_factory=dict)

    def check_loss(self, source: str, loss: float, step: int) -> None:
        """Raise DivergedError for a loss that is not finite, or whose mean of `WINDOW` steps has doubled."""
        if not math.isfinite(loss):
            raise DivergedError(f"the loss of {source} at step {step} is {loss}")
        first = self.first.setdefault(source, [])
        if len(first) < WINDOW:
            first.append(loss)
        last = self.last[source] = [*self.last.get(source, []), loss][-WINDOW:]
        if len(last) == WINDOW and sum(last) > 2 * sum(first) + WINDOW:
            raise DivergedError(
                f"{WINDOW} losses of {source} up to step {step} average {sum(last) / WINDOW:.3g}, "
                f"the first {sum(first) / WINDOW:.3g}"
            )


class StepReport(NamedTuple):
    """A step, for progress displays."""

    stage: str
    step: int
    steps: int
    loss: float
    examples_per_second: float


@dataclass(frozen=True, slots=True)
class Hooks:
    """Functions that the training loop calls; the defaults do nothing.

    evaluate: an encoder and names of benchmark tasks -> scores. on_step: shows a step. on_texts: shows how many texts
    of how many a teacher has encoded, before the steps that need them. on_message: shows a line.
    """

    evaluate: Callable[[Encoder, Sequence[str]], Mapping[str, float]] = lambda _encoder, _names: {}
    on_step: Callable[[StepReport], None] = lambda _step: None
    on_texts: Progress = show_nothing
    on_message: Callable[[str], None] = lambda _line: None


class TrainingLoop:
    """One stage in progress.

    plan: what it does. context: the encoder, whose weights are changed in place, and what learners work with.
    build_untouched: returns the model that would do without training, None if there is none.
    On CPUs with the same number of threads equal input gives equal bits.
    """

    def __init__(
        self, plan: StagePlan, context: LearnerContext, hooks: Hooks, build_untouched: BuildEncoder = lambda: None
    ) -> None:
        self.encoder, self.processes = encoder, processes = context.encoder, context.processes
        self.plan, self.stage, self.sources, self.seed = plan, plan.stage, plan.sources, plan.seed
        self.steps, self.folder, self.hooks = plan.steps, plan.folder, hooks
        stage = plan.stage
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(plan.seed)  # of the modules of objectives
            self.learners = [
                learners[objective.name](
                    objective, replace(context, labels=source.labels, candidates=source.candidates)
                )
                for source in plan.sources
                for objective in [check_objective(stage.objective_of(source.spec))]
            ]
        settings = PassSettings(
            chunk_tokens=stage.chunk_tokens or default_chunk_tokens(processes.device, encoder.model.config),
            precision=stage.precision,
            gradient_caching=stage.gradient_caching,
        )
        step = BlockStep if isinstance(self.learners[0], BlockLearner) else JointStep
        self.batch_step = step(encoder, self.learners, processes=processes, settings=settings)
        self.modules = nn.ModuleDict({"model": encoder.model, "objective": self.batch_step.modules})
        self.optimizer = build_optimizer(self.modules.named_parameters(), stage.optimizer, encoder.method)
        self.scaler = torch.amp.GradScaler(processes.device.type, enabled=stage.precision == "float16")
        scored = zip(self.learners, plan.sources, strict=True) if processes.first else ()
        self.dev = DevExamples(encoder, scored, stage.evaluation, build_untouched, stage.precision)
        self.state, self.divergence, self.step = LoopState(), DivergenceCheck(), 0
        self._coming: Iterator[tuple[list[tuple[int, Batch]], Any]] | None = None
        self._resume()

    def run(self) -> LoopState:
        """Take all remaining steps; return what the evaluations found."""
        stage, every = self.stage, self.stage.evaluation.every
        if self.step == 0 and every:
            self._evaluate()
        self.encoder.model.train()
        with defer_interrupts() as interrupted:
            while self.step < self.steps and not self.processes.sum(bool(self.state.stop_reason(stage.evaluation))):
                if self.processes.sum(interrupted()):
                    self._save_checkpoint()
                    raise KeyboardInterrupt
                began = time.perf_counter()
                self._prefetch()
                row = self.take_step()
                seconds = time.perf_counter() - began
                if self.processes.first:
                    self.folder.log({"step": self.step, **row, "seconds": round(seconds, 4)})
                    speed = row["examples"] / seconds
                    self.hooks.on_step(StepReport(self.stage.name, self.step, self.steps, row["loss"], speed))
                if self.step == self.steps or (every and self.step % every == 0):
                    self._evaluate()
                if self.step == self.steps or self.step % self.stage.checkpoint_every == 0:
                    self._save_checkpoint()
        self.folder.close()
        return self.state

    def _prefetch(self) -> None:
        """Every `PREFETCHED_STEPS`, pass the batches of the coming steps to the learners that prefetch."""
        wanting = [position for position, learner in enumerate(self.learners) if learner.prefetches]
        if not wanting or self.step % PREFETCHED_STEPS:
            return
        accumulated, last = self.stage.gradient_accumulation, min(self.step + PREFETCHED_STEPS, self.steps)
        coming = [pair for n in range(self.step * accumulated, last * accumulated) for pair in self.batches(n)]
        for wanted in wanting:
            self.learners[wanted].prefetch([batch for source, batch in coming if source == wanted], self.hooks.on_texts)

    def take_step(self) -> dict[str, Any]:
        """Take one step over the accumulated batches, each with its own negatives; return its metrics."""
        self.optimizer.zero_grad(set_to_none=True)
        lr = learning_rate(self.stage.schedule, self.step, self.steps, self.stage.optimizer.lr)
        set_learning_rate(self.optimizer, lr)
        used, losses = list[Batch](), dict[str, list[float]]()
        accumulated = self.stage.gradient_accumulation
        scaled = self.scaler.is_enabled()
        scale = float(self.scaler.scale(torch.ones((), device=self.processes.device))) if scaled else 1.0
        if self._coming is None:
            numbers = range(self.step * accumulated, self.steps * accumulated)
            on_gpu = self.processes.device.type == "cuda"  # where a thread prepares the batches that follow
            self._coming = map_ahead(self._prepare, numbers, 1) if on_gpu else map(self._prepare, numbers)
        for batches, prepared in islice(self._coming, accumulated):
            used += [batch for _, batch in batches]
            batch_losses = self.batch_step(batches, scale / accumulated, prepared)
            for (source, batch), loss in zip(batches, batch_losses, strict=True):
                name = self.sources[source].name
                losses.setdefault(name, []).append(loss)
                with self._save_batches_if_diverged([batch]):
                    self.divergence.check_loss(name, loss, self.step + 1)
        norm = self._update_weights(used)
        self.step += 1
        examples = sum(map(len, used)) * self.processes.count
        self.state.examples += examples
        return {
            "loss": sum(map(sum, losses.values())) / accumulated,
            "losses": {name: sum(values) / len(values) for name, values in losses.items()},
            "lr": lr,
            "gradient": norm if math.isfinite(norm) else None,
            "examples": examples,
        }

    def _prepare(self, number: int) -> tuple[list[tuple[int, Batch]], Any]:
        """Return the batches of a part of a step, and what the step has prepared of them."""
        batches = self.batches(number)
        return batches, self.batch_step.prepare(batches)

    def _update_weights(self, used: Sequence[Batch]) -> float:
        """Take the optimizer's step; return the norm of the gradient before clipping."""
        self.processes.add_gradients(self.modules.parameters(), mean=self.stage.gradient_reduction == "mean")
        self.scaler.unscale_(self.optimizer)
        trained = [p for p in self.modules.parameters() if p.grad is not None]
        norm = float(nn.utils.clip_grad_norm_(trained, self.stage.optimizer.max_grad_norm or math.inf))
        if not (math.isfinite(norm) or self.scaler.is_enabled()):  # float16 skips such a step and lowers the scale
            with self._save_batches_if_diverged(used):
                raise DivergedError(f"the gradient at step {self.step + 1} is {norm}")
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return norm

    def batches(self, number: int) -> list[tuple[int, Batch]]:
        """Return this process's slice of a batch: the number of each source, and examples of it."""
        seed = derive_seed(self.seed, "dropout", number, self.processes.rank)
        return [
            (source, self.sources[source].batch(rows.tolist(), seed=seed, sample_key=(self.seed, number)))
            for source, rows in split_parts(self.plan.batches[number], self.processes.rank, self.processes.count)
        ]

    @contextmanager
    def _save_batches_if_diverged(self, batches: Sequence[Batch]) -> Iterator[None]:
        """Stop, with the examples of the batches saved, where a check raises DivergedError."""
        try:
            yield
        except DivergedError as error:
            name = f"batch-at-step-{self.step + 1}" + f"-{self.processes.rank}" * (not self.processes.first)
            path = self.folder.folder / f"{name}.jsonl"
            write_lines(path, (line for batch in batches for line in batch.lines()))
            raise RunFailedError(
                f"stage {self.stage.name}: {error}; its examples are in {path}. Check the examples, or use a "
                "lower learning rate or max_grad_norm in a new folder"
            ) from error

    def _evaluate(self) -> None:
        """Score the dev examples and the named tasks; save the model if its dev score is the best so far."""
        self._coming = None  # what evaluates may set the tokenizer to another length
        if self.processes.first and (self.dev.examples or self.stage.evaluation.tasks):
            self.encoder.prepare()
            scores = self.dev.score()
            with self.encoder.at_length():  # a task's score is that of the saved model
                task_scores = self.hooks.evaluate(self.encoder, names) if (names := self.stage.evaluation.tasks) else {}
            tasks = {name: float(score) for name, score in task_scores.items()}
            row: dict[str, Any] = {"step": self.step, "dev_scores": scores, "tasks": tasks}
            if scores:
                row["dev"] = mean = sum(scores.values()) / len(scores)
                untouched = self.dev.compare(mean, self.step, self.state)
                row["untouched_scores"] = self.state.untouched
                self.state.worse += 1
                if mean > self.state.best:
                    with open_draft(self.folder.best) as draft:
                        facts = training_facts(self.stage.name, self.step) | {"dev": mean, "untouched": untouched}
                        self.save(draft, name=self.plan.name, **facts, seed=self.seed)
                        checksum = hash_file(draft / CHECKSUMS_NAME)
                        self.state = replace(
                            self.state, best=mean, best_step=self.step, worse=0, best_checksum=checksum
                        )
                        replace_folder(self.folder.best, draft)
            self.folder.log(row)
            self.encoder.model.train()
        self.processes.wait()

    def save(self, folder: Path, **provenance: Any) -> None:
        """Write the model as it is, with what its learners keep, and the checksums of all files."""
        self.encoder.save(folder, **provenance)
        for learner in self.learners:
            learner.save(folder)
        write_checksums(folder)

    def _save_checkpoint(self) -> None:
        if self.processes.first:
            optimizer = {"optimizer": self.optimizer.state_dict(), "scaler": self.scaler.state_dict()}
            state = {"state": asdict(self.state), "drift": asdict(self.divergence)}
            self.folder.save(Checkpoint(self.step, self.modules.state_dict(), optimizer, state))
        self.processes.wait()

    def _resume(self) -> None:
        """Load the last whole checkpoint, if there is one, and drop metrics of later steps."""
        name, first = self.stage.name, self.processes.first
        # The first reads it while it recovers the folder, the others then.
        checkpoint, problem = self.processes.on_first(self.folder.recover) or (self.folder.load(), "")
        if problem:
            self.hooks.on_message(f"{name}: {problem}; the checkpoint before it is used")
        if checkpoint is not None:
            try:
                self.modules.load_state_dict(checkpoint.weights)
                self.optimizer.load_state_dict(checkpoint.optimizer["optimizer"])
                self.scaler.load_state_dict(checkpoint.optimizer["scaler"])
                self.state, self.step = LoopState(**checkpoint.state["state"]), checkpoint.step
                self.divergence = DivergenceCheck(**checkpoint.state["drift"])
            except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
                problem = f"{self.folder.checkpoint} is damaged or of another model: {error}"
                raise InputError(f"{problem}. {self.folder.remedy}") from error
        if first:
            if self.state.best > -math.inf:
                self.folder.check_best()  # now, not after the last step
            if problem := self.folder.restore_metrics(checkpoint):
                self.hooks.on_message(f"{name}: {problem}")
            if checkpoint is not None:
                self.hooks.on_message(f"{name}: resumes after step {self.step:,} of {self.steps:,}")
