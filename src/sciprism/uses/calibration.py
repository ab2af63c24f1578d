"""Say what a similarity means: how few pairs are as similar, and how probable a relation of two such papers is."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sciprism.arrays import Doubles, Floats, Rows
from sciprism.errors import InputError
from sciprism.files import write_json
from sciprism.index.exact import Distance, normalize_for, sample_rows
from sciprism.papers.records import Paper
from sciprism.store import StoredCollection
from sciprism.uses.search import choose_paper_space

BACKGROUND = 2000  # papers whose pairs are the background
FITTED = 10_000  # papers of a collection to whose pairs a relation is fitted
MIN_RELATED = 50  # pairs with the relation, below which no curve is fitted
BLOCK = 500  # papers whose similarities to all are computed at once
BINS = 4000  # of similarity, in which pairs are counted
MIN_PAIRS = 100  # of a bin
POINTS = 64  # of a stored curve
UNLIKE = 0.05  # difference of median similarities from which pairs are not those of a curve, as in one field
FILE = "calibration.json"  # in a collection: its own curves
SHIPPED = Path(__file__).with_name("calibration_curves.json")
RELATIONS = {"fields": "they share a field", "keywords": "they share a keyword", "references": "one cites the other"}
Related = Callable[[int], Rows]


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """A step function from raw to calibrated probabilities. scores: ascending, (s,); probabilities: (s,)."""

    scores: Doubles
    probabilities: Doubles

    @classmethod
    def fit(cls, scores: Doubles, right: Doubles, counts: Doubles | None = None) -> Calibration:
        """Fit by isotonic regression (pool adjacent violators), in bins of equal scores.

        right: outcomes, or their mean of so many cases as `counts` says.
        """
        from scipy.optimize import isotonic_regression

        order = np.argsort(scores, kind="stable")
        sizes = np.ones(len(scores)) if counts is None else counts[order]
        _, starts = np.unique(isotonic_regression(right[order], weights=sizes).x, return_index=True)
        totals, places, outcomes = (
            np.add.reduceat(column, starts) for column in (sizes, sizes * scores[order], sizes * right[order])
        )
        return cls(places / totals, outcomes / totals)

    def apply(self, scores: Doubles) -> Doubles:
        """Return calibrated probabilities, between the steps by interpolation."""
        return np.interp(scores, self.scores, self.probabilities)


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """Pairs of papers in bins of similarity, ascending: its mean, all pairs, and those with a relation, each (b,)."""

    scores: Doubles
    pairs: Doubles
    related: Doubles

    @property
    def base_rate(self) -> float:
        """Return the share of the pairs that have the relation."""
        return float(self.related.sum() / max(1.0, self.pairs.sum()))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RelationCurve:
    """The probability that two papers have a relation, by their similarity.

    relation: in words, such as "they share a field". pairs: in words, over which pairs it is a probability.
    base_rate: of all these pairs. median: their median similarity.
    """

    relation: str
    pairs: str
    base_rate: float
    median: float
    curve: Calibration

    @classmethod
    def fit(cls, counts: PairCounts, relation: str, pairs: str) -> RelationCurve:
        """Fit the curve by isotonic regression. Raises InputError where too few pairs, or all, have the relation."""
        found, total = int(counts.related.sum()), int(counts.pairs.sum())
        if not MIN_RELATED <= found <= total - MIN_RELATED:
            raise InputError(
                f"too few pairs to fit the probability that {relation}: {found:,} of the {total:,} {pairs}; "
                f"{MIN_RELATED} with the relation and {MIN_RELATED} without it are needed"
            )
        ends = np.cumsum(counts.pairs)
        groups = np.minimum((ends - counts.pairs) // MIN_PAIRS, max(1, total // MIN_PAIRS) - 1)  # of so many pairs
        _, numbers = np.unique(groups, return_inverse=True)
        columns = np.stack([counts.scores * counts.pairs, counts.pairs, counts.related])
        scores, merged, related = (np.bincount(numbers, column).astype(float) for column in columns)
        fitted = Calibration.fit(scores / merged, related / merged, merged)
        places = np.linspace(fitted.scores[0], fitted.scores[-1], POINTS)
        curve, median = Calibration(places, fitted.apply(places)), counts.scores[np.searchsorted(ends, total / 2)]
        return cls(relation=relation, pairs=pairs, base_rate=counts.base_rate, median=float(median), curve=curve)

    def to_json(self) -> dict[str, Any]:
        """Return the curve as JSON values, rounded to four digits."""
        numbers = {"base_rate": self.base_rate, "median": self.median}
        row: dict[str, Any] = {name: float(f"{value:.4g}") for name, value in numbers.items()}
        columns = {"scores": self.curve.scores, "probabilities": self.curve.probabilities}
        row |= {name: [float(f"{value:.4g}") for value in values] for name, values in columns.items()}
        return {"relation": self.relation, "pairs": self.pairs} | row

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> RelationCurve:
        """Return the curve that `to_json` wrote."""
        curve = Calibration(np.array(row.pop("scores")), np.array(row.pop("probabilities")))
        return cls(**row, curve=curve)


def count_pairs(vectors: Floats, related: Related, distance: Distance = "cosine") -> PairCounts:
    """Count all pairs of papers by similarity, and those with a relation.

    vectors: (n, d). related: returns the rows of the papers to which a row's paper has the relation.
    """
    unit = torch.from_numpy(normalize_for(vectors, distance))
    low = high = 0.0  # of the first block: others are like it
    counts = np.zeros((3, BINS))
    for start in range(0, len(unit), BLOCK):
        scores = compare(unit[start : start + BLOCK], unit[start:], distance)
        marks = np.zeros(scores.shape, bool)
        for row in range(len(scores)):
            marks[row, (rows := related(start + row))[rows >= start] - start] = True
        later = np.arange(scores.shape[1]) > np.arange(len(scores))[:, None]
        values, marked = scores[later], marks[later]
        low, high = (low, high) if start else (float(scores.min()), float(scores.max()) + 1e-6)
        places = np.clip((values - low) * (BINS / (high - low)), 0, BINS - 1).astype(np.int32)
        sums = (np.bincount(places, weights, BINS) for weights in (values, None, marked))
        counts += np.stack(list(sums))
    filled = counts[1] > 0
    total, pairs, marked = counts[:, filled]
    return PairCounts(total / pairs, pairs, marked)


def compare(queries: torch.Tensor, others: torch.Tensor, distance: Distance) -> Floats:
    """Return the similarity of each query (m, d) to each of others (n, d), as searches do; for cosine, of length 1."""
    scores = -torch.cdist(queries, others) if distance == "euclidean" else queries @ others.T
    return scores.numpy()


def relate_by_keys(keys: Sequence[Iterable[Hashable]]) -> Related:
    """Return a relation: two papers share a key."""
    members = defaultdict[Hashable, list[int]](list)
    for row, of_paper in enumerate(keys):
        for key in of_paper:
            members[key].append(row)
    rows = {key: np.array(places) for key, places in members.items()}
    return lambda row: np.concatenate([np.empty(0, int), *(rows[key] for key in keys[row])])


def relate_by_citation(papers: Sequence[Paper]) -> Related:
    """Return a relation: one paper has the other among its references, by its id or an id of another system."""
    rows: dict[str, int] = {}
    for row, paper in enumerate(papers):
        names = (paper.id, *(name for system, id in paper.ids.items() for name in (id, f"{system}:{id}")))
        rows |= {name.lower(): row for name in names}
    linked: list[set[int]] = [set() for _ in papers]
    for row, paper in enumerate(papers):
        for cited in {rows[name] for name in map(str.lower, paper.references) if name in rows} - {row}:
            linked[row].add(cited)
            linked[cited].add(row)
    return lambda row: np.array(sorted(linked[row]), int)


class SimilarityScale:
    """What similarities of a collection's papers mean: percentiles of its pairs, and curves of relations.

    curves: the collection's own, which `fit_relations` writes, else those that ship for its model. A shipped curve is
    left out where the collection's pairs are not like those that it was fitted to; `notes` say so. pairs, median: the
    number of pairs of the background, and their median similarity.
    """

    def __init__(self, stored: StoredCollection) -> None:
        """Compare a sample of the papers with each other. Raises InputError for a collection of one paper."""
        if len(stored.live) < 2:
            raise InputError(f"{stored.folder} has one paper alone; a percentile needs pairs of papers")
        self.space, distance = choose_paper_space(stored), stored.manifest.encoder.distance
        rows = sample_rows(stored, BACKGROUND, 0)
        unit = torch.from_numpy(normalize_for(stored.read_rows(self.space, rows).block(0, len(rows)), distance))
        self._background = np.sort(compare(unit, unit, distance)[np.triu_indices(len(rows), 1)])
        self.pairs = len(self._background)
        self.median = float(self._background[self.pairs // 2])
        known, shipped = read_curves(stored, self.space)
        self.curves = [curve for curve in known if not shipped or abs(curve.median - self.median) <= UNLIKE]
        self.notes = [f"that {curve.relation}: a probability over {curve.pairs}" for curve in self.curves]
        fit = f"`sciprism calibrate {stored.folder}` fits probabilities to papers with fields, keywords or references"
        if not known:
            self.notes.append(f"no probabilities are known for {stored.manifest.encoder.name}; {fit}")
        for curve in (curve for curve in known if curve not in self.curves):
            self.notes.append(
                f"that {curve.relation}: no probability; it was measured on {curve.pairs}, whose median similarity is "
                f"{curve.median:.2f}, and here it is {self.median:.2f}; {fit}"
            )

    def to_json(self) -> dict[str, Any]:
        """Return what the percentiles and probabilities are over, as JSON values."""
        return {"pairs": self.pairs, "median": round(self.median, 4), "notes": self.notes}

    def describe(self, similarity: float) -> dict[str, Any]:
        """Return how many percent of the background are less similar, and the probability of each relation."""
        below = int(np.searchsorted(self._background, similarity, "left"))
        rows = [
            {"relation": c.relation, "probability": round(float(c.curve.apply(np.array(similarity))), 4)}
            | {"base_rate": c.base_rate}
            for c in self.curves
        ]
        return {"percentile": round(100 * below / self.pairs, 4), "relations": rows}


def read_curves(stored: StoredCollection, space: str) -> tuple[list[RelationCurve], bool]:
    """Return the curves of a collection's model and space, and whether they are those that ship."""
    own = stored.folder / FILE
    for path in filter(Path.exists, (own, SHIPPED)):
        try:
            rows = json.loads(path.read_text(encoding="utf-8")).get(stored.manifest.encoder.fingerprint, {}).get(space)
            if rows:
                return [RelationCurve.from_json(row) for row in rows], path != own
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is damaged; delete it, or fit again by `sciprism calibrate`") from error
    return [], True


