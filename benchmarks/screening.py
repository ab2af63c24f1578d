"""Screening: how soon the included records of 13 reviews are found, by variants of ours and ASReview, equal starts.

orders: runs in an environment of ASReview (pip install asreview) and writes the orders in which it screens. ours:
writes those of our variants, with as many records between two trainings (5 % of those screened). Both continue.
compare: the shares of a review that are read until 95 % and all of the included ones are found, and ATD, without the
two priors. Of today's ranking, cost and balance were chosen on six of the reviews, the share of vectors with all known.

A variant is chosen by the mean of both shares, in the nested choice on all reviews but the one on which it is scored.
Between two rankings, the shares until 95 % and 100 % differ by a standard deviation of some 3 and 8 points over
reviews: 13 of them show differences of 2.4 and 6 points, four times in five. The product takes the chosen variant if
the nested choice and the four untouched reviews have lower means of both shares than today's. A first look, with two
starts, had some 40 variants of these kinds; the untouched reviews had no part in it. Differences are of common starts.

data: records.jsonl.gz. untouched: NAME.csv of reviews of Cohen 2006 that it lacks, as ASReview's repository
systematic-review-datasets has them (output/online). vectors: a folder with REVIEW.npy of sciprism-small, of each.

    python benchmarks/screening.py orders orders.jsonl --data $SCIPRISM_DATA/cls_systematic_review_screening
    python benchmarks/screening.py ours orders.jsonl --data ... --untouched ...
    python benchmarks/screening.py compare orders.jsonl --data ... --untouched ... -o results/screening.json
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from measurement import build_parser, provenance, read_json_lines, write_result

BATCH, STARTS = 0.05, 3
MODELS = {"elas_u4": "ELAS u4", "elas_u3": "ELAS u3"}
TODAY, EACH, NESTED = "today", "words alone, trained after each decision", "nested choice"
UNITS = ("until 95 %", "until 100 %", "atd")
Orders = dict[str, dict[str, dict[int, Any]]]  # system, review, start: order, or what is measured of it


def read_reviews(data: Path, untouched: Path | None) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return the records of each review, and the names of the untouched ones."""
    reviews: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_json_lines(data / "records.jsonl.gz"):
        reviews[row["topic"]].append(row)
    for file in (files := sorted(untouched.glob("*.csv")) if untouched else []):
        rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines(keepends=True))
        whole = (row for row in rows if row["title"].strip() and row["abstract"].strip())
        reviews[file.stem] = [row | {"label": int(row["label_included"])} for row in whole]
    return reviews, [file.stem for file in files]


def read_orders(path: Path) -> Orders:
    orders: Orders = defaultdict(lambda: defaultdict(dict))
    for line in read_json_lines(path) if path.exists() else ():
        orders[line["model"]][line["topic"]][line["seed"]] = line["order"]
    return orders


def write_orders(path: Path, model: str, name: str, starts: int, screen: Callable[[int], Any]) -> None:
    """Write a line for each start that has none: the order in which a model screens."""
    for seed in sorted(set(range(starts)) - read_orders(path)[model][name].keys()):
        line = {"model": model, "topic": name, "seed": seed, "order": np.asarray(screen(seed)).tolist()}
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def run_asreview(reviews: dict[str, list[dict[str, Any]]], output: Path) -> None:
    import pandas as pd
    from asreview.learner import ActiveLearningCycle
    from asreview.models.models import get_ai_config
    from asreview.simulation.simulate import Simulate

    for (name, records), model in ((pair, model) for pair in reviews.items() for model in MODELS):
        labels = np.array([record["label"] for record in records])
        cycle = ActiveLearningCycle.from_meta(get_ai_config(model)["value"])
        cycle.n_query = lambda results: max(1, int(BATCH * len(results)))
        features = cycle.transform(pd.DataFrame(records, columns=["title", "abstract"]).fillna(""))

        def screen(seed: int, labels: Any = labels, cycle: Any = cycle, features: Any = features) -> Any:
            generator = np.random.default_rng(seed)
            simulation = Simulate(features, labels, cycle, skip_transform=True, print_progress=False)
            simulation.label([int(generator.choice(np.flatnonzero(labels == label))) for label in (1, 0)])
            simulation.review()
            return simulation._results["record_id"].astype(int)

        write_orders(output, MODELS[model], name, STARTS, screen)


