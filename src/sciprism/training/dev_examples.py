"""The dev examples of a stage: scores of the model in training and of the untouched one; when they end the stage."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sciprism.encoders.encoder import Encoder
from sciprism.training.batches import Batch
from sciprism.training.learners.learner import Learner
from sciprism.training.recipe import Evaluation
from sciprism.training.sources import StageSource

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
        length = min(self._length, self.encoder.settings.max_length)
        with self.encoder.at_length(length), _at_precision(self.encoder, self._precision):
            return {name: learner.score(batch) for learner, name, batch in self.examples}

    def score_encoder(self, encoder: Encoder) -> dict[str, float]:
        """Return the scores of any encoder, by source; without those that need a head or a format that it lacks."""
        length = min(self._length, encoder.model.config.max_length)
        with encoder.at_length(length), _at_precision(encoder, self._precision):
            return {
                name: learner.score_encoder(encoder, batch)
                for learner, name, batch in self.examples
                if learner.by_vectors and batch.format in encoder.formats
            }

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


@contextmanager
def _at_precision(encoder: Encoder, precision: str) -> Iterator[None]:
    """Compute vectors in another precision, with the present weights packed for it."""
    before, encoder.precision = encoder.precision, precision
    encoder.prepare()
    try:
        yield
    finally:
        encoder.precision = before
        encoder.prepare()
