"""Measure `sciprism dedupe` on four reviews with hand-labelled duplicates, against other rules.

The shipped weights were estimated on these reviews, so those estimated on the other three are measured too.

    python benchmarks/dedupe.py --data DATA [--fit] [--scale 1000000]
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from sciprism.papers import Paper, read_papers
from sciprism.uses.deduplication.candidates import CandidateFinder
from sciprism.uses.deduplication.comparison import cite, compare

FOLDER = "dedup_sr_libraries"
POSITIVE = {"equal", "equal, short", "spelling", "like", "abbreviated", "first equal", "part", "more words", "0.9"}
POSITIVE |= {"first and most"}
NEGATIVE = {"differs", "none", "far", "2 apart", "0.5", "0.7", "0.8", "generic"}
FREE = {("title", "0.9"), ("title", "more words"), ("abstract", "0.7"), ("journal", "part")}
PENALTY, SHARE = 1.0, 0.7  # of the distance from this share of the log likelihood ratios
SHARED_ID = 6.0  # at least; supplements of conferences share a DOI, so that a title that differs still decides


def load(data: Path) -> tuple[list[Paper], list[str], list[str]]:
    """Return the records, and of each its collection and the cluster of its paper."""
    path = data / FOLDER / "records.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return (
        list(read_papers(str(path))),
        [row["collection"] for row in rows],
        [row["cluster"] or row["id"] for row in rows],
    )


def sample_pairs(papers: Sequence[Paper], collections: Sequence[str], clusters: Sequence[str]):
    """Return the levels of all candidate pairs, whether each is a duplicate, and its collection."""
    levels, same, where = [], [], []
    for name in sorted(set(collections)):
        rows = [row for row, collection in enumerate(collections) if collection == name]
        records, finder = [cite(papers[row]) for row in rows], CandidateFinder()
        for record in records:
            finder.add(record)
        for one, other in finder.find():
            levels.append(compare(records[one], records[other]))
            same.append(clusters[rows[one]] == clusters[rows[other]])
            where.append(name)
    return levels, np.array(same), np.array(where)


def fit(levels, same):
    """Return weights: log likelihood ratios of the levels, adjusted by a penalised logistic regression.

    Fields are not independent given the class, so the ratios alone count one fact several times.
    """
    names = sorted({item for row in levels for item in row.items()})
    features = np.array([[float(row.get(field) == level) for field, level in names] for row in levels])
    weight_of = {True: features[same].sum(0) + 0.5, False: features[~same].sum(0) + 0.5}
    start = np.zeros(len(names))
    for field in {field for field, _ in names}:
        rows = [row for row, name in enumerate(names) if name[0] == field]
        totals = {c: weight_of[c][rows].sum() if len(rows) > 1 else (same == c).sum() for c in (True, False)}
        start[rows] = np.log(weight_of[True][rows] / totals[True]) - np.log(weight_of[False][rows] / totals[False])
    bounds = [
        (SHARED_ID, None) if name == ("ids", "equal") else (None, None) if name in FREE
        else (0, None) if name[1] in POSITIVE else (None, 0) if name[1] in NEGATIVE else (None, None)
        for name in names
    ]  # fmt: skip
    start = np.clip(
        SHARE * start, *(np.array([b[n] if b[n] is not None else s * 20 for b in bounds]) for n, s in ((0, -1), (1, 1)))
    )

    def loss(values):
        odds = features @ values[:-1] + values[-1]
        error = 1 / (1 + np.exp(-odds)) - same
        likelihood = np.where(same, np.logaddexp(0, -odds), np.logaddexp(0, odds)).sum()
        distance = values[:-1] - start
        gradient = np.append(features.T @ error + PENALTY * distance, error.sum())
        return likelihood + PENALTY / 2 * (distance**2).sum(), gradient

    found = minimize(loss, np.append(start, -3.0), jac=True, bounds=[*bounds, (None, 0)], method="L-BFGS-B").x
    weights: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for (field, level), value in zip(names, found, strict=False):
        weights[field][level] = round(float(value), 1)
    weights["prior"][""] = round(float(found[-1]), 1)
    return weights


def score(groups: Iterable[Sequence[int]], clusters: Sequence[str]) -> dict[str, float]:
    """Return counts: pairs found, right and missed, records removed, and those of another paper than the one kept."""
    groups = [list(group) for group in groups]
    pairs = {pair for group in groups for pair in combinations(sorted(group), 2)}
    rows = defaultdict(list)
    for row, cluster in enumerate(clusters):
        rows[cluster].append(row)
    true = {pair for group in rows.values() for pair in combinations(group, 2)}
    lost = sum(len({clusters[row] for row in group}) - 1 for group in groups)
    right = len(pairs & true)
    return {
        "records": len(clusters),
        "pairs": len(true),
        "found": len(pairs),
        "right": right,
        "precision": right / max(1, len(pairs)),
        "recall": right / max(1, len(true)),
        "removed": sum(len(group) - 1 for group in groups),
        "duplicates": len(clusters) - len(rows),
        "wrongly_removed": lost,
    }
