"""Tag papers: ours, trained and without training, against name matching, BM25, nearest vectors and omikuji.

Sets: MeSH headings of PubMed papers (27,455 descriptors), once with all labels and once with 1,000 labels removed
from the training papers' tags; arXiv categories; functions of the biomimicry taxonomy. Everything is trained on the
train split and scored on test (--dev: on dev, for choices).
The rankers of "no training" were fitted to samples of these and other vocabularies (tagging_default.py).
Intervals: paired bootstrap over papers. omikuji
runs in a separate environment, whose Python --omikuji names. Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/tagging.py --omikuji ENVIRONMENT/bin/python -o results/tagging.json
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import tagging_systems as systems
from measurement import build_parser, provenance, write_result
from sciprism.arrays import Doubles, Floats, Rows
from sciprism.encoders.encoder import Encoder
from sciprism.uses.tagging.evidence import EvidenceCollector, TaggedPapers, without_labels
from sciprism.uses.tagging.suggestions import TagChoice, score_ranking
from sciprism.uses.tagging.tagger import Tagger, TagVectors, build_zero_shot, train
from tagging_data import TaggingData, read_arxiv, read_biomimicry, read_mesh

METRICS = ("P@1", "P@5", "nDCG@5", "F1@5")
HIDDEN = 1000
MAX_HIDDEN_PAPERS = 300
"""A label of more training papers is not hidden: without Humans, no tagger is like any real one."""
RESAMPLES = 10_000
SETS = ("biomimicry", "arxiv", "mesh", "mesh unseen")
OURS = "ours, trained"
MIN_PAPERS = 20
"""A group of labels that fewer papers have is not scored."""
RARE = "rare (1 to 9)"
BINS = (0.3, 0.5, 0.7, 0.9)
Ranked = dict[str, list[Rows]]


def score(ranked: Sequence[Rows], gold: Sequence[set[int]]) -> Doubles:
    """Return the metrics of each paper that has a right label, (n, metrics)."""
    rows = [score_ranking(found.tolist(), truth)[:4] for found, truth in zip(ranked, gold, strict=True) if truth]
    return np.array(rows).reshape(-1, len(METRICS))


def compare(scores: dict[str, Doubles]) -> dict[str, Any]:
    """Return how much `OURS` is ahead of the other systems in nDCG@5, with 95 % intervals."""
    rng = np.random.default_rng(0)
    found = {}
    for name in (name for name in scores if name != OURS):
        difference = scores[OURS][:, 2] - scores[name][:, 2]
        means = difference[rng.integers(0, len(difference), (RESAMPLES, len(difference)))].mean(axis=1)
        low, high = np.percentile(means, [2.5, 97.5])
        found[name] = {"difference": round(difference.mean(), 4), "low": round(low, 4), "high": round(high, 4)}
    return found


def summarize(ranked: Ranked, gold: Sequence[set[int]]) -> dict[str, Any]:
    """Return the means of all systems, and the differences of ours from the others."""
    scores = {name: score(each, gold) for name, each in ranked.items()}
    means = {
        name: dict(zip(METRICS, (round(float(mean), 4) for mean in values.mean(axis=0)), strict=True))
        for name, values in scores.items()
    }
    papers = len(next(iter(scores.values())))
    return {"papers": papers, "scores": means, f"{OURS}, ahead by nDCG@5": compare(scores)}


def run(
    data: TaggingData, encode: TagVectors, args: argparse.Namespace, *, hidden: Rows | None = None
) -> dict[str, Any]:
    """Train on one set and score all systems on its test papers; hidden: labels that no training paper has."""
    rows, test = data.rows("train"), data.rows("dev" if args.dev else "test")
    tags = data.tags[rows]
    if hidden is not None:
        tags = without_labels(tags, hidden)
    papers = [data.papers[i] for i in rows]
    vectors, label_vectors = encode.encode(papers), encode.encode(data.vocabulary.labels, "label")
    kept = np.flatnonzero(np.diff(tags.indptr) > 0)
    training = TaggedPapers([papers[i] for i in kept], vectors[kept], tags[kept])
    start = time.perf_counter()
    tagger = train(data.vocabulary, label_vectors, training, seed=args.seed)
    trained = time.perf_counter() - start
    side = EvidenceCollector(data.vocabulary, label_vectors)
    test_papers = [data.papers[i] for i in test]
    test_vectors = encode.encode(test_papers)
    plain = TagVectors(encode.encoder)
    names, near = (
        plain.encode(data.vocabulary.labels, "label"),
        replace(training, vectors=plain.encode(training.papers)),
    )
    untrained = {"": build_zero_shot(data.vocabulary, names)}
    untrained[", similar papers"] = build_zero_shot(data.vocabulary, names, tagged=near)
    ways: dict[str, systems.System] = {
        OURS: systems.ours(tagger),
        **{f"ours, no training{by}": systems.ours(way, plain.encode(test_papers)) for by, way in untrained.items()},
        "name matching": systems.name_matching(side),
        "BM25 over labels": systems.bm25_labels(data.vocabulary),
        "nearest label vector": systems.nearest_labels(side, vectors.mean(axis=0)),
        "nearest papers": systems.nearest_papers(training),
    }
    if args.omikuji:
        ways["omikuji"] = systems.omikuji(args.omikuji, training, len(data.vocabulary))
    gold = [set(data.tags[[i]].indices.tolist()) for i in test]
    facts = {
        "train papers": len(training.papers),
        "test papers": len(test),
        "labels": len(data.vocabulary),
        "labels with training papers": int((tags.sum(axis=0) > 0).sum()),
        "tags not in the vocabulary": data.unknown,
        "seconds of training": round(trained, 1),
        "threshold": round(tagger.weighing.threshold, 4),
        "reliability": measure_reliability(tagger, test_papers, test_vectors, gold),
    }
    facts["groups"] = score_groups(ways, test_papers, test_vectors, gold, tags.sum(axis=0), hidden is not None)
    return facts


def measure_reliability(
    tagger: Tagger, papers: list[Any], vectors: Floats, gold: list[set[int]]
) -> dict[str, dict[str, float]]:
    """Return of suggestions from each probability of `BINS` on how many there are, its mean, and the share right."""
    place = {label.id: row for row, label in enumerate(tagger.vocabulary.labels)}
    found = zip(tagger.suggest(papers, vectors, TagChoice(threshold=BINS[0])), gold, strict=True)
    pairs = np.array([(tag.probability, place[tag.uri] in truth) for each, truth in found for tag in each.tags])
    parts = {low: pairs[np.digitize(pairs[:, 0], BINS) == number] for number, low in enumerate(BINS, 1)}
    return {
        f"from {low}": {
            "tags": len(part),
            "probability": round(part[:, 0].mean(), 3),
            "right": round(part[:, 1].mean(), 3),
        }
        for low, part in parts.items()
        if len(part)
    }


def score_groups(
    ways: dict[str, systems.System],
    papers: list[Any],
    vectors: Floats,
    gold: list[set[int]],
    counts: Doubles,
    only_unseen: bool,
) -> dict[str, Any]:
    """Score all labels, and labels by how many training papers have them.

    Of each group only its labels count, in the order of all; unseen labels are ranked alone, as in zero-shot tagging.
    """
    unseen, everything = counts == 0, np.ones(len(counts), bool)
    deep = {way: rank(papers, vectors, everything) for way, rank in ways.items()}
    found: dict[str, Any] = {}
    for name, allowed in ({"all": everything} | ({} if only_unseen else {RARE: (counts > 0) & (counts < 10)})).items():
        truth = [{row for row in each if allowed[row]} for each in gold]
        if sum(map(bool, truth)) >= MIN_PAPERS:
            found[name] = summarize({way: [each[allowed[each]] for each in rows] for way, rows in deep.items()}, truth)
    truth = [{row for row in each if unseen[row]} for each in gold]
    if sum(map(bool, truth)) >= MIN_PAPERS:
        found["unseen"] = summarize({way: rank(papers, vectors, unseen) for way, rank in ways.items()}, truth)
    for name, facts in found.items():
        print(name, json.dumps(facts["scores"], indent=1), flush=True)
    return found


def choose_hidden(data: TaggingData) -> Rows:
    """Return the labels to hide from training: used by dev and test papers, and by few enough training papers."""
    counts = data.tags[data.rows("train")].sum(axis=0)
    used = data.tags[data.rows("dev", "test")].sum(axis=0)
    possible = np.flatnonzero((counts > 0) & (counts < MAX_HIDDEN_PAPERS) & (used > 0))
    return np.sort(np.random.default_rng(0).choice(possible, HIDDEN, replace=False))


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--omikuji", type=Path, help="the Python of an environment that has omikuji")
    parser.add_argument("--dev", action="store_true", help="score dev papers")
    parser.add_argument("--sets", default=",".join(SETS), help="which sets to run")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    data = Path(os.environ.get("SCIPRISM_DATA", "data"))
    encoder = Encoder.load()
    encode = TagVectors(encoder, ["proximity"])  # of trained taggers
    for name in args.sets.split(","):
        print(f"== {name}")
        began = resource.getrusage(resource.RUSAGE_SELF)
        measured = measure(name, data, encode, args)
        used = resource.getrusage(resource.RUSAGE_SELF)
        facts = {
            "split": "dev" if args.dev else "test",
            "seed": args.seed,
            "encoder": {key: encode.facts[key] for key in ("name", "fingerprint", "format", "space")},
            "peak memory MB": round(used.ru_maxrss / 1024),
            "processor seconds": round(used.ru_utime + used.ru_stime - began.ru_utime - began.ru_stime),
        }
        write_result(args.output, provenance(["numpy", "torch", "bm25s"], **facts, measured=measured), name)


def measure(name: str, data: Path, encode: TagVectors, args: argparse.Namespace) -> dict[str, Any]:
    """Measure one set or part."""
    if name.startswith("mesh"):
        read = read_mesh(data)
        return run(read, encode, args, hidden=choose_hidden(read) if name == "mesh unseen" else None)
    if name == "arxiv":
        return run(read_arxiv(data, {"train": 4000, "dev": 1000, "test": 1000}), encode, args)
    return run(read_biomimicry(data), encode, args)


if __name__ == "__main__":
    main()