def build_variants(texts: list[str], matrix: np.ndarray) -> Iterator[tuple[str, Any]]:
    """Yield the name of each variant with its scores."""
    from scipy.sparse import csr_array, hstack
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.naive_bayes import MultinomialNB

    from sciprism.arrays import normalize_rows
    from sciprism.index.lexical import split_words
    from sciprism.uses.screening import session
    from sciprism.uses.tagging.evidence import learn_terms

    alone = session.RecordRanker(texts)
    ranker, third, pairs, vectors = (session.RecordRanker(texts, matrix, share) for share in (0.05, 0.3, 0.05, 1.0))
    vectors.features = unit = normalize_rows(matrix - matrix.mean(axis=0))
    words = learn_terms(texts, lambda text: [*(all := split_words(text)), *map(" ".join, pairwise(all))], 1.0)
    pairs.features = csr_array(hstack([0.95**0.5 * words.transform(texts), 0.05**0.5 * csr_array(unit)]))
    counts = TfidfVectorizer(stop_words="english").fit_transform(texts)
    near = 0.7 * (alone.features @ alone.features.T).toarray() + 0.3 * unit @ unit.T

    @cache
    def learn(included: bytes, excluded: bytes) -> Any:
        return ranker.score(np.frombuffer(included, np.int64), np.frombuffer(excluded, np.int64))

    def today(included: Any, excluded: Any) -> Any:
        return learn(included.tobytes(), excluded.tobytes())

    def bayes(included: Any, excluded: Any) -> Any:
        """ELAS u3's: the evidence for included."""
        rows, sizes = np.concatenate([included, excluded]), [len(included), len(excluded)]
        share = np.repeat([1.0, sizes[0] / (1.2 * sizes[1])], sizes)
        model = MultinomialNB(alpha=3.822).fit(counts[rows], np.repeat([0, 1], sizes), share * len(rows) / share.sum())
        return -np.diff(model.predict_joint_log_proba(counts)).ravel()

    def take_turns(*scores: Any, late: float = 0.0, before: Any = None) -> Any:
        """The best records of several scores, in turn, once a share of the review is screened; before, one's."""

        def score(included: Any, excluded: Any) -> Any:
            done = [*included, *excluded]
            if len(done) < late * len(texts):
                return (before or scores[0])(included, excluded)
            made = {each: np.argsort(-each(included, excluded), kind="stable") for each in scores}
            taken, queues, merged = set(done), {each: iter(order) for each, order in made.items()}, np.zeros(len(texts))
            for place in range(len(done), len(texts)):
                row = next(row for row in queues[scores[place % len(scores)]] if row not in taken)
                merged[row] = -place
                taken.add(row)
            return merged

        return score

    nearest, chance = lambda included, _: near[:, included].max(axis=1), np.random.default_rng(0).random
    yield TODAY, today
    yield "words alone", alone.score
    yield "C 0.3", patch.object(session, "COST", 0.3)(ranker.score)
    yield "balance 30", patch.object(session, "BALANCE", 30.0)(ranker.score)
    yield "words and pairs of words", pairs.score
    yield "naive Bayes every 4th", take_turns(today, today, today, bayes)
    yield "vectors every 4th", take_turns(today, today, today, vectors.score)
    yield "a random record every 20th", take_turns(*[today] * 19, lambda *_: chance(len(texts)))
    yield "share of vectors 0.3, from 30 %", take_turns(third.score, late=0.3, before=today)
    yield "vectors every 2nd, from 30 %", take_turns(today, vectors.score, late=0.3)
    yield "vectors every 2nd, from 40 %", take_turns(today, vectors.score, late=0.4)
    yield "nearest to an included every 2nd, from 30 %", take_turns(today, nearest, late=0.3)
    yield "pairs of words; vectors every 2nd, from 40 %", take_turns(pairs.score, vectors.score, late=0.4)
    yield "vectors, nearest, each every 3rd, from 40 %", take_turns(today, vectors.score, nearest, late=0.4)
    yield EACH, alone.score


def run_ours(reviews: dict[str, list[dict[str, Any]]], untouched: list[str], vectors: Path, output: Path) -> None:
    from sciprism.uses.screening import session

    for name, records in reviews.items():
        labels = np.array([record["label"] == 1 for record in records])
        texts = [f"{record['title']} {record['abstract']}" for record in records]
        best = choose(measure(reviews, output), [*reviews][: -len(untouched)]) if name in untouched else ""
        for model, score in build_variants(texts, np.load(vectors / f"{name}.npy")):
            if model in (TODAY, "words alone", best) or not best:
                with patch.object(session, "BATCH", BATCH * (model != EACH)):
                    screen = partial(session.replay, score, labels)
                    write_orders(output, model, name, 1 if model == EACH else STARTS, screen)


