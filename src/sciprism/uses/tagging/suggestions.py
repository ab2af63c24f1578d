"""Suggested tags, and which of the candidates are suggested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Doubles, Rows
from sciprism.errors import InputError
from sciprism.uses.tagging.vocabulary import Vocabulary

Parents = Literal["keep", "drop", "add"]
LIMIT = 10
ABOVE = "above {name!r}"
"""The reason of a label that is added because it is above a suggested one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """One suggested label of a paper. probability: that it is right, calibrated on held-out papers."""

    rank: int
    uri: str
    notation: str
    label: str
    probability: float
    why: str


@dataclass(frozen=True, slots=True)
class PaperTags:
    """The tags suggested for one paper, best first."""

    id: str
    title: str
    tags: tuple[Tag, ...]

    def to_json(self) -> dict[str, Any]:
        """Return id, title and tags as JSON values."""
        return {"id": self.id, "title": self.title, "tags": [asdict(tag) for tag in self.tags]}


@dataclass(frozen=True, slots=True, kw_only=True)
class TagChoice:
    """Which candidates are suggested.

    limit: tags for each paper. threshold: the lowest probability; None is what the tagger learned. excluded, branch:
    labels that are never suggested; labels below which (or which) all suggestions are, each by id, notation or name.
    parents: of labels above other suggested ones: keep them where they were found, drop them, or add them all.
    """

    limit: int = LIMIT
    threshold: float | None = None
    excluded: Sequence[str] = field(default_factory=tuple)
    branch: Sequence[str] = field(default_factory=tuple)
    parents: Parents = "keep"

    def __post_init__(self) -> None:
        if self.limit < 1:
            raise InputError(f"the limit is {self.limit}; ask for at least one tag")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise InputError(f"the threshold is {self.threshold}, not a probability from 0 to 1")
        if self.parents not in get_args(Parents):
            raise InputError(f"parents {self.parents!r} is not one of {', '.join(get_args(Parents))}")

    def allowed(self, vocabulary: Vocabulary) -> NDArray[np.bool_]:
        """Return which labels may be suggested, True or False of each; InputError for an unknown name or none left."""
        mask = np.ones(len(vocabulary), bool)
        if self.branch:
            inside = {vocabulary.find_named(name, "the branch") for name in self.branch}
            inside |= {row for top in list(inside) for row in vocabulary.below(top)}
            mask[:] = False
            mask[list(inside)] = True
        for name in self.excluded:
            mask[vocabulary.find_named(name, "the excluded label")] = False
        if not mask.any():
            raise InputError("every label of the branch is excluded; nothing can be suggested")
        return mask

    def pick(
        self, labels: Rows, probabilities: Doubles, threshold: float, vocabulary: Vocabulary
    ) -> list[tuple[int, float, int | None]]:
        """Return rows and probabilities of the tags of one paper, best first, and the label that one was added for."""
        least = threshold if self.threshold is None else self.threshold
        order = np.argsort(-probabilities, kind="stable")
        ranked = [(int(labels[i]), float(probabilities[i])) for i in order if probabilities[i] >= least]
        if self.parents == "drop":
            above = {row for label, _ in ranked[: self.limit] for row in vocabulary.above(label)}
            ranked = [(label, value) for label, value in ranked if label not in above]
        picked: list[tuple[int, float, int | None]] = [(*each, None) for each in ranked[: self.limit]]
        if self.parents == "add":
            known = {label for label, _, _ in picked}
            for label, value, _ in list(picked):  # a label above a right one is right
                for row in sorted(vocabulary.above(label) - known):
                    known.add(row)
                    picked.append((row, value, label))
        return picked
