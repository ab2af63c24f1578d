"""Labels as they are compared with papers: the words of their names, and their vectors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from sciprism.arrays import Floats, Rows
from sciprism.papers.records import Label, Paper
from sciprism.uses.tagging.name_matches import NameMatcher, list_names
from sciprism.uses.tagging.paper_space import normalize
from sciprism.uses.tagging.term_matrix import TermMatrix
from sciprism.uses.tagging.words import stems_of


@dataclass(frozen=True, slots=True, eq=False)
class LabelSide:
    """What labels alone give: known from the vocabulary, without any tagged paper.

    vectors: (labels, e), of length 1, around their mean. matcher: finds names in texts. words: word -> column.
    names: a row for each name, its words weighted by rarity, which sum to 1. owners: first row of each label's.
    rarity: (labels,), the mean rarity of the words of each label's own name.
    """

    vectors: Floats
    centre: Floats
    matcher: NameMatcher
    words: dict[str, int]
    names: TermMatrix
    owners: Rows
    rarity: Floats

    @classmethod
    def build(cls, labels: Sequence[Label], vectors: Floats) -> LabelSide:
        """Prepare labels and their vectors (labels, e)."""
        names = [[set(stems_of(name)) for _, name in list_names(label)] for label in labels]
        counts = Counter(word for label in names for word in set().union(*label))
        words = {word: number for number, word in enumerate(counts)}
        rarity = np.log((1 + len(labels)) / np.array([*counts.values(), 1.0]))
        flat = [sorted(words[word] for word in name) for label in names for name in label]
        starts = np.cumsum([0, *map(len, flat)])
        terms = np.array([word for name in flat for word in name], np.int64)
        sizes = np.repeat(np.arange(len(flat)), np.diff(starts))
        totals = np.bincount(sizes, rarity[terms], len(flat))
        weights = (rarity[terms] / totals[sizes]).astype(np.float32)
        owners = np.cumsum([0, *map(len, names)])[:-1]
        centre = vectors.mean(axis=0)
        mean = (totals / np.maximum(1, np.diff(starts)))[owners].astype(np.float32)
        matrix = TermMatrix(starts.astype(np.int64), terms, weights, len(words))
        return cls(normalize(vectors - centre), centre, NameMatcher(labels), words, matrix, owners, mean)

    def cover(self, papers: Sequence[Paper]) -> torch.Tensor:
        """Return the largest share of the words of one of each label's names in each paper, (b, labels)."""
        present = torch.zeros(len(self.words), len(papers))
        for column, paper in enumerate(papers):
            found = {self.words[word] for word in stems_of(f"{paper.title} {paper.abstract}") if word in self.words}
            present[list(found), column] = 1
        shares = self.names.multiply(present).numpy()
        return torch.from_numpy(np.maximum.reduceat(shares, self.owners, axis=0).T.copy())

    def compare(self, vectors: Floats) -> torch.Tensor:
        """Return the cosines of papers' vectors (b, e), around the papers' own mean, with all labels, (b, labels)."""
        return torch.from_numpy(normalize(vectors)) @ torch.from_numpy(self.vectors).T