def measure(reviews: dict[str, list[dict[str, Any]]], path: Path) -> Orders:
    """Return of each start the measures, in percent of the records."""
    measured = read_orders(path)
    for by in measured.values():
        for name, starts in by.items():
            labels = np.array([int(record["label"]) for record in reviews[name]])
            for seed, order in starts.items():
                found = labels[[*order, *np.setdiff1d(np.arange(len(labels)), order)][2:]]
                ranks = 100 * (np.flatnonzero(found) + 1) / len(found)
                needed = ranks[int(np.ceil(0.95 * len(ranks))) - 1]
                starts[seed] = np.array([needed, ranks[-1], ranks.mean()])
    return measured


def subtract(measured: Orders, system: str, other: str, names: list[str]) -> np.ndarray:
    """Return the differences of each review over common starts, (reviews, measures)."""
    pairs = [(measured[system][name], measured[other][name]) for name in names]
    return np.array([np.mean([a[seed] - b[seed] for seed in a.keys() & b.keys()], axis=0) for a, b in pairs])


def choose(measured: Orders, names: list[str]) -> str:
    """Return the variant with the lowest mean of both shares on reviews."""
    whole = [system for system, by in measured.items() if {*names} <= by.keys() and system not in MODELS.values()]
    return min(whole, key=lambda system: subtract(measured, system, TODAY, names)[:, :2].mean())


def compare(measured: Orders, system: str, other: str, names: list[str]) -> dict[str, Any]:
    """Return the mean difference over reviews, its bootstrap interval, and the reviews with less."""
    each = subtract(measured, system, other, names)
    samples = np.random.default_rng(0).choice(each, (10_000, len(each))).mean(axis=1)
    rows = np.vstack([each.mean(axis=0), np.percentile(samples, [2.5, 97.5], axis=0)]).round(2).T.tolist()
    facts = zip(UNITS, rows, (each < 0).sum(axis=0).tolist(), strict=True)
    return {unit: {"difference": row[0], "interval": row[1:], "reviews with less": less} for unit, row, less in facts}


def average(by: dict[str, dict[int, Any]], names: list[str]) -> dict[str, float]:
    means = np.mean([np.mean([*by[name].values()], axis=0) for name in names], axis=0)
    return dict(zip(UNITS, means.round(2).tolist(), strict=True))


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("part", choices=["orders", "ours", "compare"])
    parser.add_argument("orders", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--untouched", type=Path)
    parser.add_argument("--vectors", type=Path, default=Path("vectors"))
    options = parser.parse_args()
    reviews, untouched = read_reviews(options.data, options.untouched)
    if options.part == "orders":
        run_asreview(reviews, options.orders)
    elif options.part == "ours":
        run_ours(reviews, untouched, options.vectors, options.orders)
    else:
        measured, names = measure(reviews, options.orders), [name for name in reviews if name not in untouched]
        chosen = {left: choose(measured, [name for name in names if name != left]) for left in names}
        pairs = [(variant, TODAY) for variant in measured if variant not in (TODAY, *MODELS.values())]
        pairs += [(NESTED, TODAY), (EACH, "words alone")]
        pairs += [(ours, peer) for ours in (TODAY, choose(measured, names), NESTED) for peer in MODELS.values()]
        measured[NESTED] = {name: measured[variant][name] for name, variant in chosen.items()}
        groups: dict[str, Any] = {}
        for group, of in {"all": names, "untouched": untouched}.items():
            known = [system for system, by in measured.items() if of and {*of} <= by.keys()]
            groups[group] = {
                "means": {system: average(measured[system], of) for system in known},
                "differences": {f"{a} - {b}": compare(measured, a, b, of) for a, b in pairs if {a, b} <= {*known}},
            }
        sizes = {
            name: {"records": len(of), "included": sum(row["label"] for row in of)} for name, of in reviews.items()
        }
        shown = (TODAY, NESTED, *MODELS.values())
        each = {name: {s: average(measured[s], [name]) for s in shown if name in measured[s]} for name in reviews}
        starts = {system: min(map(len, by.values())) for system, by in measured.items()}
        result = {"data": sizes, "starts": starts, "chosen without a review": chosen, **groups, "reviews": each}
        write_result(
            options.output, provenance(["numpy", "scikit-learn"], seeds=STARTS, peer="ASReview 3.0.8") | result
        )


if __name__ == "__main__":
    main()
