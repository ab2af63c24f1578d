"""Fit the rankers that ship for tagging without training, to eleven vocabularies; score each one left out.

One weighs meaning and names, the other also the tags of similar papers. Each vocabulary counts the same: lists of
classes, codes with names, a thesaurus, keywords and tags of users, some with names that the model learned, some
without. The single parts of the evidence, and rankers fitted to the other vocabularies, for both formats of vectors,
go to the result file; the two sets of arXiv are left out together. Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/tagging_default.py -o results/tagging.json
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import tagging_systems as systems
from measurement import build_parser, provenance, write_result
from sciprism.arrays import Doubles, Floats, Rows, normalize_rows
from sciprism.encoders.encoder import Encoder
from sciprism.files import write_lines
from sciprism.papers.records import Paper
from sciprism.uses.calibration import Calibration
from sciprism.uses.tagging.evidence import FEATURES, EvidenceCollector, NearestPapers, Ranker, Tags, Weighing
from sciprism.uses.tagging.suggestions import score_ranking
from sciprism.uses.tagging.tagger import RANKER_FILE, TagVectors, block_size
from sciprism.uses.tagging.vocabulary import Vocabulary
from tagging_data import sample_vocabularies

TARGET = Path("src/sciprism/uses/tagging") / RANKER_FILE
NAMES = ("cosine above mean", "named", "in title", "log labels", "named of many")
COLUMNS = {"names": NAMES, "names and papers": (*NAMES, "votes", "near papers")}
STEPS = np.linspace(-12, 12, 97)
"""Scores at which the logistic curve is stored."""
THRESHOLDS, POWERS = np.linspace(0.05, 0.6, 56), np.linspace(0.8, 2, 25)


@dataclass(eq=False)
class Example:
    """Candidates of one vocabulary's papers. gold: right labels; parts: what each single part ranks."""

    name: str
    labels: int
    gold: list[set[int]]
    owners: Rows
    rows: Rows
    features: Floats
    right: Floats
    parts: dict[str, list[Rows]] = field(default_factory=dict)

    def split(self, values: Floats | Doubles) -> list[Any]:
        """Return values of candidates (c,) paper by paper."""
        return np.split(values, np.searchsorted(self.owners, np.arange(1, len(self.gold))))

    def rank(self, scores: Doubles) -> list[Rows]:
        """Return of each paper its labels by score, best first."""
        pairs = zip(self.split(scores), self.split(self.rows), strict=True)
        return [rows[np.argsort(-each, kind="stable")] for each, rows in pairs]


def build_example(
    name: str, papers: Sequence[Paper], vocabulary: Vocabulary, tags: Tags, encode: TagVectors, near: bool
) -> Example:
    """Return the candidates of papers; near: of every second, the others being similar papers."""
    vectors, label_vectors = encode.encode(papers), encode.encode(vocabulary.labels, "label")
    collector = EvidenceCollector(vocabulary, label_vectors, is_trained=False)
    centre = collector.find_centre(vectors)
    voters = NearestPapers(vectors[1::2], tags[1::2]) if near else None
    rows = np.arange(0, len(papers), 2 if near else 1)
    found, size = [], block_size(len(vocabulary))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        block = [papers[i] for i in part]
        evidence = collector.collect(block, vectors[part] - centre, near=voters, located=vectors[part])
        found.append((evidence.papers + start, evidence.labels, evidence.features))
    owners, labels, features = map(np.concatenate, zip(*found, strict=True))
    right = np.asarray(tags[rows[owners], labels], np.float32)
    gold = [set(tags[[i]].indices.tolist()) for i in rows]
    example = Example(name, len(vocabulary), gold, owners, labels, features, right)
    chosen, everything = [papers[i] for i in rows], np.ones(len(vocabulary), bool)
    ways = {"cosines": systems.nearest_labels(collector, centre)}
    plain = normalize_rows(vectors[rows]) @ normalize_rows(label_vectors).T
    example.parts["plain cosines"] = systems.top_rows(plain + 2, everything)
    if voters is not None:
        votes = [voters.vote(vectors[[i]])[0][0] for i in rows]
        example.parts["nearest papers"] = [np.argsort(-each, kind="stable") for each in votes]
    else:
        ways |= {"names found": systems.name_matching(collector), "words of names": systems.bm25_labels(vocabulary)}
    example.parts |= {part: rank(chosen, vectors[rows], everything) for part, rank in ways.items()}
    return example


