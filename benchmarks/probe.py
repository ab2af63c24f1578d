"""Linear probes: ours against scikit-learn's GridSearchCV over LinearSVC.

The vectors are made up: of length 1, in overlapping clusters with a spectrum that falls as encoders' do, so
that some papers of every class cannot be told apart. Both sides search the same grid of C with the same folds
and fit an intercept. Both run once on a few rows before the clock starts. Next to each ratio is the agreement
of the results: the chosen C, the scores of the folds, the score on papers that neither has seen. Run from
the repository root:

    python benchmarks/probe.py -o results/probe.json
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from measurement import build_parser, format_ratio, interleave, provenance, ratio, write_result
from sciprism.probes import ProbeSettings, grid_search

GRID = ProbeSettings().grid
PEER, OURS = "scikit-learn", "sciprism"


@dataclass(frozen=True)
class ProbeResult:
    """What one contender found: predictions for the test papers, C, and the scores of the folds."""

    guesses: np.ndarray
    best: list[float]
    scores: np.ndarray


Contenders = dict[str, Callable[[int], ProbeResult]]
"""Name -> what fits so many of the training rows."""


def build_clusters(rows: int, dim: int, classes: int, apart: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return unit vectors (rows, dim) and the class (rows,) of each."""
    numbers = np.random.default_rng(seed)
    spread = 1 / np.sqrt(1 + np.arange(dim))
    turn, _ = np.linalg.qr(numbers.normal(size=(dim, dim)))
    centres = apart * spread.mean() * numbers.normal(size=(classes, dim))
    labels = numbers.integers(0, classes, rows)
    vectors = (numbers.normal(size=(rows, dim)) * spread + centres[labels]) @ turn.T + 0.3
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), labels


def macro_f1(truth: np.ndarray, guesses: np.ndarray) -> float:
    return float(f1_score(truth, guesses, average="macro"))


def search_contenders(vectors: np.ndarray, targets: np.ndarray, test: np.ndarray, jobs: int) -> Contenders:
    """Return both grid searches."""
    settings = ProbeSettings(loss="squared_hinge", intercept=True)

    def peer(n: int) -> ProbeResult:
        found = GridSearchCV(LinearSVC(dual="auto"), {"C": list(GRID)}, cv=3, n_jobs=jobs).fit(vectors[:n], targets[:n])
        scores = np.stack([found.cv_results_[f"split{fold}_test_score"] for fold in range(3)], axis=1)
        return ProbeResult(found.predict(test), [found.best_params_["C"]], scores)

    def ours(n: int) -> ProbeResult:
        found = grid_search(vectors[:n], targets[:n], settings)
        guesses = found.probe.predict(test).reshape(len(test))
        return ProbeResult(guesses, found.best.tolist(), found.scores[:, :, 0])

    return {PEER: peer, OURS: ours}


def compare(args: argparse.Namespace) -> dict[str, Any]:
    """Time both sides in rounds and compare their results."""
    rows = args.rows
    vectors, targets = build_clusters(rows + rows // 4, args.dim, args.classes, args.apart, args.seed)
    contenders = search_contenders(vectors[:rows], targets[:rows], vectors[rows:], args.jobs)
    for run in contenders.values():
        run(min(rows, 300))
    found: dict[str, ProbeResult] = {}

    def fit(who: str) -> None:
        found[who] = contenders[who](rows)

    seconds = interleave({who: partial(fit, who) for who in contenders}, args.rounds, warm=False)
    return {
        "rows": rows,
        "seconds": {who: [round(s, 3) for s in each] for who, each in seconds.items()},
        "times_faster": ratio(seconds[PEER], seconds[OURS]),
        "best_C": {who: each.best for who, each in found.items()},
        "fold_scores_apart": round(float(np.abs(found[PEER].scores - found[OURS].scores).max()), 6),
        "score": {who: round(macro_f1(targets[rows:], each.guesses), 5) for who, each in found.items()},
    }


def print_comparison(facts: dict[str, Any]) -> None:
    """Print one comparison."""
    faster, score = facts["times_faster"], facts["score"]
    print(
        f"{facts['rows']:>6} rows   {median(facts['seconds'][PEER]):8.2f} s -> "
        f"{median(facts['seconds'][OURS]):7.2f} s   {format_ratio(faster)}"
        f"   score {score[PEER]:.4f} {score[OURS]:.4f}   C {facts['best_C'][PEER]} "
        f"{facts['best_C'][OURS]}   folds apart {facts['fold_scores_apart']:.5f}",
        flush=True,
    )


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--apart", type=float, default=0.08, help="distance of the clusters")
    parser.add_argument("--jobs", type=int, default=torch.get_num_threads(), help="of scikit-learn")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's: it stops before it has converged
        measured = compare(args)
    print_comparison(measured)
    settings = {name: getattr(args, name) for name in ("dim", "classes", "apart", "jobs", "rounds", "seed")}
    write_result(args.output, provenance(["torch", "numpy", "scikit-learn"], **settings, measured=[measured]))


if __name__ == "__main__":
    main()
