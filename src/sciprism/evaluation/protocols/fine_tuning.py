"""Fine-tune an encoder with a linear head, then score the test texts (`tuning`).

"pair": texts or pairs of texts: a relation, yes or no, a class, several labels, a number. "tag": the words of a text:
entities (NER), or the element of each word (PICO). "span": the answer to a question, a part of its context.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from torch import Tensor

from sciprism.arrays import Rows
from sciprism.datasets.inputs import Answer, PairInput, SpanInput, TaggingInput
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores, score_classes, score_label_sets, score_numbers, score_outcomes
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import Count, EvaluationContext, Positive, ProtocolResult, check_metrics, protocols
from sciprism.evaluation.tuning import (
    Offsets,
    Outputs,
    Predictions,
    TargetKind,
    Tuning,
    TuningExample,
    TuningProblem,
    WindowTokenizer,
    assign_words,
    find_first_pieces,
    fine_tune,
    join_words,
    span_loss,
    text_loss,
)
from sciprism.metrics.spans import entity_counts, exact_match, token_f1, word_counts
from sciprism.seeding import sample

TRUNCATED = "text longer than the model, its end not read"
UNSEEN = "text of a class that no training text has"


@protocols.register("pair")
@dataclass(frozen=True, slots=True, kw_only=True)
class PairProtocol:
    """Fine-tune with a linear map on the first token (BLURB's sequence tasks).

    A text has one segment or two. Losses: cross-entropy for classes, binary cross-entropy for several labels
    (predicted where p > 0.5), squared error for numbers; a constant prediction of numbers scores 0. negative:
    the class that micro F1 excludes, as in relation extraction; positive: the class of "f1_binary". length:
    tokens that are read, the longer segment truncated first.
    """

    metric: Literal["f1_micro", "f1_macro", "f1_binary", "accuracy", "pearson"] = "accuracy"
    negative: str = ""
    positive: str = ""
    length: int = 256
    tuning: Tuning = field(default_factory=Tuning)

    def __post_init__(self) -> None:
        if (self.metric == "f1_binary") != bool(self.positive):
            raise InputError(f"pair: {self.metric} and the positive class {self.positive!r} do not go together")
        if self.negative and self.metric != "f1_micro":
            raise InputError(f"pair: {self.metric} excludes no class; remove negative = {self.negative!r}")

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metric."""
        return (self.metric,)

    def evaluate(self, data: PairInput, system: System, context: EvaluationContext) -> ProtocolResult:
        """Train on the training rows, score the test rows."""
        return fine_tune(data, system, context, self, _TextProblem)


class _TextProblem(TuningProblem[PairInput]):
    def __init__(self, data: PairInput, tokenizer: WindowTokenizer, protocol: PairProtocol) -> None:
        super().__init__(data, tokenizer, protocol)
        first = data.targets[0]
        self.kind: TargetKind = (
            "class" if isinstance(first, str) else "labels" if isinstance(first, tuple) else "number"
        )
        if (self.kind == "number") != (protocol.metric == "pearson"):
            raise InputError(f"pair: the metric {protocol.metric} does not go with targets of the kind {self.kind}")
        self.names = self._names()
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self.width = max(1, len(self.names))

    def loss(self, outputs: Tensor, examples: Sequence[TuningExample]) -> Tensor:
        targets: list[Any] = [example.targets[0] for example in examples]
        return text_loss(self.kind, outputs, targets)

    def row_examples(self, row: int) -> list[TuningExample]:
        window, truncated = self.tokenizer.truncate(self.data.texts[row])
        if truncated:
            self.dropped.add(TRUNCATED, self.data.ids[row])
        target: Any = self.data.targets[row]
        if self.kind == "labels":
            target = self._indicators(target)
        elif self.kind == "class":
            target = self._numbers.get(str(target), 0)
        return [TuningExample(row, window.ids, window.types, [0], [target])]

    def item_scores(self, rows: Rows, predictions: Predictions) -> Mapping[str, ItemScores]:
        outputs = np.concatenate([output for _, output in sorted(predictions, key=lambda pair: pair[0].row)])
        order = np.sort(rows)
        ids = [self.data.ids[row] for row in order]
        gold = [self.data.targets[row] for row in order]
        return {self.protocol.metric: self._item_scores(ids, gold, outputs)}

    def is_uniform(self, predictions: Predictions) -> bool:
        """Tell whether all texts get one class, the same labels or one number."""
        outputs = np.concatenate([output for _, output in predictions])
        if self.kind == "number":
            return bool(np.ptp(outputs) < 1e-3)
        predicted = outputs.argmax(axis=1)[:, None] if self.kind == "class" else outputs > 0
        return len(np.unique(predicted, axis=0)) < 2

    def _item_scores(self, ids: Sequence[str], gold: Sequence[Any], outputs: Outputs) -> ItemScores:
        metric = self.protocol.metric
        if self.kind == "number":
            return score_numbers(ids, np.array(gold, np.float64), outputs[:, 0], "pearson_or_zero")
        if self.kind == "labels":
            truth = np.array([self._indicators(labels) for labels in gold], np.int64)
            return score_label_sets(ids, truth, (outputs > 0).astype(np.int64), metric, labels=self.names)
        classes, predicted = np.array(gold), np.array(self.names)[outputs.argmax(axis=1)]
        if metric == "f1_binary":
            positive = self.protocol.positive
            return score_classes(ids, (classes == positive).astype(int), (predicted == positive).astype(int), metric)
        if negative := self.protocol.negative:  # micro F1 over all classes but this one
            others = np.setdiff1d(np.union1d(classes, predicted), [negative])
            if not len(others):
                raise InputError(f"all test texts and all predictions are of the class {negative!r}: F1 is not defined")
            return score_outcomes(ids, classes, predicted, metric, others)
        return score_classes(ids, classes, predicted, metric)

    def _names(self) -> tuple[str, ...]:
        """Return the classes of the training texts, or all labels."""
        if self.kind == "number":
            return ()
        if self.kind == "labels":
            return tuple(sorted({name for labels in self.data.targets for name in labels}))  # type: ignore[union-attr]
        names = sorted({str(self.data.targets[row]) for row in self.data.train})
        if len(names) < 2:
            raise InputError(f"the training texts are all of the class {names[0]!r}; there is nothing to learn")
        for row in (*self.data.dev, *self.data.test):
            if self.data.targets[row] not in names:
                self.dropped.add(UNSEEN, f"{self.data.ids[row]} {self.data.targets[row]}")
        return tuple(names)

    def _indicators(self, labels: Sequence[str]) -> list[float]:
        return [float(name in labels) for name in self.names]


OUTSIDE = "O"
VANISHED = "word without a token, tagged O"
LONG = "text longer than the model, read in windows"


@protocols.register("tag")
@dataclass(frozen=True, slots=True, kw_only=True)
class TagProtocol:
    """Fine-tune with a linear map on the first token of each word (BLURB's taggers; no CRF).

    metric: "entity_f1" is the micro F1 of exact spans and types, as in seqeval and conlleval; "word_f1_macro"
    the mean over types of the F1 of single words (EBM PICO). Long texts are read in windows of `length`
    tokens that share `stride`; each word is predicted once, in the window with most context.
    """

    metric: Literal["entity_f1", "word_f1_macro"] = "entity_f1"
    length: int = 512
    stride: int = 128
    tuning: Tuning = field(default_factory=Tuning)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metric."""
        return (self.metric,)

    def evaluate(self, data: TaggingInput, system: System, context: EvaluationContext) -> ProtocolResult:
        """Train on the training rows, tag the test rows."""
        return fine_tune(data, system, context, self, _TagProblem)


class _TagProblem(TuningProblem[TaggingInput]):
    def __init__(self, data: TaggingInput, tokenizer: WindowTokenizer, protocol: TagProtocol) -> None:
        super().__init__(data, tokenizer, protocol)
        tags = {tag for row in data.train for tag in data.tags[row]} - {OUTSIDE}
        if not tags:
            raise InputError("no word of the training texts is tagged; there is nothing to learn")
        self.tags = (OUTSIDE, *sorted(tags))
        self.types = sorted({tag[2:] for tags in data.tags for tag in tags} - {""})
        self.width = len(self.tags)

    def loss(self, outputs: Tensor, examples: Sequence[TuningExample]) -> Tensor:
        return text_loss("class", outputs, [target for example in examples for target in example.targets])

    def item_scores(self, rows: Rows, predictions: Predictions) -> Mapping[str, ItemScores]:
        predicted = {int(row): [OUTSIDE] * len(self.data.words[row]) for row in rows}
        for example, outputs in predictions:
            for word, tag in zip(example.names, outputs.argmax(axis=1).tolist(), strict=True):
                predicted[example.row][word] = self.tags[tag]
        gold = [self.data.tags[row] for row in rows]
        by_entity = self.protocol.metric == "entity_f1"
        count, aggregate = (entity_counts, "f1_micro") if by_entity else (word_counts, "f1_macro")
        item_of = [(self.data.documents or self.data.ids)[row] for row in rows]
        items = {item: number for number, item in enumerate(dict.fromkeys(item_of))}
        columns = np.zeros((len(items), 3 * len(self.types)))
        counts = count(gold, [predicted[row] for row in rows], self.types)
        np.add.at(columns, [items[item] for item in item_of], counts)
        return {self.protocol.metric: ItemScores(tuple(items), columns, aggregate, labels=tuple(self.types))}

    def is_uniform(self, predictions: Predictions) -> bool:
        """Tell whether all words get one tag."""
        return len({tag for _, outputs in predictions for tag in outputs.argmax(axis=1).tolist()}) < 2

    def row_examples(self, row: int) -> Iterator[TuningExample]:
        words, tags = self.data.words[row], self.data.tags[row]
        text, starts = join_words(words)
        windows = self.tokenizer.windows(text, stride=self.protocol.stride)
        first_tokens = find_first_pieces(windows, starts)
        if len(windows) > 1:
            self.dropped.add(LONG, self.data.ids[row])
        for word in sorted(set(range(len(words))) - {word for begun, _ in first_tokens for word in begun}):
            self.dropped.add(VANISHED, f"{self.data.ids[row]} {words[word]!r}")
        tag_numbers = {tag: number for number, tag in enumerate(self.tags)}
        assigned = assign_words(first_tokens, [len(window.ids) for window in windows])
        for window, (begun, positions), targets in zip(windows, first_tokens, assigned, strict=True):
            names = [begun[index] for index in targets]
            yield TuningExample(
                row=row,
                ids=window.ids,
                types=window.types,
                positions=[positions[index] for index in targets],
                targets=[tag_numbers.get(tags[name], 0) for name in names],
                names=names,
            )


SpanMetric = Literal["f1", "exact"]
SCORES: Mapping[SpanMetric, Callable[[str, Sequence[str]], float]] = {"f1": token_f1, "exact": exact_match}


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
    max_answer_tokens: Positive = 30
    unanswerable: bool = True
    max_empty_windows: Count | None = None
    metrics: tuple[SpanMetric, ...] = ("f1", "exact")
    tuning: Tuning = field(default_factory=Tuning)

    def __post_init__(self) -> None:
        check_metrics("span", self.metrics, tuple(SCORES))

    def evaluate(self, data: SpanInput, system: System, context: EvaluationContext) -> ProtocolResult:
        """Train on the training questions, answer the test questions."""
        return fine_tune(data, system, context, self, _AnswerProblem)


class _AnswerProblem(TuningProblem[SpanInput]):
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
            self.dropped.add("question longer than half a window, its end not read", self.data.ids[row])
        answer = next(iter(self.data.answers[row]), None)
        examples = []
        for window in self.tokenizer.windows(short, context, stride=self.protocol.stride):
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
