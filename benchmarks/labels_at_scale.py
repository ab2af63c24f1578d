"""Does ranking the largest vocabulary for the largest paper set stay within 4 GB?

SciMult's Chemistry-MeSH: 762,129 papers and 30,194 labels. Vectors are random and stand in the cache as an
encoder's would; all after them is the protocol's own work. Peak memory is that of a process of its own.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rounds import provenance, write
from sciprism.datasets.inputs import LabelSpace
from sciprism.evaluation.item_scores import estimate
from sciprism.evaluation.protocols.label import LabelRanking
from sciprism.evaluation.systems.dense import DenseSystem
from sciprism.evaluation.task import View
from sciprism.formats import Format, Role
from sciprism.papers import Label, Paper
from sciprism.text.template import Item, Template

WORDS = [f"w{number}" for number in range(20_000)]


class Drawn:
    """An encoder's face that draws vectors instead of computing them."""

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

    def encode(
        self,
        items: Sequence[Item],
        *,
        format: Format,
        role: Role,
        fields: Sequence[str],
    ) -> np.ndarray:
        return self._random.standard_normal((len(items), self.dim), np.float32)


def made(papers: int, labels: int) -> LabelSpace:
    """Return papers of about 20 words with 14 labels each; words are drawn, so that names occur in texts."""
    draw = np.random.default_rng(1)
    words = draw.integers(0, len(WORDS), (papers, 20)).astype(np.int32)
    gold = np.sort(draw.integers(0, labels, (papers, 14)), axis=1)
    names = draw.integers(0, len(WORDS), (labels, 2))
    return LabelSpace(
        paper_ids=[str(number) for number in range(papers)],
        papers=[Paper(id=str(n), title=" ".join(WORDS[w] for w in row)) for n, row in enumerate(words)],
        labels=[Label(id=str(n), name=" ".join(WORDS[w] for w in row)) for n, row in enumerate(names)],
        gold=[np.unique(row) for row in gold],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--papers", type=int, default=762_129)
    parser.add_argument("--labels", type=int, default=30_194)
    parser.add_argument("--dim", type=int, default=768)
    parser.add_argument("-o", "--output", type=Path, default=Path("results/labels_at_scale.json"))
    arguments = parser.parse_args()
    data = made(arguments.papers, arguments.labels)
    texts = _peak()
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        system = DenseSystem(Drawn(arguments.dim), Path(folder))
        outcome = LabelRanking(names_first=True).evaluate(data, system, View(format="classification"))
        seconds = time.monotonic() - began
    facts = provenance(
        ["torch", "numpy"], papers=arguments.papers, labels=arguments.labels, dim=arguments.dim
    )
    write(
        arguments.output,
        facts
        | {
            "peak_memory_gb": round(_peak() / 1e6, 2),
            "of_that_texts_and_gold_gb": round(texts / 1e6, 2),
            "seconds": round(seconds),
            "recall": {name: round(estimate(items), 5) for name, items in outcome.evidence.items()},
        },
    )


def _peak() -> int:
    """Return the largest resident memory so far, in kB; pages of mapped files count while resident."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
