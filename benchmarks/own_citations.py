"""One's own citations: what the guide's recipe gains over the untouched model on papers of later years.

Three collections with their references: visualization, computational linguistics, and CACM, of whose links the later
paper is the citing one. Papers before FIRST[collection] are those that somebody has: triplets are sampled of them, a
share of their citing papers is dev. Papers from that year on are the test: each ranks all papers that are not later
than it, and what it cites is relevant. No test paper is in training. Score: average precision, times 100; differences
to the untouched model are paired by paper, those of seeds averaged before; intervals: bootstrap over papers.

`visible` was written before any test score was: the difference that the test finds in 80 of 100 cases, 2.8 standard
errors of the paired difference of two untouched models (the backbone and sciprism-small) on the earlier papers, at
the number of test papers. A run that exists is not trained again. Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/own_citations.py RUNS -o results/own_citations.json
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from citation_data import CACM, list_citations, read_cited_papers
from differences import describe_difference, describe_score
from measurement import build_parser, provenance, write_result
from run_summary import summarize_run
from sciprism import Encoder, Paper
from sciprism.encoders.methods.linear_adapter import LinearAdapter
from sciprism.evaluation.item_scores import ItemScores
from sciprism.training.loop import Hooks
from sciprism.training.plan import plan_training
from sciprism.training.recipe_file import read_recipe
from sciprism.training.run import train
from study import run_command

FIRST = {"vis": 2021, "acl": 2008, "cacm": 1977}
"""The first year of the test papers: about a fifth of the papers with references."""
RECIPE = Path("recipes/laptop/citations.toml")
BACKBONE, OTHER = "all-MiniLM-L6-v2", "sciprism-small"
MAX_LENGTH = 128
DETECTED = 2.8
"""Standard errors of a difference that is found in 80 of 100 cases at 5 %, two-sided."""
PREPARE = ("--hold-out", "queries", "--dev", "0.2")


@dataclass(frozen=True)
class Collection:
    """Papers, and for each the rows of the papers that it cites."""

    papers: list[Paper]
    cited: list[frozenset[int]]

    def queries(self, first: int, last: int = 10_000) -> list[int]:
        """Return the rows of the papers of some years that cite others."""
        return [row for row, paper in enumerate(self.papers) if self.cited[row] and first <= year(paper) <= last]


def year(paper: Paper) -> int:
    return paper.year or 0


def load_collection(name: str, data: Path) -> Collection:
    """Return a collection; of two linked papers of CACM the later one cites."""
    papers = read_cited_papers(data, name)
    cited: list[set[int]] = [set() for _ in papers]
    for citing, older in list_citations(papers):
        if name == CACM and year(papers[citing]) < year(papers[older]):
            citing, older = older, citing
        if year(papers[older]) <= year(papers[citing]):
            cited[citing].add(older)
    return Collection(papers, [frozenset(rows) for rows in cited])


def share_texts() -> None:
    """Let all models of this process read each text once: they have one frozen backbone."""
    remembered: dict[tuple[bool, bytes], torch.Tensor] = {}
    LinearAdapter.remember_texts = lambda method: setattr(method, "_remembered", remembered)  # type: ignore[method-assign]


def write_triplets(collection: Collection, first: int, folder: Path, options: Sequence[str] = PREPARE) -> None:
    """Write the papers before a year, and triplets of them. options: of `prepare citations`."""
    if (folder / "triplets" / "citations.json").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row for row, paper in enumerate(collection.papers) if year(paper) < first]
    with (folder / "papers.jsonl").open("w", encoding="utf-8") as file:
        for row in rows:
            paper = collection.papers[row]
            references = [collection.papers[other].id for other in sorted(collection.cited[row])]
            facts = {"id": paper.id, "title": paper.title, "abstract": paper.abstract, "references": references}
            file.write(json.dumps(facts) + "\n")
    run_command("prepare", "citations", folder / "papers.jsonl", "-o", folder / "triplets", *options)


def encode(model: str | Path, collection: Collection, stored: Path) -> np.ndarray:
    """Return the vectors of all papers, (n, d), of length 1; those in the file `stored` if it exists."""
    if not stored.exists():
        encoder = Encoder.load(model, max_length=MAX_LENGTH)
        encoder.method.remember_texts()
        np.save(stored, encoder.encode(collection.papers, format="proximity", normalize_embeddings=True))
    return np.load(stored)


def score(vectors: np.ndarray, collection: Collection, queries: Sequence[int]) -> ItemScores:
    """Return the average precision of each query, times 100, among all papers that are not later than it."""
    years = np.array([year(paper) for paper in collection.papers])
    found = []
    for row in queries:
        scores = vectors @ vectors[row]
        scores[(years > years[row]) | (np.arange(len(years)) == row)] = -np.inf
        order = np.argsort(-scores, kind="stable")
        ranks = 1 + np.flatnonzero(np.isin(order, list(collection.cited[row])))
        found.append(100 * float(np.mean(np.arange(1, len(ranks) + 1) / ranks)))
    return ItemScores(tuple(collection.papers[row].id for row in queries), np.array(found)[:, None], "mean")


def average(scores: Sequence[ItemScores]) -> ItemScores:
    """Return the mean of the seeds' scores of each query."""
    return ItemScores(scores[0].ids, np.mean([each.columns for each in scores], axis=0), "mean")


