"""Reviewer matching: expertise against stated ratings, assignments against baselines, time and memory at scale.

expertise: 58 researchers rated their expertise on papers (Stelmakh et al. 2023); a profile is the 20 latest papers.
Scoring rules, BM25, random and the mean vector are compared by the loss of that publication; intervals and differences
by bootstrap over the researchers. No setting is chosen on these data: mean-3 is SciRepEval's rule. assignment: ICLR
2018 submissions and authors of earlier conferences, with conflicts; greedy and the linear programme without fairness
are the baselines; intervals by bootstrap over submissions. scale: synthetic vectors. Run from the repository root; each
part adds to the result file:

    SCIPRISM_DATA=... python benchmarks/matching.py expertise -o results/matching.json
    SCIPRISM_DATA=... python benchmarks/matching.py assignment -o results/matching.json
    python benchmarks/matching.py scale -o results/matching.json
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from differences import describe_score, paired_difference
from measurement import build_parser, peak_memory_mb, provenance, write_result
from sciprism import Encoder, Paper, read_papers
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import MatchInput
from sciprism.datasets.layouts.open_data import RatedReviewers
from sciprism.evaluation.item_scores import ItemScores
from sciprism.evaluation.systems import BM25System, EncodingInput
from sciprism.metrics.rankings import pair_order
from sciprism.uses.matching.assignment import (
    AssignmentProgram,
    AssignmentTask,
    PairScores,
    PairTable,
    Requirements,
    SolvedAssignment,
    find_pairs,
    solve_assignment,
)
from sciprism.uses.matching.conflicts import ConflictInput, find_conflicts
from sciprism.uses.matching.expertise import ExpertiseScorer, build_profiles, encode_papers, mean_of_best
from sciprism.uses.matching.reviewers import Authorship, Reviewer, StatedPairs
from sciprism.uses.matching.settings import MatchSettings

RULES = {"best": 1, "mean-3": 3, "mean-10": 10}
PROFILE = 20
SEED = 0


def measure_expertise(data: DataRoot) -> dict[str, Any]:
    """Return losses and errors of every scoring rule and baseline, and differences from mean-3."""
    given = RatedReviewers(path="reviewer_goldstandard", newest=PROFILE).read(data)
    encoder = Encoder.load()
    vectors = encode_papers(encoder, {"papers": given.papers})["papers"]
    scored = score_rules(given, vectors) | score_baselines(given, vectors)
    raters = [given.reviewer_ids[number] for number in given.pairs[:, 1]]
    losses, systems = {}, {}
    for name, scores in scored.items():
        order = pair_order(raters, given.ratings, scores)
        columns = np.stack([(1 - order.values) * order.weights, order.weights], axis=1)
        losses[name] = ItemScores(order.raters, columns, aggregate="weighted-mean")
        systems[name] = {"loss": describe_score(losses[name], 4)}
    differences = {name: difference(losses[name], losses["mean-3"]) for name in losses if name != "mean-3"}
    return {
        "data": {
            "reviewers": len(set(raters)),
            "pairs": len(given.pairs),
            "submissions": len(np.unique(given.pairs[:, 0])),
            "papers of a profile": PROFILE,
            "dropped": given.dropped.to_json(),
        },
        "encoder": {"name": encoder.name, "fingerprint": encoder.fingerprint},
        "systems": systems,
        "loss minus that of mean-3": differences,
    }


def score_rules(given: MatchInput, vectors: np.ndarray) -> dict[str, np.ndarray]:
    """Return the scores of all rated pairs by each scoring rule."""
    people = [
        Reviewer(id=id, papers=tuple(given.papers[row] for row in rows))
        for id, rows in zip(given.reviewer_ids, given.profiles, strict=True)
    ]
    papers, profiles = build_profiles(people)
    rows = {(paper.title, paper.abstract): row for row, paper in enumerate(given.papers)}
    own = vectors[[rows[paper.title, paper.abstract] for paper in papers]]
    scores = {rule: ExpertiseScorer(vectors, own, profiles, best).score_all() for rule, best in RULES.items()}
    return {rule: each[given.pairs[:, 0], given.pairs[:, 1]].astype(np.float64) for rule, each in scores.items()}


def score_baselines(given: MatchInput, vectors: np.ndarray) -> dict[str, np.ndarray]:
    """Return the scores of all rated pairs by a percentile, the mean vector, BM25 (mean of the best 3), at random."""
    unit = vectors.astype(np.float64) / np.linalg.norm(vectors, axis=1, keepdims=True)
    means = np.stack([unit[rows].mean(axis=0) for rows in given.profiles])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    written = np.unique(np.concatenate(given.profiles))
    rated = np.unique(given.pairs[:, 0])
    papers = EncodingInput(items=given.papers, format="proximity")
    ranked = dict(zip(rated.tolist(), BM25System().rank(papers.take(rated), papers.take(written)), strict=True))
    places = [np.searchsorted(written, rows) for rows in given.profiles]
    return {
        "percentile-75": np.array(
            [np.percentile(unit[given.profiles[r]] @ unit[p], 75) for p, r in given.pairs.tolist()]
        ),
        "mean vector": (unit[given.pairs[:, 0]] * means[given.pairs[:, 1]]).sum(axis=1),
        "bm25": np.array(
            [mean_of_best(np.asarray(ranked[p], np.float64)[None, places[r]], 3)[0] for p, r in given.pairs.tolist()]
        ),
        "random": np.random.default_rng(SEED).random(len(given.pairs)),
    }


def difference(one: ItemScores, other: ItemScores) -> dict[str, Any]:
    """Return a paired difference with its 95 % interval and p value."""
    found = paired_difference(one, other, seed=SEED)
    values = {"value": found.value, "interval": [found.low, found.high], "p": found.p}
    return {key: np.round(value, 4).tolist() for key, value in values.items()}


def read_conference(folder: Path, submissions: int, reviewers: int) -> tuple[list[Paper], list[Reviewer]]:
    """Return ICLR 2018 submissions, and as reviewers those who wrote most papers from 2013 to 2017."""
    papers = list(read_papers([folder / f"papers-{part}.jsonl.gz" for part in range(3)]))
    chosen = [paper for paper in papers if paper.venue == "ICLR" and paper.year == 2018 and paper.abstract]
    written: dict[str, list[Paper]] = defaultdict(list)
    for paper in papers:
        if paper.year is not None and 2013 <= paper.year <= 2017:
            for author in paper.authors:
                written[author].append(paper)
    most = sorted(written, key=lambda name: (-len(written[name]), name))[:reviewers]
    order = np.random.default_rng(SEED).permutation(len(chosen))[:submissions]
    people = [
        Reviewer(id=name, name=name, papers=tuple(sorted(written[name], key=lambda p: -(p.year or 0))[:PROFILE]))
        for name in most
    ]
    return [chosen[row] for row in sorted(order)], people


def measure_assignments(data: DataRoot, submissions: int, reviewers: int) -> dict[str, Any]:
    """Return the quality of the objectives and baselines, and their differences from the highest sum."""
    papers, people = read_conference(Path(data.local("conference_papers")), submissions, reviewers)
    encoder = Encoder.load()
    own, profiles = build_profiles(people)
    vectors = encode_papers(encoder, {"submissions": papers, "profiles": own})
    scores = ExpertiseScorer(vectors["submissions"], vectors["profiles"], profiles, 3).score_all()
    known = ConflictInput(papers, [Authorship()] * len(papers), people, 2016)
    found = list(find_conflicts(known))
    forbidden = tuple(np.array(sorted({(each.paper, each.reviewer) for each in found}), np.int64).reshape(-1, 2).T)
    most = -(-3 * len(papers) * 6 // (5 * len(people)))  # 20 % more than needed
    required = require(len(papers), len(people), 3, most, forbidden)
    task = AssignmentTask(required, PairScores(scores), StatedPairs(), MatchSettings())
    ids = tuple(paper.id for paper in papers)
    solved, seconds = solve_all(task)
    means = {name: ItemScores(ids, mean_by_paper(each, len(papers))[:, None], "mean") for name, each in solved.items()}
    return {
        "data": {
            "submissions": len(papers),
            "reviewers": len(people),
            "reviewers per submission": 3,
            "most submissions per reviewer": most,
            "forbidden pairs": len(forbidden[0]),
            "data": "conference_papers: ICLR 2018; authors of most papers of 2013 to 2017",
        },
        "encoder": {"name": encoder.name, "fingerprint": encoder.fingerprint},
        "assignments": {
            name: {
                "mean score": describe_score(means[name], 4),
                "worst submission": round(float(means[name].columns.min()), 4),
                "seconds": round(seconds[name], 2),
            }
            for name in means
        },
        "upper bound of the worst submission": round((solved["fair"].bound or 0) / 3, 4),
        "mean score minus that of the highest sum": {
            name: difference(means[name], means["sum"]) for name in means if name != "sum"
        },
    }


def solve_all(task: AssignmentTask) -> tuple[dict[str, SolvedAssignment], dict[str, float]]:
    """Return the assignments of all objectives, of greedy and at random, and their seconds."""
    pairs = find_pairs(task)
    shuffled = replace(pairs, scores=np.random.default_rng(SEED).random(len(pairs)))

    def by(objective: str, **more: Any) -> Callable[[], SolvedAssignment]:
        settings = MatchSettings(objective=objective, **more)  # type: ignore[arg-type]
        return lambda: solve_assignment(replace(task, settings=settings))

    def greedy(order: PairTable) -> Callable[[], SolvedAssignment]:
        def run() -> SolvedAssignment:
            """Take the best pairs while there is room; change as few as possible where a submission lacks some."""
            taken = take_greedily(task.required, order)
            solved = AssignmentProgram(task.required, order).solve(taken + 1e-3 * order.scores)
            found = pairs.take(np.flatnonzero(solved > 0.5))
            return SolvedAssignment(pairs=found, values=found.scores, all=pairs, all_values=pairs.scores)

        return run

    runs = {
        "random": greedy(shuffled),
        "greedy": greedy(pairs),
        "sum": by("sum"),
        "fair": by("fair"),
        "veto, probability 0.8": by("fair", max_probability=0.8),
        "veto, probability 0.5": by("fair", max_probability=0.5),
    }
    found, seconds = {}, {}
    for name, run in runs.items():
        start = time.perf_counter()
        found[name] = run()
        seconds[name] = time.perf_counter() - start
    return found, seconds


def take_greedily(required: Requirements, pairs: PairTable) -> np.ndarray:
    """Return which pairs are taken, the highest scores first, while submission and reviewer have room."""
    needs, room, taken = required.needs.copy(), required.most.copy(), np.zeros(len(pairs))
    for pair in np.argsort(-pairs.scores, kind="stable").tolist():
        paper, reviewer = pairs.papers[pair], pairs.reviewers[pair]
        if needs[paper] and room[reviewer]:
            taken[pair] = 1
            needs[paper] -= 1
            room[reviewer] -= 1
    return taken


def mean_by_paper(solved: SolvedAssignment, papers: int) -> np.ndarray:
    """Return the mean score of each submission's reviewers."""
    counts = np.bincount(solved.pairs.papers, minlength=papers)
    return np.bincount(solved.pairs.papers, solved.pairs.scores, minlength=papers) / counts


