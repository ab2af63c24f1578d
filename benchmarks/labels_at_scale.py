"""Check that ranking the largest vocabulary for the largest paper set stays within 4 GB.

SciMult's Chemistry-MeSH: 762,129 papers and 30,194 labels. Vectors are random, and cached as those of an
encoder; all else is the protocol's work. Peak memory is measured in a separate process.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from measurement import build_parser, peak_memory_mb, provenance, write_result
from sciprism.datasets.inputs import LabelInput
from sciprism.evaluation.intervals import estimate
from sciprism.evaluation.protocols.label import LabelProtocol
from sciprism.evaluation.systems import DenseSystem
from sciprism.evaluation.task import EvaluationContext
from sciprism.formats import Format, Role
from sciprism.papers import Label, Paper
from sciprism.text.template import Item, Template

WORDS = [f"w{number}" for number in range(20_000)]


class RandomEncoder:
    """An encoder with random vectors."""

    name, fingerprint, distance = "drawn", "drawn", "dot"

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self._random = np.random.default_rng(0)

    def describe(self) -> dict[str, object]:
        return {"dim": self.dim}

    def space(self, format: Format, role: Role) -> str:
        return "one"

    def path(self, format: Format, role: Role) -> str:
        return role

    def texts(self, items: Sequence[Item], role: Role, fields: Sequence[str]) -> list[str]:
        return [Template().text(item, role, fields) for item in items]

    def encode(self, items: Sequence[Item], *, format: Format, role: Role, fields: Sequence[str]) -> np.ndarray:
        return self._random.standard_normal((len(items), self.dim), np.float32)


def build_input(papers: int, labels: int) -> LabelInput:
    """Return papers of about 20 words with 14 labels each; words are random, so that names occur in texts."""
    random = np.random.default_rng(1)
    words = random.integers(0, len(WORDS), (papers, 20)).astype(np.int32)
    gold = np.sort(random.integers(0, labels, (papers, 14)), axis=1)
    names = random.integers(0, len(WORDS), (labels, 2))
    return LabelInput(
        paper_ids=[str(number) for number in range(papers)],
        papers=[Paper(id=str(n), title=" ".join(WORDS[w] for w in row)) for n, row in enumerate(words)],
        labels=[Label(id=str(n), name=" ".join(WORDS[w] for w in row)) for n, row in enumerate(names)],
        gold=[np.unique(row) for row in gold],
    )


def main() -> None:
    parser = build_parser(__doc__, output=Path("results/labels_at_scale.json"))
    parser.add_argument("--papers", type=int, default=762_129)
    parser.add_argument("--labels", type=int, default=30_194)
    parser.add_argument("--dim", type=int, default=768)
    args = parser.parse_args()
    data = build_input(args.papers, args.labels)
    texts = peak_memory_mb()
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        system = DenseSystem(RandomEncoder(args.dim), Path(folder))
        outcome = LabelProtocol(names_first=True).evaluate(data, system, EvaluationContext(format="classification"))
        seconds = time.monotonic() - began
    facts = provenance(["torch", "numpy"], papers=args.papers, labels=args.labels, dim=args.dim)
    write_result(
        args.output,
        facts
        | {
            "peak_memory_gb": round(peak_memory_mb() * 1024 / 1e6, 2),
            "of_that_texts_and_gold_gb": round(texts * 1024 / 1e6, 2),
            "seconds": round(seconds),
            "recall": {name: round(estimate(items), 5) for name, items in outcome.item_scores.items()},
        },
    )


if __name__ == "__main__":
    main()
