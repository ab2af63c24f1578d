"""Rank a whole vocabulary for every paper: extreme multi-label classification (SciMult, Tables 3, A3, A8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.errors import InputError
from sciprism.papers.records import Label, Paper
from sciprism.tasks.evidence import Evidence
from sciprism.tasks.inputs import LabelSpace, Rows, Tally
from sciprism.tasks.label_names import LabelNames
from sciprism.tasks.protocols import protocols
from sciprism.tasks.systems import Distance, System, Texts
from sciprism.tasks.task import Outcome, View

BLOCK = 4096
"""Papers ranked at once: memory holds the best labels of these, never a score of every paper and label."""


@protocols.register("label")
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRanking:
    """Score papers against all labels; recall@k = share of a paper's labels among its k best.

    names_first: labels whose name (or synonym) stands in the paper go before all others, in the system's
    order within both groups (SciMult section 4.1; Table 3 has it, Table A3 has not). raw_names: names and
    texts are normalised before they are compared (published MAPLE files already are). text: what is encoded
    of a label. Ties go to the label that stands first.
    """

    metrics: tuple[str, ...] = ("recall@20", "recall@50", "recall@100")
    names_first: bool = False
    raw_names: bool = False
    distance: Distance = "encoder"
    text: Literal["name and definition", "name"] = "name and definition"

    def __post_init__(self) -> None:
        for name in self.metrics:
            kind, _, depth = name.partition("@")
            if kind != "recall" or not depth.isdigit() or not int(depth):
                raise InputError(f"label: the metric {name!r} is not recall@K")

    def evaluate(self, data: LabelSpace, system: System, view: View) -> Outcome:
        """Rank all labels for every paper that has one, block by block."""
        tally = Tally()
        asked = [i for i, gold in enumerate(data.gold) if len(gold)]
        for i in sorted(set(range(len(data.gold))) - set(asked)):
            tally.add("paper without a label of the vocabulary", data.paper_ids[i])
        if not asked:
            raise InputError("no paper carries a label of the vocabulary; check the labels' ids")
        cuts = [int(name.partition("@")[2]) for name in self.metrics]
        labels = view.labels([self._shown(label) for label in data.labels])
        finder = _Finder(data, self.raw_names) if self.names_first else None
        recalls = np.empty((len(asked), len(cuts)))
        for start in range(0, len(asked), BLOCK):
            part = asked[start : start + BLOCK]
            papers = view.papers([data.papers[i] for i in part])
            matched = finder.matched(part) if finder else None
            best = self._ranked(papers, labels, system, matched, max(cuts))
            for row, (i, ranked) in enumerate(zip(part, best, strict=True), start):
                hits = np.isin(ranked, data.gold[i]).cumsum()
                recalls[row] = [
                    hits[min(k, len(hits)) - 1] / len(data.gold[i]) if len(hits) else 0 for k in cuts
                ]
        ids = tuple(data.paper_ids[i] for i in asked)
        evidence = {
            name: Evidence(ids, recalls[:, [column]], "mean") for column, name in enumerate(self.metrics)
        }
        details = {"papers": len(asked), "labels": len(data.labels), "distance": self.distance}
        return Outcome(evidence=evidence, details=details, tally=tally)

    def _shown(self, label: Label) -> Label:
        return replace(label, definition="") if self.text == "name" else label

    def _ranked(
        self, papers: Texts, labels: Texts, system: System, matched: Sequence[Rows] | None, k: int
    ) -> list[Rows]:
        """Return the k best label rows of each paper, the matched ones first where there are any."""
        _, rows = system.top(papers, labels, min(k, len(labels.items)), self.distance, None)
        best = [mine[mine >= 0] for mine in rows]
        if matched is None:
            return best
        scores = system.pool_scores(papers, labels, matched, self.distance)
        return [
            _front(found[np.argsort(-score, kind="stable")], mine)[:k]
            for found, score, mine in zip(matched, scores, best, strict=True)
        ]


class _Finder:
    """The labels whose names stand in papers: those that the data bring, else found by the rule."""

    def __init__(self, data: LabelSpace, raw: bool) -> None:
        self._data = data
        self._names = None if data.matched is not None else LabelNames(data.labels, raw=raw)

    def matched(self, papers: Sequence[int]) -> Sequence[Rows]:
        """Return the label rows matched in each of these papers."""
        if self._data.matched is not None:
            return [self._data.matched[i] for i in papers]
        assert self._names is not None
        return self._names.match([_text(self._data.papers[i]) for i in papers])


def _text(item: object) -> str:
    return f"{item.title} {item.abstract}" if isinstance(item, Paper) else str(item)


def _front(first: Rows, rest: Rows) -> NDArray[np.int64]:
    return np.concatenate([first, rest[~np.isin(rest, first)]])
