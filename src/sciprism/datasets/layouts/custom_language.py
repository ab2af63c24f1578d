"""Layouts of custom fine-tuning tasks: a folder with files of train, test and optionally dev."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import PairInput, SpanInput, TaggingInput
from sciprism.datasets.layouts.language.parts import PartFiles
from sciprism.datasets.layouts.language.questions import SquadFiles
from sciprism.datasets.layouts.language.texts import LabelledTexts
from sciprism.datasets.layouts.language.words import WordTags

DEV_SHARE = 0.1
"""Share of train that becomes dev where the folder has no dev file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomWords:
    """Tagged words: .tsv or .txt with a word and its tag a line, or JSON lines of `tokens` and `tags`."""

    data: str
    only: str = ""
    merged: bool = False

    def read(self, data_root: DataRoot) -> TaggingInput:
        """Return the sentences."""
        return WordTags(
            files=PartFiles(folders=(self.data,)), only=self.only, merged=self.merged, dev_share=DEV_SHARE
        ).read(data_root)


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomTexts:
    """JSON lines of `text`, or of `sentence1` and `sentence2`, and `label`: a class or a number."""

    data: str
    pairs: bool = False
    target: Literal["class", "number"] = "class"

    def read(self, data_root: DataRoot) -> PairInput:
        """Return the texts."""
        return LabelledTexts(
            files=PartFiles(folders=(self.data,)), pairs=self.pairs, target=self.target, dev_share=DEV_SHARE
        ).read(data_root)


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomQuestions:
    """Questions and their contexts in SQuAD's JSON."""

    data: str

    def read(self, data_root: DataRoot) -> SpanInput:
        """Return the questions."""
        return SquadFiles(files=PartFiles(folders=(self.data,)), dev_share=DEV_SHARE).read(data_root)
