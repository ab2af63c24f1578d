"""Measure what `sciprism similar --calibrated` says of pairs of papers, against raw cosines and a logistic fit.

A shared arXiv category: fitted to papers of 2018, measured on papers of 2019, of 17 fields. A citation: fitted to one
half of the IEEE visualization papers from 2017 on, measured on the other. No paper is in both; none trained a model.

    SCIPRISM_DATA=... python benchmarks/calibration.py -o results/calibration.json --ship
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from citation_data import read_cited_papers
from measurement import build_parser, provenance, write_result
from sciprism import Encoder, Paper, read_papers
from sciprism.arrays import Doubles, Floats
from sciprism.datasets.data_root import DataRoot
from sciprism.seeding import random_fraction
from sciprism.uses.calibration import (
    SHIPPED,
    PairCounts,
    Related,
    RelationCurve,
    count_pairs,
    relate_by_citation,
    relate_by_keys,
    write_curves,
)

MODELS = ("sciprism-small", "all-MiniLM-L6-v2")
PRECISION = "bfloat16"  # what `embed` chooses where the processor has it
PAPERS = 6000  # of arXiv, of each year
FIRST_YEAR = 2017  # of visualization papers
FIELDS = ("Computer Science", "Astronomy and Space Science", "Mathematics", "Economics and Finance", "Biology")
FIELDS += ("Statistics",)
Predict = Callable[[Doubles], Doubles]


@dataclass(frozen=True)
class PaperSet:
    """Papers with their vectors, and how two of them are related."""

    papers: Sequence[Paper]
    vectors: Floats
    relate: Callable[[Sequence[Any]], Related]

    def select(self, rows: NDArray[np.int64]) -> PaperSet:
        return PaperSet([self.papers[row] for row in rows], self.vectors[rows], self.relate)

    def count(self) -> PairCounts:
        return count_pairs(self.vectors, self.relate(self.papers))


def read_arxiv(data: DataRoot) -> tuple[list[Paper], list[str], list[str]]:
    """Return papers of 2018 and 2019, whose fields are a broad one and categories, their broad fields and the years."""
    papers, fields, splits = [], [], []
    for path in sorted((data.folder / "arxiv_multidomain").glob("papers-*")):
        for record, paper in zip(data.records(path), read_papers(str(path)), strict=True):
            if record["split"] != "train":
                papers.append(paper)
                fields.append(record["field"])
                splits.append(record["split"])
    draw, chosen = np.random.default_rng(0), []
    for split in ("dev", "test"):
        rows = np.flatnonzero(np.array(splits) == split)
        chosen += sorted(draw.permutation(rows)[:PAPERS].tolist())
    return [papers[row] for row in chosen], [fields[row] for row in chosen], [splits[row] for row in chosen]


def fit_logistic(counts: PairCounts) -> Predict:
    """Return a logistic function of the similarity."""

    def loss(weights: Doubles) -> float:
        odds = weights[0] + weights[1] * counts.scores
        return float((counts.pairs * np.logaddexp(0, odds) - counts.related * odds).sum() / counts.pairs.sum())

    first, slope = minimize(loss, [-3.0, 1.0]).x
    return lambda scores: 1 / (1 + np.exp(-first - slope * scores))


def score(predict: Predict, counts: PairCounts) -> dict[str, float]:
    """Return the Brier score of all pairs, and its skill over their base rate."""
    p, others = np.broadcast_to(predict(counts.scores), counts.scores.shape), counts.pairs - counts.related
    total = counts.pairs.sum()
    brier = float((counts.related * (1 - p) ** 2 + others * p**2).sum() / total)
    base = counts.base_rate
    return {"brier": round(brier, 6), "skill": round(1 - brier / (base * (1 - base)), 4)}


def shift(curve: RelationCurve, others: PaperSet) -> dict[str, Any]:
    """Return scores on a collection unlike that of the fit: as it is, by other prior odds, fitted there."""
    counts = others.count()

    def correct(scores: Doubles) -> Doubles:
        p, new, old = curve.curve.apply(scores), counts.base_rate, curve.base_rate
        odds = p / (1 - p) * (new / (1 - new)) / (old / (1 - old))
        return odds / (1 + odds)

    own = RelationCurve.fit(counts, "", "")
    predictions = {"curve": curve.curve.apply, "curve, true prior odds": correct, "fitted there": own.curve.apply}
    facts = {"papers": len(others.papers), "base_rate": round(counts.base_rate, 5), "median": round(own.median, 4)}
    return facts | {name: score(predict, counts) for name, predict in predictions.items()}


def measure(fit: PaperSet, test: PaperSet, relation: str, pairs: str) -> tuple[RelationCurve, dict[str, Any]]:
    """Return the curve, and its scores on other papers next to those of raw cosines and a logistic fit."""
    counts, tested = fit.count(), test.count()
    curve = RelationCurve.fit(counts, relation, pairs)
    predictions: dict[str, Predict] = {
        "base rate of the fit": lambda scores: np.full(len(scores), counts.base_rate),
        "cosine, clipped": lambda scores: np.clip(scores, 0, 1),
        "logistic": fit_logistic(counts),
        "isotonic": curve.curve.apply,
    }
    return curve, {
        "fit": {"papers": len(fit.papers), "pairs": int(counts.pairs.sum()), "base_rate": round(counts.base_rate, 5)},
        "test": {"papers": len(test.papers), "pairs": int(tested.pairs.sum()), "base_rate": round(tested.base_rate, 5)},
        "scores": {name: score(predict, tested) for name, predict in predictions.items()},
    }


def main() -> None:
    """Measure all models, and write the result; with --ship, write the curves that come with the package too."""
    parser = build_parser(__doc__, data=True)
    parser.add_argument("--ship", action="store_true", help=f"Write {SHIPPED.name}.")
    arguments = parser.parse_args()
    data = DataRoot(arguments.data)
    arxiv, fields, splits = read_arxiv(data)
    vis = [paper for paper in read_cited_papers(data.folder, "vis") if (paper.year or 0) >= FIRST_YEAR]
    cacm = read_cited_papers(data.folder, "cacm")
    results: dict[str, Any] = {}
    shipped = {}
    for model in MODELS:
        encoder = Encoder.load(model, precision=PRECISION)
        all_arxiv = PaperSet(arxiv, encoder.encode(arxiv), lambda p: relate_by_keys([each.fields[1:] for each in p]))
        fit, test = (all_arxiv.select(np.flatnonzero(np.array(splits) == split)) for split in ("dev", "test"))
        words = f"pairs of {len(fit.papers):,} arXiv papers of 2018 of 17 fields"
        category, of_category = measure(fit, test, "they share an arXiv category", words)
        of_category["one_field"] = {
            name: shift(category, all_arxiv.select(np.flatnonzero(np.array(fields) == name))) for name in FIELDS
        }
        linked = PaperSet(vis, encoder.encode(vis), relate_by_citation)
        half = np.array([random_fraction(0, paper.id) < 0.5 for paper in vis])
        fit, test = (linked.select(np.flatnonzero(half == side)) for side in (True, False))
        words = f"pairs of {len(fit.papers):,} IEEE visualization papers of 2017 to 2024"
        citation, of_citation = measure(fit, test, "one cites the other", words)
        other = PaperSet(cacm, encoder.encode(cacm), relate_by_citation)
        of_citation["other_field"] = {"Communications of the ACM, 1958 to 1979": shift(citation, other)}
        space = encoder.space("proximity", "paper")
        results[model] = {
            "fingerprint": encoder.fingerprint,
            "space": space,
            "shared arXiv category": of_category,
            "citation": of_citation,
        }
        shipped[encoder.fingerprint] = {space: [category, citation]}
    if arguments.ship:
        write_curves(SHIPPED, shipped)
    packages = ["sciprism", "numpy", "scipy", "torch"]
    write_result(arguments.output, provenance(packages, seed=0, precision=PRECISION, models=results))


if __name__ == "__main__":
    main()