def require(papers: int, reviewers: int, needs: int, most: int, forbidden: Any) -> Requirements:
    """Return requirements with equal needs and loads."""
    return Requirements(
        paper_ids=[f"paper {row}" for row in range(papers)],
        reviewer_ids=[f"reviewer {row}" for row in range(reviewers)],
        needs=np.full(papers, needs, np.int64),
        least=np.zeros(reviewers, np.int64),
        most=np.full(reviewers, most, np.int64),
        forbidden=forbidden,
    )


def measure_scale(size: int, papers: int = PROFILE, dim: int = 384) -> dict[str, Any]:
    """Return seconds and memory of `size` submissions and as many reviewers with `papers` papers each.

    Vectors are topics with noise, 100 topics; a tenth of a percent of the pairs is forbidden at random.
    """
    rng = np.random.default_rng(SEED)
    topics = rng.standard_normal((100, dim), dtype=np.float32)

    def sample(labels: np.ndarray) -> np.ndarray:
        return topics[labels] + rng.standard_normal((len(labels), dim), dtype=np.float32)

    submissions = sample(rng.integers(0, len(topics), size))
    written = sample(np.repeat(rng.integers(0, len(topics), size), papers))
    profiles = [np.arange(row * papers, (row + 1) * papers) for row in range(size)]
    count = size * size // 1000
    required = require(size, size, 3, 4, (rng.integers(0, size, count), rng.integers(0, size, count)))
    found: dict[str, Any] = {}
    for objective in ("sum", "fair"):
        start = time.perf_counter()
        scores = PairScores(ExpertiseScorer(submissions, written, profiles, 3).score_all())
        scored = time.perf_counter()
        settings = MatchSettings(objective=objective, candidates=50)  # type: ignore[arg-type]
        solved = solve_assignment(AssignmentTask(required, scores, StatedPairs(), settings))
        end = time.perf_counter()
        found[objective] = {
            "seconds": round(end - start, 1),
            "stages": {"scoring": round(scored - start, 2), "assigning": round(end - scored, 2)},
            "pairs considered": len(solved.all),
            "mean score": round(float(solved.values.mean()), 4),
            "worst submission": round(float(np.bincount(solved.pairs.papers, solved.values).min()) / 3, 4),
            "upper bound of the worst submission": None if solved.bound is None else round(solved.bound / 3, 4),
            "peak memory so far, MB": peak_memory_mb(),
        }
        print(objective, found[objective], flush=True)
    return {
        "data": {"submissions": size, "reviewers": size, "papers of a reviewer": papers, "dim": dim, "synthetic": True},
        "objectives": found,
        "peak memory, MB": peak_memory_mb(),
    }


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("part", choices=("expertise", "assignment", "scale"))
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    result = run_part(options)
    print(json.dumps(result, indent=1))
    packages = ("scipy", "numpy", "torch")
    write_result(options.output, {**provenance(packages, seed=SEED), **result}, options.part)


def run_part(options: argparse.Namespace) -> dict[str, Any]:
    if options.part == "scale":
        return measure_scale(10_000)
    data = DataRoot(options.data or os.environ.get("SCIPRISM_DATA"))
    if options.part == "expertise":
        return measure_expertise(data)
    return measure_assignments(data, 500, 300)


if __name__ == "__main__":
    main()
