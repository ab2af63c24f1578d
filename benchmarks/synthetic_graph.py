"""A synthetic citation graph: topics, fields, copied references, preferential attachment, recency.

Papers come in cohorts and cite earlier ones. Each reference is copied from a paper that the new one cites
(what is cited much is copied much: preferential attachment, and triangles), or leads to a paper of its own
topic or field, recent ones first, or to any paper, in proportion to its citations.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sciprism.prepare.sources.citation_corpus import CitationGraph, Rows

COPIED, OWN_TOPIC, OWN_FIELD = 0.45, 0.35, 0.12  # of the references; the rest leads anywhere
SPARE = 1.3  # references sampled for each in the graph: some are sampled twice
MAX_REFERENCES = 300  # references of a paper
COHORTS = 100
GROWTH = np.exp(3)  # of the last cohort over the first
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SyntheticGraph:
    """Citations as rows, at most as many as requested, and the topic of each paper."""

    size: int
    citing: Rows
    cited: Rows
    topic: Numbers

    @property
    def graph(self) -> CitationGraph:
        return CitationGraph(self.size, self.citing, self.cited)


class PaperGroups:
    """Papers by group, oldest first."""

    def __init__(self, group: Numbers) -> None:
        self.group = group
        self.order = np.lexsort((np.arange(len(group)), group))
        self.keys = group[self.order] * len(group) + self.order

    def sample_earlier(self, rows: Numbers, before: int, fraction: NDArray[np.float64]) -> Numbers:
        """Draw a paper of each row's group that is older than `before`, recent ones first; -1 for none."""
        own = self.group[rows] * len(self.group)
        start, end = np.searchsorted(self.keys, own), np.searchsorted(self.keys, own + before)
        at = end - 1 - ((end - start) * fraction**2).astype(np.int64)
        return np.where(end > start, self.order[np.maximum(at, 0)], -1)


def build_synthetic_graph(
    size: int, edges: int, *, seed: int = 0, per_topic: int = 250, fields: int = 20
) -> SyntheticGraph:
    """Grow a graph of `size` papers; topics have `per_topic` papers on average, sizes log-normal."""
    random = np.random.default_rng(seed)
    weights = random.lognormal(0, 1, max(1, size // per_topic))
    topic = np.searchsorted(np.cumsum(weights / weights.sum())[:-1], random.random(size))
    groups = PaperGroups(topic), PaperGroups(random.integers(0, fields, len(weights))[topic])
    counts = random.lognormal(0, 0.8, size)
    counts = np.minimum(np.ceil(counts * SPARE * edges / size / counts.mean()), MAX_REFERENCES).astype(np.int64)
    firsts = size * (GROWTH ** np.linspace(0, 1, COHORTS + 1) - 1) / (GROWTH - 1)
    firsts = np.unique(firsts.astype(np.int64))
    counts[: firsts[1]] = 0  # the first cohort has nobody to cite
    bounds = np.concatenate([[0], np.cumsum(counts)])
    cited = np.full(bounds[-1], -1)
    for first, end in pairwise(firsts[1:].tolist()):
        _cite(range(first, end), bounds, cited, groups, random)
    pairs = np.unique(np.repeat(np.arange(size), counts) * size + cited)
    if len(pairs) > edges:
        pairs = pairs[np.sort(random.choice(len(pairs), edges, replace=False))]
    return SyntheticGraph(size, (pairs // size).astype(np.int32), (pairs % size).astype(np.int32), topic)


def _cite(
    cohort: range,
    bounds: Numbers,
    cited: Numbers,
    groups: tuple[PaperGroups, PaperGroups],
    random: np.random.Generator,
) -> None:
    """Fill in the references of one cohort, the first of each paper, then the second, and so on."""
    rows, counts = np.arange(cohort.start, cohort.stop), np.diff(bounds)
    for slot in range(int(counts[cohort.start : cohort.stop].max(initial=0))):
        rows = rows[counts[rows] > slot]
        kind = np.searchsorted(np.cumsum((COPIED, OWN_TOPIC, OWN_FIELD)), random.random(len(rows)))
        fraction, found = random.random(len(rows)), np.full(len(rows), -1)
        if slot:
            model = cited[bounds[rows] + random.integers(0, slot, len(rows))]
            able = (kind == 0) & (counts[model] > 0)
            found[able] = cited[bounds[model[able]] + (fraction[able] * counts[model[able]]).astype(np.int64)]
        for group, kinds in zip(groups, ((0, 1), (2,)), strict=True):
            open_ = np.isin(kind, kinds) & (found < 0)
            found[open_] = group.sample_earlier(rows[open_], cohort.start, fraction[open_])
        open_ = found < 0
        past = int(bounds[cohort.start])
        if past:
            found[open_] = cited[random.integers(0, past, open_.sum())]
        else:
            found[open_] = random.integers(0, cohort.start, open_.sum())
        cited[bounds[rows] + slot] = found
