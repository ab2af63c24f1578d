"""Mined hard negatives: what they bring over random ones and BM25's, on one's own citations of later years.

Data, recipe and score are those of benchmarks/own_citations.py: a linear map over frozen vectors, here with one hard
negative of each query next to those of the batch, the same steps and dev examples for all arms. The arms differ by
whose nearest candidates the negatives are: `random` ones (of `prepare citations`), `bm25`'s, or `mined` by a teacher;
the latter two are of `prepare negatives` with the same settings, of the same queries, positives and candidates.
Differences are paired by paper, those of seeds averaged before; intervals: bootstrap over papers.

`visible`, printed before any training, is the difference that is found in 80 of 100 cases, 2.8 standard errors. It is
an upper bound: the standard error on file is that of trained against untouched, two arms are more alike. A run that
exists is not trained again; nine runs take about half an hour on two idle cores. From the repository root:

    SCIPRISM_DATA=... python benchmarks/negatives.py RUNS -o results/negatives.json

--dry prepares the sources and prints what could be seen, without training.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import own_citations as own
from differences import describe_difference
from measurement import build_parser, provenance, write_result
from sciprism.training.loop import Hooks
from sciprism.training.plan import plan_training
from sciprism.training.recipe_file import read_recipe
from sciprism.training.run import train
from study import run_command

RANKS = "10-1000"
CHANGES = ("stages.0.objective.hard_negatives=1", "stages.0.evaluation.untouched_patience=0")


def find_visible(name: str) -> float:
    """Return the points of MAP that the test can see, by the interval on file of trained against untouched."""
    on_file = json.loads(Path("results/own_citations.json").read_text("utf-8"))["runs"]
    _, low, high = on_file[f"{name}, citations"]["trained"]["above_untouched"]
    return round(own.DETECTED * (high - low) / (2 * 1.96), 2)


def prepare_arms(folder: Path, teachers: Mapping[str, str]) -> dict[str, Any]:
    """Mine the negatives of each arm's teacher in a folder of its own; return their counts."""
    counts = {}
    for arm, teacher in teachers.items():
        if not (folder / arm / "negatives.json").exists():
            source = folder / "triplets" / "train.jsonl"
            run_command("prepare", "negatives", source, "-o", folder / arm, "--model", teacher, "--ranks", RANKS)
        made = json.loads((folder / arm / "negatives.json").read_text("utf-8"))["sources"]["train.jsonl"]
        dropped = {reason: each["count"] for reason, each in made["dropped"].items()}
        counts[arm] = {key: made[key] for key in ("queries", "candidates", "negatives", "fewer", "none")} | dropped
    return counts


def measure(name: str, args: argparse.Namespace) -> Mapping[str, Any]:
    """Train all arms with all seeds, and score them."""
    folder, first, collection = args.runs / name, own.FIRST[name], own.load_collection(name, args.data)
    visible = find_visible(name)
    print(f"{name}: differences of {visible} points of MAP are visible", flush=True)
    own.write_triplets(collection, first, folder, (*own.PREPARE, "--set", "hard_share=0"))
    sources = {"random": "triplets", "bm25": "bm25", "mined": "mined"}
    facts = {"visible": visible, "negatives": prepare_arms(folder, {"bm25": "bm25", "mined": args.teacher})}
    if args.dry:
        return facts
    queries = collection.queries(first)
    untouched = own.score(own.encode(own.BACKBONE, collection, folder / "untouched.npy"), collection, queries)
    trained: dict[str, list[Any]] = {arm: [] for arm in sources}
    for seed in args.seeds:
        for arm, source in sources.items():
            dev = (folder / "triplets" / "dev.jsonl").resolve()
            changes = [f"seed={seed}", *CHANGES, f"stages.0.sources.0.dev={dev}"]
            run = folder / f"{arm}-{seed}"
            recipe = read_recipe(own.RECIPE, changes, sources=folder / source)
            model = train(plan_training(recipe, run, device="cpu"), Hooks(on_message=print))
            trained[arm].append(own.score(own.encode(model, collection, run / "vectors.npy"), collection, queries))
            print(name, arm, seed, own.describe(trained[arm][-1], untouched), flush=True)
    means = {arm: own.average(scores) for arm, scores in trained.items()}
    return facts | {
        "untouched": own.describe(untouched),
        "arms": {
            arm: own.describe(mean, untouched) | {"seeds": [own.describe(each, untouched) for each in trained[arm]]}
            for arm, mean in means.items()
        },
        "differences": {
            f"{one} above {other}": describe_difference(means[one], means[other], 2)
            for other, one in combinations(means, 2)
        },
    }


def main() -> None:
    parser = build_parser(__doc__, data=True)
    parser.add_argument("runs", type=Path, help="the folder of sources and runs")
    parser.add_argument("--collections", nargs="+", default=["vis"], choices=list(own.FIRST))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--teacher", default=own.BACKBONE, help="whose nearest candidates are mined")
    parser.add_argument("--dry", action="store_true", help="prepare the sources, and train nothing")
    args = parser.parse_args()
    own.share_texts()
    for name in args.collections:
        found = measure(name, args)
        if not args.dry:
            facts = {"recipe": str(own.RECIPE), "changes": CHANGES, "backbone": own.BACKBONE, "teacher": args.teacher}
            facts |= {"max_length": own.MAX_LENGTH, "first_test_year": own.FIRST[name], "ranks": RANKS}
            write_result(args.output, provenance(["sciprism", "torch", "numpy", "bm25s"], **facts, **found), name)


if __name__ == "__main__":
    main()
