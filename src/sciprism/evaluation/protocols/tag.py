"""Fine-tune to tag the words of a text: entities (NER), or the element of each word (PICO)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

from sciprism.arrays import Rows
from sciprism.datasets.inputs import TaggingInput
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import EvaluationContext, ProtocolResult, protocols
from sciprism.evaluation.tuning.examples import (
    TuningExample,
    WindowTokenizer,
    assign_words,
    find_first_pieces,
    join_words,
)
from sciprism.evaluation.tuning.grid_search import Predictions, TuningProblem, fine_tune
from sciprism.evaluation.tuning.runs import Tuning, class_loss
from sciprism.metrics.spans import entity_counts, word_counts

Metric = Literal["entity_f1", "word_f1_macro"]
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

    metric: Metric = "entity_f1"
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


class _TagProblem(TuningProblem[TaggingInput, TagProtocol]):
    def __init__(self, data: TaggingInput, tokenizer: WindowTokenizer, protocol: TagProtocol) -> None:
        super().__init__(data, tokenizer, protocol)
        tags = {tag for row in data.train for tag in data.tags[row]} - {OUTSIDE}
        if not tags:
            raise InputError("no word of the training texts is tagged; there is nothing to learn")
        self.tags = (OUTSIDE, *sorted(tags))
        self.types = sorted({tag[2:] for tags in data.tags for tag in tags} - {""})
        self.width = len(self.tags)

    def loss(self, outputs: Tensor, examples: Sequence[TuningExample]) -> Tensor:
        return class_loss(outputs, [target for example in examples for target in example.targets])

    def item_scores(self, rows: Rows, predictions: Predictions) -> Mapping[str, ItemScores]:
        predicted = {int(row): [OUTSIDE] * len(self.data.words[row]) for row in rows}
        for example, outputs in predictions:
            for word, tag in zip(example.names, outputs.argmax(axis=1).tolist(), strict=True):
                predicted[example.row][word] = self.tags[tag]
        gold = [self.data.tags[row] for row in rows]
        by_entity = self.protocol.metric == "entity_f1"
        count, aggregate = (entity_counts, "f1_micro") if by_entity else (word_counts, "f1_macro")
        ids = tuple(self.data.ids[row] for row in rows)
        columns = count(gold, [predicted[row] for row in rows], self.types)
        return {self.protocol.metric: ItemScores(ids, columns, aggregate, labels=tuple(self.types))}

    def is_uniform(self, predictions: Predictions) -> bool:
        """Tell whether all words get one tag."""
        return len({tag for _, outputs in predictions for tag in outputs.argmax(axis=1).tolist()}) < 2

    def row_examples(self, row: int) -> Iterator[TuningExample]:
        words, tags = self.data.words[row], self.data.tags[row]
        text, starts = join_words(words)
        windows = self.tokenizer.windows(text, self.protocol.stride)
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