def fit(examples: Sequence[Example], columns: Sequence[str]) -> Weighing:
    """Fit a logistic regression over all candidates, the threshold of the best mean F1, and the sharpness of lists."""
    chosen = [FEATURES.index(name) for name in columns]
    features = np.concatenate([each.features[:, chosen] for each in examples])
    weights = np.concatenate([np.full(len(each.right), 1000 / len(each.gold)) for each in examples])
    right = np.concatenate([each.right for each in examples])
    model = LogisticRegression(max_iter=1000).fit(features, right, weights)
    none = np.zeros(len(chosen), np.float32)
    ranker = Ranker(tuple(chosen), none, none + 1, ((np.float32(model.coef_), np.float32(model.intercept_)),))
    weighing = Weighing(ranker, Calibration(STEPS, 1 / (1 + np.exp(-STEPS))), 0.5)
    found = [weighing.weigh(each.features) for each in examples]
    scores = [[score_threshold(*pair, each)["F1"] for pair in zip(examples, found, strict=True)] for each in THRESHOLDS]
    threshold = float(THRESHOLDS[int(np.mean(scores, axis=1).argmax())])
    lists = [each for each in examples if all(len(truth) == 1 for truth in each.gold)]
    wanted = [[*zip(each.split(weighing.weigh(each.features)), each.split(each.right), strict=True)] for each in lists]
    sharp = [Weighing(ranker, weighing.calibration, threshold, float(power)) for power in POWERS]
    losses = [[np.mean([-np.log(way.share(p) @ r + 1e-9) for p, r in each]) for each in wanted] for way in sharp]
    return sharp[int(np.mean(losses, axis=1).argmin())]


def score_threshold(example: Example, probabilities: Doubles, threshold: float) -> dict[str, float]:
    """Return what is suggested from a threshold on: tags of a paper, how many are right, F1, papers without any."""
    chosen = probabilities >= threshold
    hits, total, papers = float(example.right[chosen].sum()), int(chosen.sum()), len(example.gold)
    found = {"tags": total / papers, "right": hits / max(1, total)}
    found["F1"] = 2 * hits / max(1, total + sum(map(len, example.gold)))
    found["papers without"] = 1 - len(np.unique(example.owners[chosen])) / papers
    return {name: round(value, 3) for name, value in found.items()}


def score(ranked: Sequence[Rows], gold: Sequence[set[int]]) -> dict[str, float]:
    means = np.mean([score_ranking(rows.tolist(), truth) for rows, truth in zip(ranked, gold, strict=True)], axis=0)
    return {"P@1": round(float(means[0]), 3), "nDCG@5": round(float(means[2]), 3)}


def measure(examples: Sequence[Example], columns: Sequence[str]) -> dict[str, Any]:
    """Return the scores of each vocabulary: of the parts, and of a ranker fitted to the other vocabularies."""
    table = {}
    for held in examples:
        family = held.name.split()[0]
        others = fit([each for each in examples if each.name.split()[0] != family], columns)
        probabilities = others.weigh(held.features)
        ranked = held.parts | {"joined": held.rank(others.ranker.score(held.features))}
        best = np.mean([others.share(each).max() for each in held.split(probabilities)])
        table[held.name] = {part: score(rows, held.gold) for part, rows in ranked.items()} | {
            "papers": len(held.gold),
            "labels": held.labels,
            "from the threshold on": score_threshold(held, probabilities, others.threshold),
            "mean probability of the one class": round(float(best), 3),
        }
        print(held.name, json.dumps(table[held.name]), flush=True)
    return table


def main() -> None:
    parser = build_parser(__doc__, data=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    encoder, shipped, measured = Encoder.load(), {}, {}
    sets = list(sample_vocabularies(args.data, args.seed))
    for name, columns in COLUMNS.items():
        for format in ("classification", "proximity"):
            encode = TagVectors(encoder, [format])
            examples = [build_example(*each, encode, name != "names") for each in sets]
            measured[f"{name}, {format}"] = measure(examples, columns)
            if format == "classification":
                text = json.dumps(fit(examples, columns).to_json())
                shipped[name] = json.loads(text, parse_float=lambda value: float(f"{float(value):.5g}"))
    write_lines(TARGET, [json.dumps(shipped)])
    facts = {"seed": args.seed, "encoder": encoder.fingerprint, "measured": measured}
    write_result(args.output, provenance(["numpy", "scikit-learn", "bm25s"], **facts), "untrained, each left out")


if __name__ == "__main__":
    main()
