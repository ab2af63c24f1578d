"""One's own data to fine-tune on: a folder with a file of train, one of test and perhaps one of dev."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import Questions, Segments, Tagged
from sciprism.datasets.layouts.language.parts import PartFiles
from sciprism.datasets.layouts.language.questions import SquadFiles
from sciprism.datasets.layouts.language.texts import Texts
from sciprism.datasets.layouts.language.words import WordTags

DEV = 0.1
"""Share of train that is dev where the folder has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnWords:
    """Tagged words: .tsv or .txt with a word and its tag a line, or JSON lines of `tokens` and `tags`."""

    data: str
    only: str = ""
    merged: bool = False

    def read(self, home: DataRoot) -> Tagged:
        """Return the sentences."""
        files = PartFiles(folders=(self.data,))
        return WordTags(files=files, only=self.only, merged=self.merged, dev_share=DEV).read(home)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTexts:
    """JSON lines of `text`, or of `sentence1` and `sentence2`, and `label`: a class or a number."""

    data: str
    pairs: bool = False
    target: Literal["class", "number"] = "class"

    def read(self, home: DataRoot) -> Segments:
        """Return the texts."""
        files = PartFiles(folders=(self.data,))
        return Texts(files=files, pairs=self.pairs, target=self.target, dev_share=DEV).read(home)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnQuestions:
    """Questions and their contexts in SQuAD's JSON."""

    data: str

    def read(self, home: DataRoot) -> Questions:
        """Return the questions."""
        return SquadFiles(files=PartFiles(folders=(self.data,)), dev_share=DEV).read(home)
