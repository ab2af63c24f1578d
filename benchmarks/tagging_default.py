"""Train the rankers that ship for tagging without training data, on MeSH terms of PubMed papers.

One weighs names and meaning, the other also the tags of similar papers. They see the whole vocabulary and random
parts of it of 300 labels, so that neither the number of labels nor their names are learned; only how names and
cosines are to be weighed. Papers: of the train split alone. Run from the repository root:

    SCIPRISM_DATA=... python benchmarks/tagging_default.py
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from sciprism.arrays import Floats, Rows
from sciprism.encoders.encoder import Encoder
from sciprism.files import write_lines
from sciprism.papers.records import Paper
from sciprism.uses.calibration import Calibration
from sciprism.uses.tagging.evidence import (
    FEATURES,
    NAME_FEATURES,
    NEAR_FEATURES,
    EvidenceCollector,
    NearestPapers,
    Ranker,
    Tags,
    Weighing,
    build_tags,
)
from sciprism.uses.tagging.tagger import RANKED_BLOCK, RANKER_FILE, TagVectors, choose_threshold
from sciprism.uses.tagging.vocabulary import Vocabulary
from tagging_data import read_mesh

TARGET = Path("src/sciprism/uses/tagging") / RANKER_FILE
WHOLE, PART = 3000, 1000
"""Papers ranked with the whole vocabulary, and with each part of it."""
PARTS, PART_LABELS = 4, 300
NEAR_PAPERS = 2000
HELD_OUT = 0.2
UNSEEN = ("preferred", "alternative")
"""Features that these data cannot teach: the descriptors have no alternative names here. They weigh as the others."""
STEPS = 200
"""Steps of the calibration that are stored."""

Parts = Iterator[tuple[Vocabulary, Floats, Tags, Rows]]


def list_vocabularies(vocabulary: Vocabulary, vectors: Floats, tags: Tags, rng: np.random.Generator) -> Parts:
    """Yield the vocabulary and random parts of it, each with its vectors, the papers' tags and the papers to rank."""
    order = rng.permutation(tags.shape[0])
    yield vocabulary, vectors, tags, order[:WHOLE]
    counts = tags.sum(axis=0)
    for _ in range(PARTS):
        chosen = np.sort(rng.choice(np.flatnonzero(counts >= 5), PART_LABELS, replace=False))
        number = {int(row): place for place, row in enumerate(chosen)}
        part = [[number[row] for row in tags[[i]].indices.tolist() if row in number] for i in range(tags.shape[0])]
        labels = Vocabulary([vocabulary.labels[row] for row in chosen])
        order = rng.permutation([i for i, each in enumerate(part) if each])
        yield labels, vectors[chosen], build_tags(part, len(chosen)), order[:PART]


def collect(papers: Sequence[Paper], vectors: Floats, parts: Parts, near: bool) -> tuple[Floats, Floats, Floats, int]:
    """Return features, whether each candidate is right, a number for its paper, and how many right labels there are."""
    features, right, owners, relevant, number = [], [], [], 0, 0
    for vocabulary, label_vectors, tags, rows in parts:
        collector = EvidenceCollector(vocabulary, label_vectors)
        others = np.setdiff1d(np.arange(len(papers)), rows)[:NEAR_PAPERS]
        tagged = NearestPapers(vectors[others], tags[others]) if near else None
        for start in range(0, len(rows), RANKED_BLOCK):
            part = rows[start : start + RANKED_BLOCK]
            found = collector.collect([papers[i] for i in part], vectors[part], near=tagged, located=vectors[part])
            features.append(found.features)
            right.append(np.asarray(tags[part[found.papers], found.labels], np.float32))
            owners.append(found.papers + number)
            number += len(part)
        relevant += int(np.diff(tags.indptr)[rows].sum())
    return np.concatenate(features), np.concatenate(right), np.concatenate(owners), relevant


def fit(features: Floats, right: Floats, owners: Floats, relevant: int, columns: list[int], seed: int) -> Weighing:
    """Fit a ranker on most papers; calibrate it and choose its threshold on the others."""
    held_out = np.random.default_rng(seed).random(int(owners.max()) + 1) < HELD_OUT
    held = held_out[owners]
    ranker = Ranker.fit(features[~held], right[~held], columns, seed=seed)
    scores, outcome = ranker.score(features[held]), right[held].astype(np.float64)
    whole = Calibration.fit(scores, outcome)
    places = np.unique(np.quantile(whole.scores, np.linspace(0, 1, STEPS)))
    calibration = Calibration(places, whole.apply(places))
    threshold = choose_threshold(calibration.apply(scores), outcome, int(relevant * held_out.mean()))
    return Weighing(ranker, calibration, threshold)


def rounded(values: object) -> object:
    """Return JSON values with five significant digits."""
    if isinstance(values, float):
        return float(f"{values:.5g}")
    if isinstance(values, list):
        return [rounded(each) for each in values]
    return {key: rounded(each) for key, each in values.items()} if isinstance(values, dict) else values


def main() -> None:
    data = read_mesh(Path(os.environ.get("SCIPRISM_DATA", "data")))
    rows = data.rows("train")
    papers, tags = [data.papers[i] for i in rows], data.tags[rows]
    encode = TagVectors(Encoder.load())
    vectors, label_vectors = encode.encode(papers), encode.encode(data.vocabulary.labels, "label")
    found = {}
    for name, near in (("names", False), ("names and papers", True)):
        columns = [
            FEATURES.index(each) for each in (*NAME_FEATURES, *(NEAR_FEATURES if near else ())) if each not in UNSEEN
        ]
        parts = list_vocabularies(data.vocabulary, label_vectors, tags, np.random.default_rng(0))
        weighing = fit(*collect(papers, vectors, parts, near), columns, 0)
        found[name] = rounded(weighing.to_json())
        print(f"{name}: threshold {weighing.threshold:.3f}")
    write_lines(TARGET, [json.dumps(found)])


if __name__ == "__main__":
    main()
