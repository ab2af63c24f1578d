"""Rank a whole vocabulary for every paper: extreme multi-label classification (SciMult, Tables 3, A3, A8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sciprism.arrays import Rows
from sciprism.datasets.inputs import LabelSpace
from sciprism.drop_report import DropReport
from sciprism.errors import InputError
from sciprism.evaluation.item_scores import Evidence
from sciprism.evaluation.protocols.registry import protocols
from sciprism.evaluation.systems import Distance, System, Texts
from sciprism.evaluation.task import Outcome, View
from sciprism.papers.records import Label, Paper
from sciprism.uses.label_names import LabelNames

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
        tally = DropReport()
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
            recalls[start : start + len(part)] = _recalls(best, [data.gold[i] for i in part], cuts)
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
    ) -> Rows:
        """Return the k best label rows of each paper, matched ones first where there are any; -1 for none."""
        _, rows = system.top(papers, labels, min(k, len(labels.items)), self.distance, None)
        if matched is None:
            return rows
        scores = system.pool_scores(papers, labels, matched, self.distance)
        return _front(matched, scores, rows)


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


def _recalls(best: Rows, gold: Sequence[Rows], cuts: Sequence[int]) -> NDArray[np.float64]:
    """Return the share of each paper's labels among the first k of its ranking (m, n), for each cut."""
    rows, labels = _flat(gold)
    width = 1 + max(int(best.max(initial=0)), int(labels.max(initial=0)))
    keys = np.where(best >= 0, np.arange(len(best))[:, None] * width + best, -1)
    hits = np.isin(keys, rows * width + labels).cumsum(axis=1)
    sizes = np.array([len(labels) for labels in gold])
    found = [hits[:, min(k, hits.shape[1]) - 1] / sizes for k in cuts]
    return np.stack(found, axis=1)


def _front(first: Sequence[Rows], scores: Sequence[NDArray[np.floating[Any]]], rest: Rows) -> Rows:
    """Put the labels of `first`, by their scores, before the others of each ranking (m, k), and cut at k."""
    owners, labels = _flat(first)
    order = np.lexsort((-np.concatenate([*scores, np.empty(0)]), owners))
    owners, labels = owners[order], labels[order]
    width = 1 + max(int(rest.max(initial=0)), int(labels.max(initial=0)))
    others = np.repeat(np.arange(len(rest)), rest.shape[1])
    kept = (rest.ravel() >= 0) & ~np.isin(others * width + rest.ravel(), owners * width + labels)
    owners = np.concatenate([owners, others[kept]])
    labels = np.concatenate([labels, rest.ravel()[kept]])
    order = np.argsort(owners, kind="stable")
    owners, labels = owners[order], labels[order]
    places = np.arange(len(owners)) - np.searchsorted(owners, owners)
    fits = places < rest.shape[1]
    ranked = np.full(rest.shape, -1, np.int64)
    ranked[owners[fits], places[fits]] = labels[fits]
    return ranked


def _flat(lists: Sequence[Rows]) -> tuple[Rows, Rows]:
    """Return whose each element is, and the elements, of all lists end to end."""
    owners = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    return owners, np.concatenate([*lists, np.empty(0, np.int64)]).astype(np.int64)
