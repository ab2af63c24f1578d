"""Linear probes: ours against scikit-learn's GridSearchCV over LinearSVC and LinearSVR.

The vectors are made up: of length 1, in overlapping clusters with a spectrum that falls as encoders' do, so
that some papers of every class cannot be told apart. Both sides search the same grid of C with the same folds
and fit an intercept. Both run once on a few rows before the clock starts. Next to each ratio is the agreement
of the results: the chosen C, the scores of the folds, the score on papers that neither has seen. Run from
the repository root:

    python benchmarks/probe.py -o results/probe.json
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
import torch
from scipy.stats import kendalltau
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC, LinearSVR

from measurement import build_parser, format_ratio, provenance, ratio, write_result
from sciprism.probes import ProbeSettings, fit_probes, grid_search

GRID = ProbeSettings().grid
SHOTS, SUBSETS = 64, 100
PEER, OURS = "scikit-learn", "sciprism"


@dataclass(frozen=True)
class ProbeResult:
    """What one contender found: predictions for the test papers, C, and the scores of the folds."""

    guesses: np.ndarray
    best: list[float]
    scores: np.ndarray


@dataclass(frozen=True)
class Case:
    """One comparison: its contenders get the number of rows, and measure compares guesses with the truth."""

    name: str
    rows: int
    contenders: dict[str, Callable[[int], ProbeResult]]
    measure: Callable[[np.ndarray], float]


def build_clusters(rows: int, dim: int, classes: int, apart: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return unit vectors (rows, dim) and the class (rows,) of each."""
    numbers = np.random.default_rng(seed)
    spread = 1 / np.sqrt(1 + np.arange(dim))
    turn, _ = np.linalg.qr(numbers.normal(size=(dim, dim)))
    centres = apart * spread.mean() * numbers.normal(size=(classes, dim))
    labels = numbers.integers(0, classes, rows)
    vectors = (numbers.normal(size=(rows, dim)) * spread + centres[labels]) @ turn.T + 0.3
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), labels


def peer_search(model: Any, train: np.ndarray, targets: np.ndarray, test: np.ndarray, jobs: int) -> ProbeResult:
    """Run scikit-learn's grid search."""
    search = GridSearchCV(model, {"C": list(GRID)}, cv=3, n_jobs=jobs)
    search.fit(train, targets)
    scores = np.stack([search.cv_results_[f"split{fold}_test_score"] for fold in range(3)], axis=1)
    return ProbeResult(search.predict(test), [search.best_params_["C"]], scores)


def our_search(settings: ProbeSettings, train: np.ndarray, targets: np.ndarray, test: np.ndarray) -> ProbeResult:
    """Run our grid search."""
    fitted = grid_search(train, targets, settings)
    guesses = fitted.probe.predict(test)
    return ProbeResult(guesses.reshape(len(test)), fitted.best.tolist(), fitted.scores[:, :, 0])


def class_case(args: argparse.Namespace) -> Case:
    """One class per paper, squared hinge."""
    held = args.rows // 4
    vectors, labels = build_clusters(args.rows + held, args.dim, args.classes, args.apart, args.seed)
    test, truth = vectors[args.rows :], labels[args.rows :]
    settings = ProbeSettings(intercept=True)
    contenders = {
        PEER: lambda n: peer_search(LinearSVC(dual="auto"), vectors[:n], labels[:n], test, args.jobs),
        OURS: lambda n: our_search(settings, vectors[:n], labels[:n], test),
    }
    name = f"{args.classes} classes, squared hinge"
    return Case(name, args.rows, contenders, lambda found: f1_score(truth, found, average="macro"))


