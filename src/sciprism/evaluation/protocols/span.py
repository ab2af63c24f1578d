"""Fine-tune to find the span of a context that answers a question, or that none does (SQuAD 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from torch import Tensor

from sciprism.arrays import Rows
from sciprism.datasets.inputs import Answer, SpanInput
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import EvaluationContext, ProtocolResult, check_metrics, protocols
from sciprism.evaluation.tuning.examples import Offsets, TuningExample
from sciprism.evaluation.tuning.grid_search import Predictions, TuningProblem, fine_tune
from sciprism.evaluation.tuning.runs import Outputs, Tuning, span_loss
from sciprism.metrics.spans import exact_match, token_f1
from sciprism.seeding import sample

Metric = Literal["f1", "exact"]
SCORES: Mapping[Metric, Callable[[str, Sequence[str]], float]] = {"f1": token_f1, "exact": exact_match}
LONG = "question longer than half a window, its end not read"


@protocols.register("span")
@dataclass(frozen=True, slots=True, kw_only=True)
class SpanProtocol:
    """Fine-tune with a linear map that scores each token as the start and as the end of the answer.

    Contexts are read in windows of `length` tokens that share `stride`, the question in front. The answer is
    the best pair of start and end of at most `max_answer_tokens` tokens; with `unanswerable` there is none
    where the first token scores higher in every window. max_empty_windows: windows without the answer that
    are trained on per answerable question, None for all (of long articles nearly all are such). metrics: the
    F1 of tokens and the share of exact matches, after SQuAD's normalization.
    """

    length: int = 384
    stride: int = 128
    max_answer_tokens: int = 30
    unanswerable: bool = True
    max_empty_windows: int | None = None
    metrics: tuple[Metric, ...] = ("f1", "exact")
    tuning: Tuning = field(default_factory=Tuning)

    def __post_init__(self) -> None:
        if self.max_answer_tokens < 1:
            raise InputError(f"span: max_answer_tokens is {self.max_answer_tokens}; give 1 or more")
        if self.max_empty_windows is not None and self.max_empty_windows < 0:
            raise InputError(f"span: max_empty_windows is {self.max_empty_windows}; give 0 or more")
        check_metrics("span", self.metrics, tuple(SCORES))

    def evaluate(self, data: SpanInput, system: System, context: EvaluationContext) -> ProtocolResult:
        """Train on the training questions, answer the test questions."""
        return fine_tune(data, system, context, self, _AnswerProblem)


class _AnswerProblem(TuningProblem[SpanInput, SpanProtocol]):
    width = 2

    def loss(self, outputs: Tensor, examples: Sequence[TuningExample]) -> Tensor:
        """Return the sum over windows of the mean cross-entropy of start and end."""
        counts = [len(example.positions) for example in examples]
        return span_loss(outputs, counts, [example.targets[0] for example in examples])

    def item_scores(self, rows: Rows, predictions: Predictions) -> Mapping[str, ItemScores]:
        """Return F1 and exact match of each question, the best over its answers."""
        predicted = self._predict_answers(predictions)
        ids = tuple(self.data.ids[row] for row in rows)
        pairs = [(predicted[int(row)], [answer.text for answer in self.data.answers[row]]) for row in rows]
        return {
            name: ItemScores(ids, np.array([[SCORES[name](guess, gold)] for guess, gold in pairs]), "mean")
            for name in self.protocol.metrics
        }

    def is_uniform(self, predictions: Predictions) -> bool:
        """Tell whether all questions get the same answer, such as none."""
        return len(set(self._predict_answers(predictions).values())) < 2

    def row_examples(self, row: int) -> list[TuningExample]:
        question, context = self.data.questions[row], self.data.contexts[row]
        overlap = self.tokenizer.overlap(self.protocol.stride)
        short = self.tokenizer.shorten(question, self.tokenizer.length // 2 - 2 - overlap // 2)
        if short != question:
            self.dropped.add(LONG, self.data.ids[row])
        answer = next(iter(self.data.answers[row]), None)
        examples = []
        for window in self.tokenizer.pair_windows(short, context, self.protocol.stride):
            positions = window.segment_positions(1)
            offsets = window.offsets[positions]
            target = NO_ANSWER if answer is None else find_answer(answer, offsets)
            examples.append(TuningExample(row, window.ids, window.types, [0, *positions.tolist()], [target], offsets))
        if answer is None or self.protocol.max_empty_windows is None:
            return examples
        empty = [number for number, example in enumerate(examples) if example.targets[0] == NO_ANSWER]
        idle = set(empty) - set(sample(empty, self.protocol.max_empty_windows, self.data.ids[row]))
        return [replace(example, idle=number in idle) for number, example in enumerate(examples)]

    def _predict_answers(self, predictions: Predictions) -> dict[int, str]:
        """Return the predicted answer of each question, "" for none."""
        by_row: dict[int, list[tuple[TuningExample, Outputs]]] = defaultdict(list)
        for example, outputs in predictions:
            by_row[example.row].append((example, outputs))
        answers = {}
        for row, windows in by_row.items():
            none = min(float(outputs[0].sum()) for _, outputs in windows)
            best, (start, end) = max(
                (
                    find_best_span(outputs, example.names, self.protocol.max_answer_tokens)
                    for example, outputs in windows
                ),
                key=lambda pair: pair[0],
            )
            answered = best >= none or not self.protocol.unanswerable
            answers[row] = self.data.contexts[row][start:end].strip() if answered else ""
        return answers


NO_ANSWER = (0, 0)  # start and end of a window without the answer: its first token


def find_answer(answer: Answer, offsets: Offsets) -> tuple[int, int]:
    """Return the first and last position of an answer in a window, NO_ANSWER where it is not wholly inside.

    offsets: characters (n, 2) of the context's tokens in order; they have positions 1 to n, the first token
    of the window has position 0.
    """
    last = answer.start + len(answer.text) - 1
    covers = (offsets[:, 0] <= last) & (offsets[:, 1] > answer.start)
    inside = len(offsets) and offsets[0, 0] <= answer.start and offsets[-1, 1] > last
    if not inside or not covers.any():
        return NO_ANSWER
    covering = np.flatnonzero(covers)
    return int(covering[0]) + 1, int(covering[-1]) + 1


def find_best_span(
    outputs: Outputs, offsets: Sequence[Any] | Offsets, max_tokens: int
) -> tuple[float, tuple[int, int]]:
    """Return the best sum of a start's and an end's score, and the characters from one to the other.

    outputs: (n + 1, 2) of position 0 and the n tokens. The end is not before the start, and the span has at
    most `max_tokens` tokens; the score is minus infinity where there is no token.
    """
    starts, ends = outputs[1:, 0], outputs[1:, 1]
    if not len(starts):
        return -np.inf, (0, 0)
    best = (-np.inf, 0, 0)
    for more in range(min(max_tokens, len(starts))):
        sums = starts[: len(starts) - more] + ends[more:]
        first = int(sums.argmax())
        best = max(best, (float(sums[first]), first, first + more), key=lambda candidate: candidate[0])
    score, first, last = best
    return score, (int(offsets[first][0]), int(offsets[last][1]))
