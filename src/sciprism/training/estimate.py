"""What a plan will take: examples, tokens, time, memory; measured on a few steps of each stage."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from sciprism.encoders.encoder import Encoder
from sciprism.seeding import sample
from sciprism.training.batches import Batch
from sciprism.training.learners.learner import Learner, LearnerContext
from sciprism.training.loop import Hooks, TrainingLoop
from sciprism.training.plan import Plan, StagePlan
from sciprism.training.run_folder import StageFolder
from sciprism.training.stage_models import build_early

TIMED_STEPS = 3
SAMPLE = 100  # examples of each source whose tokens are counted
BATCHES = 2000  # batches whose examples are counted; those of longer stages are scaled up


@dataclass(frozen=True, slots=True)
class SourceEstimate:
    """What a stage takes of a source.

    examples: that the file holds. dropped: that lack what the objective requires. used: in all steps, about.
    tokens: of an example with all its texts, mean of a sample; None where no encoder can be built yet.
    """

    name: str
    examples: int
    dropped: int
    used: int
    tokens: float | None = None


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """What a stage takes.

    tokens: of all steps. seconds: of all steps, from timed ones. memory: bytes, the peak of the timed steps.
    None, with the reason, where the stage cannot be tried before the ones before it are trained.
    """

    name: str
    steps: int
    sources: Sequence[SourceEstimate]
    tokens: float | None = None
    seconds: float | None = None
    memory: int | None = None
    reason: str = ""


def estimate_stage(plan: Plan, stage: StagePlan) -> StageEstimate:
    """Return what a stage takes. It takes a few steps in memory, and writes nothing to the run's folder."""
    name, batches = stage.stage.name, stage.steps * stage.stage.gradient_accumulation
    used: Counter[int] = Counter()
    for number in range(min(batches, BATCHES)):
        used.update({source: len(rows) for source, rows in stage.batches[number]})
    amounts = [round(used[number] * batches / min(batches, BATCHES)) for number in range(len(stage.sources))]
    pairs = zip(stage.sources, amounts, strict=True)
    sources = [SourceEstimate(source.name, len(source), source.dropped, amount) for source, amount in pairs]
    for model in stage.stage.named_models():
        if model in stage.models and not stage.models[model].exists():
            reason = f"it needs the model of the stage {model}, which is not trained yet"
            return StageEstimate(name, stage.steps, sources, reason=reason)
    encoder = plan.encoders.pop(name, None)
    if encoder is None:
        encoder, _ = build_early(plan.recipe, stage.stage, stage.models, plan.processes)
    if encoder is None:
        reason = "it starts from a stage that is not trained yet"
        return StageEstimate(name, stage.steps, sources, reason=reason)
    with TemporaryDirectory() as folder:
        context = LearnerContext(encoder=encoder, processes=plan.processes, load_model=stage.load_model)
        loop = TrainingLoop(replace(stage, folder=StageFolder(Path(folder))), context, Hooks())
        lengths = [
            _count_tokens(encoder, learner, source.batch(rows, seed=0, sample_key=(0,))) / len(rows)
            for learner, source in zip(loop.learners, stage.sources, strict=True)
            for rows in [sample(range(len(source)), SAMPLE, "tokens")]
        ]
        seconds, timed = _time_steps(loop)
    tokens = sum(amount * length for amount, length in zip(amounts, lengths, strict=True))
    sources = [replace(source, tokens=length) for source, length in zip(sources, lengths, strict=True)]
    return StageEstimate(name, stage.steps, sources, tokens, seconds * tokens / timed, _peak_memory(encoder.device))


def _count_tokens(encoder: Encoder, learner: Learner, batch: Batch) -> int:
    if batch.blocks:
        return sum(map(len, batch.blocks))
    texts = [text for items, role in learner.select_texts(batch) for text in encoder.texts(items, role)]
    return sum(map(len, encoder.tokenize(texts)))


def _time_steps(loop: TrainingLoop) -> tuple[float, int]:
    """Return the seconds of some steps and the tokens that they read."""
    loop.encoder.model.train()
    if loop.steps > TIMED_STEPS:
        loop.take_step()  # the first one is slower than those that follow
    accumulated, first, began = loop.stage.gradient_accumulation, loop.step, time.perf_counter()
    while loop.step < min(first + TIMED_STEPS, loop.steps):
        loop.take_step()
    if loop.encoder.device.type == "cuda":
        torch.cuda.synchronize(loop.encoder.device)
    seconds = time.perf_counter() - began
    pairs = [pair for number in range(first * accumulated, loop.step * accumulated) for pair in loop.batches(number)]
    return seconds, sum(_count_tokens(loop.encoder, loop.learners[source], batch) for source, batch in pairs)


def _peak_memory(device: torch.device) -> int | None:
    """Return the peak of the memory that the device, or on a CPU the process, has held, in bytes."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
