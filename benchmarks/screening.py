"""Screening: how soon the included records of 13 reviews are found, against ASReview's defaults, from the same starts.

orders: runs in an environment of ASReview (pip install asreview) and writes the order in which it screens. compare:
ours, from the same starts, with as many records between two trainings (5 % of those screened). The first six reviews by
the hash of their names are dev: constants were chosen on them. The share of the vectors was the best of three there,
by little; what it does on the other seven was known when it became the default. WSS@95 and ATD are
over the records after the two priors. vectors: a folder with REVIEW.npy of sciprism-small.

    python benchmarks/screening.py orders orders.jsonl --data $SCIPRISM_DATA/cls_systematic_review_screening
    python benchmarks/screening.py compare orders.jsonl --data ... -o results/screening.json
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from measurement import build_parser, provenance, write_result

DEV, BATCH, STARTS = 6, 0.05, 10
MODELS = {"elas_u4": "ELAS u4", "elas_u3": "ELAS u3"}


@cache
def read_reviews(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the records of each review, dev reviews first."""
    reviews: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with gzip.open(folder / "records.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            reviews[row["topic"]].append(row)
    return {name: reviews[name] for name in sorted(reviews, key=lambda name: hashlib.sha256(name.encode()).hexdigest())}


def write_orders(data: Path, output: Path, starts: int) -> None:
    """Write a line for each model, review and start: the order in which ASReview screens. It continues."""
    import pandas as pd
    from asreview.learner import ActiveLearningCycle
    from asreview.models.models import get_ai_config
    from asreview.simulation.simulate import Simulate

    lines = map(json.loads, output.read_text().splitlines() if output.exists() else ())
    done = {(line["model"], line["topic"], line["seed"]) for line in lines}
    for name, records in read_reviews(data).items():
        labels = np.array([record["label"] for record in records])
        table = pd.DataFrame(records, columns=["title", "abstract"]).fillna("")
        for model in MODELS:
            cycle = ActiveLearningCycle.from_meta(get_ai_config(model)["value"])
            cycle.n_query = lambda results: max(1, int(BATCH * len(results)))
            features = cycle.transform(table)
            for seed in (seed for seed in range(starts) if (model, name, seed) not in done):
                generator = np.random.default_rng(seed)
                priors = [int(generator.choice(np.flatnonzero(labels == label))) for label in (1, 0)]
                simulation = Simulate(features, labels, cycle, skip_transform=True, print_progress=False)
                simulation.label(priors)
                simulation.review()
                order = simulation._results["record_id"].astype(int).tolist()
                with output.open("a") as file:
                    file.write(json.dumps({"model": model, "topic": name, "seed": seed, "order": order}) + "\n")


def measure_order(order: Any, labels: np.ndarray) -> dict[str, float]:
    """Return WSS@95, ATD, and the recall after 10 % of the records, in percent."""
    from sciprism.uses.screening.session import measure_work

    found = labels[np.asarray(order)[2:]]
    work = measure_work(found)
    early = float((np.flatnonzero(found) + 1 <= 0.1 * len(found)).mean())
    return {"wss": 100 * work["wss"], "atd": 100 * work["atd"], "recall at 10 %": 100 * early}


def rank_reviews(data: Path, vectors: Path, starts: int) -> dict[str, dict[str, list[dict[str, float]]]]:
    """Return of each system the measures of each review's starts."""
    from sciprism.uses.screening.session import RecordRanker, replay

    measured: dict[str, dict[str, list[dict[str, float]]]] = defaultdict(dict)
    for name, records in read_reviews(data).items():
        labels = np.array([record["label"] == 1 for record in records])
        texts = [f"{record['title']} {record['abstract']}" for record in records]
        matrix = np.load(vectors / f"{name}.npy")
        rankers = {"sciprism": (RecordRanker(texts, matrix), starts), "words alone": (RecordRanker(texts), starts)}
        shares = {"vectors alone": 1.0, "words and vectors, 1 : 1": 0.5}
        rankers |= {system: (RecordRanker(texts, matrix, share), 3) for system, share in shares.items()}
        for system, (ranker, count) in rankers.items():
            orders = (replay(ranker.score, labels, seed) for seed in range(count))
            measured[system][name] = [measure_order(order, labels) for order in orders]
        print(name, {system: average(measured[system], [name]) for system in rankers}, flush=True)
    return measured


def average(
    system: Mapping[str, list[dict[str, float]]], names: list[str], starts: int | None = None
) -> dict[str, float]:
    """Return the mean over reviews of the means over starts."""
    keys = system[names[0]][0]
    return {
        key: round(float(np.mean([np.mean([row[key] for row in system[name][:starts]]) for name in names])), 2)
        for key in keys
    }


def compare(ours: Mapping[str, Any], peer: Mapping[str, Any], names: list[str], key: str) -> dict[str, Any]:
    """Return ours minus the peer's over the same starts: mean over reviews, bootstrap interval, reviews below 0."""
    pairs = [(ours[name][: len(peer[name])], peer[name]) for name in names]
    each = np.array([np.mean([a[key] - b[key] for a, b in zip(*pair, strict=True)]) for pair in pairs])
    samples = np.random.default_rng(0).choice(each, (10_000, len(each))).mean(axis=1)
    low, high = np.percentile(samples, [2.5, 97.5])
    return {
        "difference": round(float(each.mean()), 2),
        "interval": [round(float(low), 2), round(float(high), 2)],
        "reviews with a lower one of ours": int((each < 0).sum()),
    }


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("part", choices=["orders", "compare"])
    parser.add_argument("orders", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, default=Path("vectors"))
    options = parser.parse_args()
    if options.part == "orders":
        write_orders(options.data, options.orders, STARTS)
        return
    measured = rank_reviews(options.data, options.vectors, STARTS)
    reviews = read_reviews(options.data)
    for line in map(json.loads, options.orders.read_text().splitlines()):
        labels = np.array([record["label"] == 1 for record in reviews[line["topic"]]])
        left = np.setdiff1d(np.arange(len(labels)), line["order"])
        rows = measured[MODELS[line["model"]]].setdefault(line["topic"], [])
        rows.append(measure_order([*line["order"], *left], labels))
    names = list(reviews)
    groups = {"all": names, "dev": names[:DEV], "others": names[DEV:]}
    result = {
        "data": {
            name: {"records": len(rows), "included": sum(r["label"] for r in rows)} for name, rows in reviews.items()
        },
        "dev": names[:DEV],
        "starts": {system: min(map(len, by.values())) for system, by in measured.items()},
        "means": {
            group: {s: average(by, chosen) for s, by in measured.items() if set(chosen) <= by.keys()}
            for group, chosen in groups.items()
        },
        "differences": {
            group: {
                model: {key: compare(measured["sciprism"], measured[model], chosen, key) for key in ("atd", "wss")}
                for model in MODELS.values()
            }
            for group, chosen in groups.items()
        },
        "reviews": {name: {s: average(by, [name]) for s, by in measured.items() if name in by} for name in names},
    }
    peer = "ASReview 3.0.8, scikit-learn of its own environment"
    write_result(options.output, provenance(["numpy", "scikit-learn"], seeds=STARTS, peer=peer) | result)


if __name__ == "__main__":
    main()
