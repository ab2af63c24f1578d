"""Measure how often 95% intervals hold the truth: simulated per-query scores, aggregates and paired differences.

For each cell, a population, a number of queries and a score or difference, samples are drawn again and again,
and the interval of `sciprism evaluate` and `compare` is computed for each. Next to it: the percentile bootstrap
of the same resamples, which version 0.1 printed. A share over 2,000 samples has a standard error of 0.5%.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measurement import build_parser, provenance, write_result
from sciprism.evaluation.item_scores import (
    METHOD,
    SAMPLES,
    ItemSample,
    ItemScores,
    draw_sample,
    estimate,
    resample,
    sample_difference,
    score_classes,
    score_interval,
    score_numbers,
    sum_samples,
)

Random = np.random.Generator
Draw = Callable[[Random, int], list[ItemScores]]
"""Scores of n new queries: of one system, or of two, of which the difference is meant."""
BLOCK = 50
"""Samples that share the resampled positions."""
RANKS = np.array([1 / rank for rank in range(1, 11)] + [0.0])
RANK_SHARES = np.array([0.35 * 0.6**rank for rank in range(10)])
RANK_SHARES = np.append(RANK_SHARES, 1 - RANK_SHARES.sum())


def _scores(*values: NDArray[Any]) -> list[ItemScores]:
    ids = tuple(f"q{n:05}" for n in range(len(values[0])))
    return [ItemScores(ids, np.asarray(each, dtype=float), "mean") for each in values]


def _some(random: Random, n: int, share: float) -> NDArray[np.float64]:
    """Return scores of a beta distribution, 0 for all but a share of the queries."""
    return np.where(random.random(n) < share, random.beta(1.5, 1, n), 0.0)


def _binary_pair(random: Random, n: int, gains: float, losses: float) -> list[ItemScores]:
    drawn = random.random(n)
    gained, lost, base = drawn < gains, drawn > 1 - losses, random.random(n) < 0.5
    return _scores(np.where(gained, 1, np.where(lost, 0, base)), np.where(gained, 0, np.where(lost, 1, base)))


def _graded_pair(random: Random, n: int) -> list[ItemScores]:
    base, drawn, shift = random.beta(2, 2, n), random.random(n), random.beta(1, 3, n)
    moved = np.clip(base + np.where(drawn < 0.2, shift, np.where(drawn > 0.9, -shift, 0)), 0, 1)
    return _scores(moved, base)


def _classes(random: Random, n: int, right: tuple[float, ...]) -> list[ItemScores]:
    ids, gold = tuple(f"q{i:05}" for i in range(n)), random.choice(3, n, p=[0.5, 0.3, 0.2])
    found = [np.where(random.random(n) < share, gold, random.integers(0, 3, n)) for share in right]
    return [score_classes(ids, gold, each, "f1_macro", labels=[0, 1, 2]) for each in found]


def _numbers(random: Random, n: int, aggregate: str, shares: tuple[float, ...]) -> list[ItemScores]:
    ids, gold = tuple(f"q{i:05}" for i in range(n)), random.standard_normal(n)
    noise = [math.sqrt(1 - share**2) * random.standard_normal(n) for share in shares]
    found = (share * gold + each for share, each in zip(shares, noise, strict=True))
    return [score_numbers(ids, gold, each, aggregate) for each in found]


def _mean_rank(random: Random, n: int) -> NDArray[np.float64]:
    return random.choice(RANKS, n, p=RANK_SHARES)


POPULATIONS: dict[str, tuple[Draw, float | None]] = {
    "binary, 50% right": (lambda r, n: _scores(r.random(n) < 0.5), 0.5),
    "binary, 90% right": (lambda r, n: _scores(r.random(n) < 0.9), 0.9),
    "binary, 5% right": (lambda r, n: _scores(r.random(n) < 0.05), 0.05),
    "bounded, most near 0 or 1": (lambda r, n: _scores(r.beta(0.5, 0.5, n)), 0.5),
    "bounded, 40% zeros (nDCG)": (lambda r, n: _scores(_some(r, n, 0.6)), 0.6 * 0.6),
    "bounded, 90% zeros": (lambda r, n: _scores(_some(r, n, 0.1)), 0.1 * 0.6),
    "reciprocal rank": (lambda r, n: _scores(_mean_rank(r, n)), float(RANKS @ RANK_SHARES)),
    "heavy-tailed: t, 3 degrees": (lambda r, n: _scores(r.standard_t(3, n)), 0.0),
    "heavy-tailed: log-normal": (lambda r, n: _scores(r.lognormal(0, 1, n)), math.exp(0.5)),
    "heavy-tailed: Pareto, 3": (lambda r, n: _scores(r.pareto(3, n)), 0.5),
    "macro F1, 3 classes": (lambda r, n: _classes(r, n, (0.7,)), None),
    "Pearson, 0.7": (lambda r, n: _numbers(r, n, "pearson", (0.7,)), 0.7),
    "Kendall, 0.35": (lambda r, n: _numbers(r, n, "kendall_tau", (math.sin(0.35 * math.pi / 2),)), 0.35),
    "difference, binary, 15% and 10% change": (lambda r, n: _binary_pair(r, n, 0.15, 0.1), 0.05),
    "difference, binary, 8% and 3% change": (lambda r, n: _binary_pair(r, n, 0.08, 0.03), 0.05),
    "difference, bounded, 30% change": (_graded_pair, None),
    "difference, reciprocal ranks": (lambda r, n: _scores(_mean_rank(r, n), _mean_rank(r, n)), 0.0),
    "difference, heavy-tailed: t, 3 degrees": (lambda r, n: _scores(r.standard_t(3, n), np.zeros(n)), 0.0),
    "difference, heavy-tailed: log-normal pairs": (
        lambda r, n: _scores(r.lognormal(0, 1, n), r.lognormal(0, 1, n)),
        0.0,
    ),
    "difference, macro F1": (lambda r, n: _classes(r, n, (0.7, 0.6)), None),
    "difference, Pearson": (lambda r, n: _numbers(r, n, "pearson", (0.7, 0.6)), 0.1),
}
"""What is drawn, and the mean where it is known; else it is that of a million queries."""
SLOW = ("Kendall, 0.35",)
"""Populations that are not drawn with 1,000 queries."""


def _bound(samples: list[ItemSample], n: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return our limits, and those of the percentile bootstrap."""
    parts = [{0: sample} for sample in samples]
    total = sum_samples(parts, (1, -1)[: len(parts)])
    ours = score_interval(total) if len(parts) == 1 else sample_difference(total).limits
    draws = total[0].value + (total[0].draws - total[0].value) * math.sqrt((n - 1) / n)
    low, high = np.nanquantile(draws, (0.025, 0.975))
    return ours, (float(low), float(high))