def describe(scores: ItemScores, untouched: ItemScores | None = None) -> dict[str, Any]:
    above = {} if untouched is None else {"above_untouched": describe_difference(scores, untouched, 2)}
    return describe_score(scores, 2, "map") | above


def find_visible(collection: Collection, first: int, vectors: Sequence[np.ndarray]) -> dict[str, Any]:
    """Return the difference that the test can see, from two untouched models on the papers before the test."""
    one, other = (score(each, collection, collection.queries(0, first - 1)).columns for each in vectors)
    spread, count = float(np.std(one - other, ddof=1)), len(collection.queries(first))
    return {
        "earlier_papers": len(one),
        "standard_deviation": round(spread, 2),
        "test_papers": count,
        "points": round(DETECTED * spread / math.sqrt(count), 2),
    }


def measure(name: str, args: argparse.Namespace) -> Mapping[str, Any]:
    """Train the recipe on a collection with all seeds, and score it; parts that are on file stay."""
    folder, first, collection = args.runs / name, FIRST[name], load_collection(name, args.data)
    write_triplets(collection, first, folder)
    vectors, other = (encode(model, collection, folder / f"{model}.npy") for model in (BACKBONE, OTHER))
    visible = find_visible(collection, first, [vectors, other])
    print(name, "visible:", visible, flush=True)
    queries = collection.queries(first)
    untouched, trained, runs = score(vectors, collection, queries), [], {}
    for seed in args.seeds:
        run = folder / f"citations-{seed}"
        recipe = read_recipe(RECIPE, [f"seed={seed}"], sources=folder / "triplets")
        model = train(plan_training(recipe, run, device="cpu"), Hooks(on_message=print))
        trained.append(score(encode(model, collection, run / "vectors.npy"), collection, queries))
        provenance_of = json.loads((model / "sciprism.json").read_text("utf-8"))["provenance"]
        facts = summarize_run(run)
        wanted = ("steps", "seconds", "dev_best", "dev_best_step", "curve")
        runs[str(seed)] = {key: facts[key] for key in wanted} | {
            "dev": round(provenance_of["dev"], 4),
            "dev_of_untouched": round(provenance_of["untouched"], 4),
            **describe(trained[-1], untouched),
        }
        print(name, seed, runs[str(seed)], flush=True)
    training = json.loads((folder / "triplets" / "citations.json").read_text("utf-8"))["train"]
    return {
        "visible": visible,
        "papers": len(collection.papers),
        "training": {key: training[key] for key in ("queries", "pairs", "sha256")},
        "untouched": describe(untouched),
        "trained": describe(average(trained), untouched),
        "seeds": runs,
    }


def main() -> None:
    parser = build_parser(__doc__, data=True)
    parser.add_argument("runs", type=Path, help="the folder of triplets and runs")
    parser.add_argument("--collections", nargs="+", default=list(FIRST), choices=list(FIRST))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    args = parser.parse_args()
    share_texts()
    for name in args.collections:
        facts = {"recipe": str(RECIPE), "backbone": BACKBONE, "max_length": MAX_LENGTH, "first_test_year": FIRST[name]}
        result = provenance(["sciprism", "torch", "numpy"], **facts, **measure(name, args))
        write_result(args.output, result, f"{name}, citations")


if __name__ == "__main__":
    main()
