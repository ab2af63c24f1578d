"""Find the words of a context that answer a question, or say that none does (SQuAD 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from torch import Tensor

from sciprism.arrays import Rows
from sciprism.datasets.inputs import Questions
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import Evidence
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import Outcome, View
from sciprism.evaluation.tuning import heads, spans
from sciprism.evaluation.tuning.choosing import fine_tuned
from sciprism.evaluation.tuning.examples import Example, Pieces
from sciprism.evaluation.tuning.runs import Outputs
from sciprism.evaluation.tuning.settings import Tuning
from sciprism.metrics.answers import exact_match, token_f1
from sciprism.seeding import sample

Metric = Literal["f1", "exact"]
SCORES: Mapping[Metric, Callable[[str, Sequence[str]], float]] = {"f1": token_f1, "exact": exact_match}
LONG = "question longer than half a window, its end not read"


@protocols.register("span")
@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Fine-tune with a linear map that scores each token as the start and as the end of the answer.

    Contexts are read in windows of `length` tokens, the question in front, that share `stride`. The
    answer is the best pair of start and end, at most `longest` tokens apart; with `unanswerable` there is
    none where the first token scores higher in every window. empty: so many windows without the answer
    are trained on for a question that has one, None for all (of long articles nearly all are such).
    metrics: the F1 of tokens and the share of exact matches, both after SQuAD's normalisation.
    """

    length: int = 384
    stride: int = 128
    longest: int = 30
    unanswerable: bool = True
    empty: int | None = None
    metrics: tuple[Metric, ...] = ("f1", "exact")
    tuning: Tuning = field(default_factory=Tuning)

    def __post_init__(self) -> None:
        if self.longest < 1:
            raise InputError(f"span: answers of at most {self.longest} tokens")
        if self.empty is not None and self.empty < 0:
            raise InputError(f"span: {self.empty} windows without an answer")
        if not self.metrics:
            raise InputError(f"span: no metric; {' or '.join(SCORES)}")

    def evaluate(self, data: Questions, system: System, view: View) -> Outcome:
        """Train on the training questions, answer the test questions."""
        return fine_tuned(data, system, view, self, _Answering)


class _Answering:
    """Questions and contexts as examples, and what was said as answers again."""

    width = 2

    def __init__(self, data: Questions, pieces: Pieces, protocol: Span) -> None:
        self.data, self.pieces, self.protocol = data, pieces, protocol
        self.tally = DropReport()

    def loss(self, outputs: Tensor, examples: Sequence[Example]) -> Tensor:
        """Return the sum over windows of the mean cross-entropy of start and end."""
        counts = [len(example.places) for example in examples]
        return heads.of_spans(outputs, counts, [example.targets[0] for example in examples])

    @cached_property
    def examples(self) -> list[Example]:
        """Return the windows of all questions."""
        return [example for row in range(len(self.data.ids)) for example in self._windows(row)]

    def evidence(self, rows: Rows, said: Sequence[tuple[Example, Outputs]]) -> Mapping[str, Evidence]:
        """Return F1 and exact match of each question, the best over its answers."""
        answers = self._answers(said)
        ids = tuple(self.data.ids[row] for row in rows)
        golds = [[answer.text for answer in self.data.answers[row]] for row in rows]
        guesses = [answers[int(row)] for row in rows]
        pairs = list(zip(guesses, golds, strict=True))
        return {
            name: Evidence(ids, np.array([[SCORES[name](guess, gold)] for guess, gold in pairs]), "mean")
            for name in self.protocol.metrics
        }

    def uniform(self, said: Sequence[tuple[Example, Outputs]]) -> bool:
        """Tell whether all questions get the same answer, such as none."""
        return len(set(self._answers(said).values())) < 2

    def _windows(self, row: int) -> list[Example]:
        question, context = self.data.questions[row], self.data.contexts[row]
        share = self.pieces.shared(self.protocol.stride)
        short = self.pieces.shortened(question, self.pieces.length // 2 - 2 - share // 2)
        if short != question:
            self.tally.add(LONG, self.data.ids[row])
        answer = next(iter(self.data.answers[row]), None)
        found = []
        for window in self.pieces.beside(short, context, self.protocol.stride):
            places = window.of(1)
            target = spans.NOWHERE if answer is None else spans.place_of(answer, window.offsets[places])
            names = window.offsets[places]
            found.append(Example(row, window.ids, window.types, [0, *places.tolist()], [target], names))
        if answer is None or self.protocol.empty is None:
            return found
        without = [number for number, each in enumerate(found) if each.targets[0] == spans.NOWHERE]
        idle = set(without) - set(sample(without, self.protocol.empty, self.data.ids[row]))
        return [replace(each, idle=number in idle) for number, each in enumerate(found)]

    def _answers(self, said: Sequence[tuple[Example, Outputs]]) -> dict[int, str]:
        """Return the text that answers each question, "" for none."""
        of_row: dict[int, list[tuple[Example, Outputs]]] = defaultdict(list)
        for example, outputs in said:
            of_row[example.row].append((example, outputs))
        found = {}
        for row, windows in of_row.items():
            none = min(float(outputs[0].sum()) for _, outputs in windows)
            best, (start, end) = max(
                (spans.best(outputs, example.names, self.protocol.longest) for example, outputs in windows),
                key=lambda pair: pair[0],
            )
            keep = best >= none or not self.protocol.unanswerable
            found[row] = self.data.contexts[row][start:end].strip() if keep else ""
        return found