def label_case(args: argparse.Namespace) -> Case:
    """One label, there or not, hinge."""
    rows = args.rows // 5
    vectors, labels = build_clusters(rows + rows // 4, args.dim, args.classes, args.apart, args.seed)
    labels_of_rows = (labels < max(1, args.classes // 4)).astype(np.int64)
    test, truth = vectors[rows:], labels_of_rows[rows:]
    settings = ProbeSettings(loss="hinge", intercept=True)
    model = LinearSVC(loss="hinge", random_state=42)
    contenders = {
        PEER: lambda n: peer_search(model, vectors[:n], labels_of_rows[:n], test, args.jobs),
        OURS: lambda n: our_search(settings, vectors[:n], labels_of_rows[:n], test),
    }
    return Case("1 label, hinge", rows, contenders, lambda found: f1_score(truth, found, average="macro"))


def value_case(args: argparse.Namespace) -> Case:
    """One number per paper, absolute errors."""
    rows = args.rows // 5
    vectors, _ = build_clusters(rows + rows // 4, args.dim, args.classes, args.apart, args.seed)
    numbers = np.random.default_rng(args.seed)
    values = vectors @ numbers.normal(size=args.dim) + 0.5 * numbers.normal(size=len(vectors))
    test, truth = vectors[rows:], values[rows:]
    settings = ProbeSettings(loss="epsilon_insensitive", intercept=True)
    model = LinearSVR(epsilon=0.0, random_state=42)
    contenders = {
        PEER: lambda n: peer_search(model, vectors[:n], values[:n], test, args.jobs),
        OURS: lambda n: our_search(settings, vectors[:n], values[:n], test),
    }
    return Case("1 value, absolute error", rows, contenders, lambda found: kendalltau(truth, found).statistic)


def few_case(args: argparse.Namespace) -> Case:
    """Many subsets of a few papers, C = 1."""
    rows = args.rows // 5
    vectors, labels = build_clusters(rows + rows // 4, args.dim, args.classes, args.apart, args.seed)
    labels_of_rows = (labels < args.classes // 2).astype(np.int64)
    test, truth = vectors[rows:], np.tile(labels_of_rows[rows:], SUBSETS)
    numbers = np.random.default_rng(args.seed)
    subsets = [numbers.permutation(rows)[:SHOTS] for _ in range(SUBSETS)]

    def peer(_: int) -> ProbeResult:
        models = [LinearSVC(fit_intercept=False).fit(vectors[rows], labels_of_rows[rows]) for rows in subsets]
        return ProbeResult(np.concatenate([model.predict(test) for model in models]), [1.0], np.zeros(1))

    def ours(_: int) -> ProbeResult:
        probes = fit_probes(vectors, labels_of_rows, subsets)
        return ProbeResult(np.concatenate([probe.predict(test) for probe in probes]), [1.0], np.zeros(1))

    name = f"{SUBSETS} subsets of {SHOTS} papers"
    return Case(name, rows, {PEER: peer, OURS: ours}, lambda found: f1_score(truth, found))


def compare(case: Case, rounds: int) -> dict[str, Any]:
    """Time both sides in rounds and compare their results."""
    seconds: dict[str, list[float]] = {name: [] for name in case.contenders}
    found: dict[str, ProbeResult] = {}
    for run in case.contenders.values():
        run(min(case.rows, 300))
    for _ in range(rounds):
        for name, run in case.contenders.items():
            start = time.perf_counter()
            found[name] = run(case.rows)
            seconds[name].append(time.perf_counter() - start)
    peer, ours = found[PEER], found[OURS]
    return {
        "case": case.name,
        "rows": case.rows,
        "seconds": {name: [round(s, 3) for s in each] for name, each in seconds.items()},
        "times_faster": ratio(seconds[PEER], seconds[OURS]),
        "best_C": {PEER: peer.best, OURS: ours.best},
        "fold_scores_apart": round(float(np.abs(peer.scores - ours.scores).max()), 6),
        "score": {name: round(float(case.measure(each.guesses)), 5) for name, each in found.items()},
    }


def print_comparison(facts: dict[str, Any]) -> None:
    """Print one comparison."""
    faster, score = facts["times_faster"], facts["score"]
    print(
        f"{facts['case']:<30} {facts['rows']:>6} rows   {median(facts['seconds'][PEER]):8.2f} s -> "
        f"{median(facts['seconds'][OURS]):7.2f} s   {format_ratio(faster)}"
        f"   score {score[PEER]:.4f} {score[OURS]:.4f}   C {facts['best_C'][PEER]} "
        f"{facts['best_C'][OURS]}   folds apart {facts['fold_scores_apart']:.5f}",
        flush=True,
    )


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="of classes; the other cases take a fifth")
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--apart", type=float, default=0.08, help="distance of the clusters")
    parser.add_argument("--jobs", type=int, default=torch.get_num_threads(), help="of scikit-learn")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    measured = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn's: it stops before it has converged
        for name in args.cases:
            measured.append(compare(CASES[name](args), args.rounds))
            print_comparison(measured[-1])
    if args.output:
        settings = {name: getattr(args, name) for name in ("dim", "classes", "apart", "jobs", "rounds", "seed")}
        write_result(
            args.output,
            provenance(["torch", "numpy", "scikit-learn"], **settings, device="cpu", measured=measured),
        )


CASES: dict[str, Callable[[argparse.Namespace], Case]] = {
    "classes": class_case,
    "label": label_case,
    "value": value_case,
    "few": few_case,
}

if __name__ == "__main__":
    main()
