"""Recommend from large collections: papers a second, and whether memory stays flat.

Papers are synthetic (random words and vectors of 384 numbers); each size has a separate process. The library has 500
papers in five groups. `peak_memory_mb` counts the mapped vectors, 1.5 kB a paper; `peak_private_mb` does not. Run from
the repository root:

    python benchmarks/recommending_scale.py --sizes 40000 160000 -o results/recommending_scale.json
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from measurement import build_parser, peak_memory_mb, provenance, read_memory, run_apart, write_result
from sciprism import Paper
from sciprism.store import embed
from sciprism.uses.recommending import RecommendSettings, recommend

DIM, GROUPS, LIBRARY = 384, 5, 500
CENTRES = np.random.default_rng(0).standard_normal((GROUPS, DIM)).astype(np.float32)


class RandomEncoder:
    """Gives papers vectors near one of the groups, by a hash of the title."""

    name, fingerprint, distance, dim = "random", "random", "cosine", DIM
    formats = ("proximity",)
    options: dict[str, Any] = {}  # noqa: RUF012 (an encoder's attribute)

    def space(self, format: str = "proximity", role: str = "paper") -> str:
        return "random"

    def path(self, format: str = "proximity", role: str = "paper") -> str:
        return "random"

    def texts(self, items: Sequence[Paper], role: str = "paper") -> list[str]:
        return [f"{paper.title} {paper.abstract}" for paper in items]

    def encode(self, items: Sequence[Paper], **options: Any) -> np.ndarray:
        seeds = [int(paper.id.removeprefix("p")) for paper in items]
        random = np.random.default_rng(seeds[0])
        noise = random.standard_normal((len(seeds), DIM)).astype(np.float32)
        return CENTRES[np.array(seeds) % GROUPS] + 2 * noise

    def encode_all(self, items: Sequence[Paper], **options: Any) -> dict[str, np.ndarray]:
        return {"proximity": self.encode(items)}


def generate_papers(first: int, count: int) -> Iterator[Paper]:
    words = [f"word{number}" for number in range(5000)]
    for number in range(first, first + count):
        random = np.random.default_rng(number)
        chosen = [words[i] for i in random.integers(0, len(words), 160)]
        yield Paper(
            id=f"p{number}",
            title=" ".join(chosen[:10]),
            abstract=" ".join(chosen[10:]),
            authors=(f"Author {number % 997}", "Second Author"),
            year=1990 + number % 35,
            ids={"doi": f"10.1000/{number}"},
        )


def measure(folder: Path) -> dict[str, Any]:
    """Return the facts of one run; called in a separate process, so that its peak is its own."""
    private: list[float] = []
    before, began = peak_memory_mb(), time.perf_counter()
    found = recommend(
        folder / "library",
        folder / "new",
        settings=RecommendSettings(k=50),
        progress=lambda *_: private.append(read_memory("RssAnon")),
    )
    seconds = time.perf_counter() - began
    return {
        "new_papers": found.counts.new,
        "owned": sum(found.counts.owned.values()),
        "interests": len(found.interests),
        "seconds": round(seconds, 1),
        "papers_per_second": round(found.counts.new / seconds),
        "memory_before_mb": before,
        "peak_private_mb": max(private),
        "peak_memory_mb": peak_memory_mb(),
    }


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[40_000, 160_000])
    args: argparse.Namespace = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as temporary:
        folder, done = Path(temporary), 0
        embed(generate_papers(0, LIBRARY), RandomEncoder(), folder / "library")
        for size in sorted(args.sizes):
            embed(generate_papers(done, size - done), RandomEncoder(), folder / "new")
            done = size
            runs.append(run_apart(measure, folder))
            print(runs[-1], flush=True)
    facts = {"library": LIBRARY, "dim": DIM, "k": 50, "runs": runs}
    write_result(args.output, provenance(["sciprism", "numpy", "torch", "pyarrow"], **facts))


if __name__ == "__main__":
    main()
