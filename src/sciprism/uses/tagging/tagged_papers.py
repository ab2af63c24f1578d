"""Tagged papers with their vectors: what a tagger is trained on, and keeps for the next training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sciprism.arrays import Floats
from sciprism.papers.records import Paper
from sciprism.uses.tagging.tag_matrix import TagMatrix


@dataclass(frozen=True, slots=True, eq=False)
class TaggedPapers:
    """Tagged papers. vectors: (n, e).

    judged: paper -> the labels that were judged, right or wrong, where a person judged only some; of all other papers
    the tags are taken to be complete.
    """

    papers: Sequence[Paper]
    vectors: Floats
    tags: TagMatrix
    judged: dict[int, frozenset[int]] = field(default_factory=dict)

    def merge(self, other: TaggedPapers) -> TaggedPapers:
        """Return the papers of both; one that both have, by its id, is the other's."""
        replaced = {paper.id for paper in other.papers}
        kept = [number for number, paper in enumerate(self.papers) if paper.id not in replaced]
        tags = [self.tags[number] for number in kept] + [other.tags[number] for number in range(len(other.papers))]
        judged = {new: self.judged[old] for new, old in enumerate(kept) if old in self.judged}
        judged |= {len(kept) + number: labels for number, labels in other.judged.items()}
        return TaggedPapers(
            [*(self.papers[number] for number in kept), *other.papers],
            np.concatenate([self.vectors[kept], other.vectors]),
            TagMatrix.build((each.tolist() for each in tags), self.tags.labels),
            judged,
        )