def fit_relations(stored: StoredCollection, by: Sequence[str]) -> list[RelationCurve]:
    """Fit a curve to the papers of a collection for each of some `RELATIONS`, and write them into it.

    Raises InputError where too few papers have such a relation; nothing is written then. What was fitted before is
    replaced.
    """
    if not by or not {*by} <= {*RELATIONS}:
        unknown = next((repr(name) for name in by if name not in RELATIONS), "nothing")
        raise InputError(f"{unknown} is not one of {', '.join(RELATIONS)}")
    space, curves = choose_paper_space(stored), []
    rows = sample_rows(stored, FITTED, 0)
    papers = stored.papers(rows)
    for name in by:
        by_keys = name != "references"
        used = [place for place, paper in enumerate(papers) if getattr(paper, name) or not by_keys]
        chosen = [papers[place] for place in used]
        related = relate_by_keys([getattr(p, name) for p in chosen]) if by_keys else relate_by_citation(chosen)
        vectors = stored.read_rows(space, rows[used]).block(0, len(used))
        words = f"pairs of {len(used):,} papers of {stored.folder.name} with {name}"
        counts = count_pairs(vectors, related, stored.manifest.encoder.distance)
        curves.append(RelationCurve.fit(counts, RELATIONS[name], words))
    write_curves(stored.folder / FILE, {stored.manifest.encoder.fingerprint: {space: curves}})
    return curves


def write_curves(path: Path, curves: Mapping[str, Mapping[str, Sequence[RelationCurve]]]) -> None:
    """Write curves by the fingerprint of the model and the space."""
    rows = {name: {space: [c.to_json() for c in of] for space, of in by.items()} for name, by in curves.items()}
    write_json(path, rows, indent=None)
