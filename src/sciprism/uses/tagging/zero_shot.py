"""A tagger for a vocabulary without training: its ranker was trained on another vocabulary's names."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import numpy as np

from sciprism.arrays import Floats
from sciprism.uses.tagging.evidence import FEATURES
from sciprism.uses.tagging.nearest import NearestPapers
from sciprism.uses.tagging.ranker import Calibration, Ranker
from sciprism.uses.tagging.tagged_papers import TaggedPapers
from sciprism.uses.tagging.tagger import Learned, Tagger, Weighing
from sciprism.uses.tagging.vocabulary import Vocabulary

RANKER_FILE = "default_ranker.json"
"""The rankers that ship, trained by benchmarks/tagging_default.py on MeSH terms of PubMed papers."""


def build_zero_shot(vocabulary: Vocabulary, label_vectors: Floats, *, tagged: TaggedPapers | None = None) -> Tagger:
    """Return a tagger that weighs names, meaning and, if given, the tags of similar papers.

    label_vectors: (labels, e). tagged: papers with tags of the vocabulary, a few or many.
    """
    known = json.loads(files("sciprism.uses.tagging").joinpath(RANKER_FILE).read_text(encoding="utf-8"))
    weighing = read_weighing(known["names" if tagged is None else "names and papers"])
    near = NearestPapers(tagged.vectors, tagged.tags) if tagged is not None else None
    facts: dict[str, Any] = {"threshold": round(weighing.threshold, 4)}
    if tagged is not None:
        facts["tagged papers"] = len(tagged.papers)
    return Tagger(vocabulary, label_vectors, weighing, Learned(near), facts=facts)


def weighing_to_json(weighing: Weighing) -> dict[str, Any]:
    """Return ranker, calibration and threshold as JSON values; features by name."""
    ranker = weighing.ranker.to_json()
    ranker["columns"] = [FEATURES[column] for column in weighing.ranker.columns]
    calibration = weighing.calibration
    return {
        "ranker": ranker,
        "calibration": {"scores": calibration.scores.tolist(), "probabilities": calibration.probabilities.tolist()},
        "threshold": weighing.threshold,
    }


def read_weighing(values: dict[str, Any]) -> Weighing:
    """Return the ranker, calibration and threshold of `weighing_to_json`; ValueError for an unknown feature."""
    columns = [FEATURES.index(name) for name in values["ranker"]["columns"]]
    ranker = Ranker.from_json({**values["ranker"], "columns": columns})
    steps = (np.array(values["calibration"][name], np.float64) for name in ("scores", "probabilities"))
    return Weighing(ranker, Calibration(*steps), float(values["threshold"]))
