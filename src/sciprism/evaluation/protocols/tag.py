"""Tag the words of a text: entities (NER), or what each word belongs to (PICO)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from torch import Tensor

from sciprism.arrays import Rows
from sciprism.datasets.inputs import Tagged
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import Evidence
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import System
from sciprism.evaluation.task import Outcome, View
from sciprism.evaluation.tuning import heads
from sciprism.evaluation.tuning.choosing import fine_tuned
from sciprism.evaluation.tuning.examples import Example, Pieces, first_pieces, joined, owned
from sciprism.evaluation.tuning.runs import Outputs
from sciprism.evaluation.tuning.settings import Tuning
from sciprism.metrics.entities import entity_counts, word_counts

Metric = Literal["entity_f1", "word_f1_macro"]
OUTSIDE = "O"
VANISHED = "word without a token, tagged O"
LONG = "text longer than the model, read in windows"


@protocols.register("tag")
@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """Fine-tune with a linear map on the first piece of each word (BLURB's taggers; no CRF).

    metric: "entity_f1" is the micro F1 of exact spans and types, as seqeval and conlleval count them;
    "word_f1_macro" the mean over types of the F1 of single words (EBM PICO). Long texts are read in windows
    of `length` tokens that share `stride`; every word counts once, where most stands around it.
    """

    metric: Metric = "entity_f1"
    length: int = 512
    stride: int = 128
    tuning: Tuning = field(default_factory=Tuning)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the metric."""
        return (self.metric,)

    def evaluate(self, data: Tagged, system: System, view: View) -> Outcome:
        """Train on the training rows, tag the test rows."""
        return fine_tuned(data, system, view, self, _Tagging)


class _Tagging:
    """Words and their tags as examples, and what was said as tags again."""

    def __init__(self, data: Tagged, pieces: Pieces, protocol: Tag) -> None:
        self.data, self.pieces, self.protocol = data, pieces, protocol
        learnt = {tag for row in data.train for tag in data.tags[row]} - {OUTSIDE}
        if not learnt:
            raise InputError("no word of the training texts is tagged; there is nothing to learn")
        self.tags = (OUTSIDE, *sorted(learnt))
        self.types = sorted({tag[2:] for tags in data.tags for tag in tags} - {""})
        self.width = len(self.tags)
        self.tally = DropReport()

    def loss(self, outputs: Tensor, examples: Sequence[Example]) -> Tensor:
        """Return the sum over words of the cross-entropy."""
        return heads.of_classes(outputs, [target for example in examples for target in example.targets])

    @cached_property
    def examples(self) -> list[Example]:
        """Return the windows of all rows."""
        return [example for row in range(len(self.data.ids)) for example in self._windows(row)]

    def evidence(self, rows: Rows, said: Sequence[tuple[Example, Outputs]]) -> Mapping[str, Evidence]:
        """Return the counts of each row and type."""
        guess = self._tags(rows, said)
        gold = [self.data.tags[row] for row in rows]
        count = entity_counts if self.protocol.metric == "entity_f1" else word_counts
        aggregate = "f1_micro" if self.protocol.metric == "entity_f1" else "f1_macro"
        ids = tuple(self.data.ids[row] for row in rows)
        columns = count(gold, [guess[row] for row in rows], self.types)
        return {self.protocol.metric: Evidence(ids, columns, aggregate, labels=tuple(self.types))}

    def uniform(self, said: Sequence[tuple[Example, Outputs]]) -> bool:
        """Tell whether all words get one tag."""
        return len({tag for _, outputs in said for tag in outputs.argmax(axis=1).tolist()}) < 2

    def _windows(self, row: int) -> Iterator[Example]:
        words, tags = self.data.words[row], self.data.tags[row]
        text, starts = joined(words)
        windows = self.pieces.windows(text, self.protocol.stride)
        begun = first_pieces(windows, starts)
        if len(windows) > 1:
            self.tally.add(LONG, self.data.ids[row])
        for word in sorted(set(range(len(words))) - {word for found, _ in begun for word in found}):
            self.tally.add(VANISHED, f"{self.data.ids[row]} {words[word]!r}")
        known = {tag: number for number, tag in enumerate(self.tags)}
        for window, (found, places), own in zip(
            windows, begun, owned(begun, [len(window.ids) for window in windows]), strict=True
        ):
            names = [found[index] for index in own]
            yield Example(
                row=row,
                ids=window.ids,
                types=window.types,
                places=[places[index] for index in own],
                targets=[known.get(tags[name], 0) for name in names],
                names=names,
            )

    def _tags(self, rows: Rows, said: Sequence[tuple[Example, Outputs]]) -> dict[int, list[str]]:
        found = {int(row): [OUTSIDE] * len(self.data.words[row]) for row in rows}
        for example, outputs in said:
            for word, tag in zip(example.names, outputs.argmax(axis=1).tolist(), strict=True):
                found[example.row][word] = self.tags[tag]
        return found