def measure(name: str, n: int, samples: int, seed: int) -> dict[str, Any]:
    """Return the coverage of both methods in one cell, and how often the truth is below or above ours."""
    random, (draw, truth) = np.random.default_rng([seed, n, sum(name.encode())]), POPULATIONS[name]
    if truth is None:
        found = [estimate(each) for each in draw(random, 1_000_000)]
        truth = found[0] - sum(found[1:])
    ids = tuple(f"q{i:05}" for i in range(n))
    limits = []
    for block in range(samples // BLOCK):
        weights = list(resample(ids, SAMPLES, seed + block))
        for _ in range(BLOCK):
            limits.append(_bound([draw_sample(each, weights) for each in draw(random, n)], n))
    low, high = np.array(limits).transpose(2, 1, 0)
    below, above = truth < low - 1e-9, truth > high + 1e-9
    covered = 100 * (1 - (below | above).mean(axis=1))
    return {
        "population": name,
        "queries": n,
        "truth": round(truth, 4),
        "samples": len(limits),
        "coverage": round(float(covered[0]), 1),
        "below": round(100 * float(below[0].mean()), 1),
        "above": round(100 * float(above[0].mean()), 1),
        "percentile": round(float(covered[1]), 1),
    }


def run(samples: int, seed: int) -> Iterator[dict[str, Any]]:
    """Yield every cell."""
    for name in POPULATIONS:
        for n in (20, 100, 1000):
            if name in SLOW and n > 100:
                continue
            cell = measure(name, n, samples if n < 1000 else samples // 2, seed)
            print(*cell.values(), sep="\t", file=sys.stderr, flush=True)
            yield cell


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--samples", type=int, default=2000, help="of each cell; half as many of 1,000 queries")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    cells = list(run(args.samples, args.seed))
    facts = provenance(["sciprism", "numpy"], method=METHOD, seed=args.seed)
    write_result(args.output, {**facts, "cells": cells})


if __name__ == "__main__":
    main()
