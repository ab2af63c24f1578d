"""Approximate indexes of large collections: build time, memory, size, recall@10 and latency, against exact search.

The papers are synthetic, stored by the public path with int8 vectors of 384 numbers. A vector is a mean, a topic, a
subtopic, a line of work and noise, all with the spectrum of variance of real vectors, in a random rotation; groups have
Zipf's sizes and rows different noise. The shares were set so that distances contrast as those of sciprism-small on
12,000 papers of arXiv do (`contrast --real COLLECTION` measures both). Subtopics and lines grow with the number of
papers: a line has as many papers at any size, and the neighbours of a paper are of several lines. Queries are new
papers of the same distribution, never stored. Every step is a separate process; the papers are made once, and a killed
run goes on. 200 million papers are computed from what was measured, not run. Run from the repository root, where FOLDER
is on a disk with 0.8 kB a paper:

    python benchmarks/large_index.py 1M --folder FOLDER -o results/large_index.json
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import Any, ClassVar

import numpy as np

from measurement import build_parser, provenance, read_memory, run_apart, write_result
from sciprism.arrays import Floats
from sciprism.index import approximate, exact
from sciprism.papers import Paper
from sciprism.store import CollectionLayout, StoredCollection, embed
from sciprism.store.paper_lookup import iterate_vectors

DIM, K, QUERIES, EXACT_QUERIES, FUTURE_ROWS = 384, 10, 500, 10, 200_000_000
SIZES = {"100k": 100_000, "1M": 1_000_000, "10M": 10_000_000}
SHARES = {"mean": 0.11, "topic": 0.16, "subtopic": 0.22, "line": 0.20, "noise": 0.31}
"""Shares of a vector's squared length."""
GROUPS = {"topic": (64, 64), "subtopic": (32, 4096), "line": (20, 1 << 15)}
"""Groups inside the group above, at CONTRAST_ROWS papers, and the table that their centres are taken from."""
ZIPF, NOISE_SPREAD = 0.7, 0.3
"""Exponent of the sizes of groups; spread of the logarithm of a row's noise."""
CONTRAST_ROWS = 12_000


class SyntheticVectors:
    """Vectors of numbered papers, the same for the same numbers. rows: of all papers."""

    def __init__(self, rows: int) -> None:
        growth = max(1.0, (rows / CONTRAST_ROWS) ** 0.5)
        self._groups = {name: round(size * (name == "topic" or growth)) for name, (size, _) in GROUPS.items()}
        random = np.random.default_rng(0)
        self._rotation = np.linalg.qr(random.standard_normal((DIM, DIM)))[0].astype(np.float32)
        spectrum = np.sqrt(1 / (np.arange(DIM) + 10))
        self._spectrum = (spectrum / np.linalg.norm(spectrum)).astype(np.float32)
        tables = {name: size for name, (_, size) in GROUPS.items()}
        self._centres = {name: self._draw(random, size) * SHARES[name] ** 0.5 for name, size in tables.items()}
        mean = self._draw(random, 1)[0]
        self._mean = mean / np.linalg.norm(mean) * SHARES["mean"] ** 0.5

    def make(self, first: int, count: int) -> Floats:
        """Return the vectors (count, DIM) of papers; those of one block depend on its first number and its size."""
        random = np.random.default_rng([1, first])
        vectors = np.tile(self._mean, (count, 1))
        above = np.zeros(count, np.int64)
        for name, (_, table) in GROUPS.items():
            sizes = 1 / (np.arange(self._groups[name]) + 1) ** ZIPF
            above = (above * 7919 + random.choice(len(sizes), count, p=sizes / sizes.sum())) % table
            vectors += self._centres[name][above]
        lengths = np.exp(NOISE_SPREAD * random.standard_normal((count, 1), np.float32))
        vectors += self._draw(random, count) * lengths * SHARES["noise"] ** 0.5
        vectors = vectors @ self._rotation
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def _draw(self, random: np.random.Generator, count: int) -> Floats:
        return random.standard_normal((count, DIM), np.float32) * self._spectrum


@cache
def synthetic_vectors(rows: int) -> SyntheticVectors:
    """Return the source of vectors, made once in a process."""
    return SyntheticVectors(rows)


class SyntheticEncoder:
    """Gives a batch of numbered papers their vectors. rows: of all papers."""

    name, fingerprint, dim, distance = "synthetic", "large-index-2", DIM, "cosine"
    formats = ("proximity",)
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, rows: int) -> None:
        self._vectors = synthetic_vectors(rows)

    def space(self, format: str = "proximity", role: str = "paper") -> str:
        """Return the only space."""
        return "proximity"

    path = space

    def texts(self, items: Sequence[Any], role: str = "paper") -> list[str]:
        """Return titles."""
        return [item.title for item in items]

    def encode_all(self, items: Sequence[Any], *, formats: Sequence[str], **_: Any) -> dict[str, Floats]:
        """Return the vectors of a batch."""
        vectors = self._vectors.make(int(items[0].id), len(items))
        return dict.fromkeys(formats, vectors)


def generate_papers(count: int) -> Iterator[Paper]:
    """Yield numbered papers."""
    for number in range(count):
        yield Paper(id=str(number), title=f"Paper {number}", abstract="-", year=1950 + number % 70)


def make(folder: Path, rows: int) -> dict[str, Any]:
    """Store the papers that are not there yet."""
    began = time.perf_counter()
    before = approximate_rows(folder)
    embed(generate_papers(rows), SyntheticEncoder(rows), folder, layout=CollectionLayout(dtype="int8"))  # type: ignore[arg-type]
    seconds = time.perf_counter() - began
    return {"papers": rows, "papers made now": rows - before, "seconds": round(seconds, 1)}


def approximate_rows(folder: Path) -> int:
    """Return how many papers are stored."""
    return StoredCollection.open(folder).rows if (folder / "manifest.json").exists() else 0


@contextmanager
def watch_memory(facts: dict[str, Any]) -> Iterator[None]:
    """Record the largest memory without pages of mapped files, which the system takes back, and with them."""
    ended, largest = Event(), [read_memory("RssAnon")]
    facts["memory before MB"] = largest[0]

    def watch() -> None:
        while not ended.wait(0.1):
            largest.append(read_memory("RssAnon"))

    thread = Thread(target=watch, daemon=True)
    thread.start()
    yield
    ended.set()
    thread.join()
    facts["peak memory MB"] = max(largest)
    facts["peak with mapped files MB"] = read_memory("VmHWM")


def build(folder: Path, kind: str, recall: float, memory: float) -> dict[str, Any]:
    """Build an index, and return the seconds of each step."""
    steps: dict[str, float] = {}
    state = ["opening", time.perf_counter()]

    def note(work: str, *_: Any) -> None:
        if work != state[0]:
            now = time.perf_counter()
            steps[state[0]] = round(now - state[1], 1)
            state[:] = [work, now]

    facts: dict[str, Any] = {"kind": kind, "seconds": 0.0}
    began = time.perf_counter()
    with watch_memory(facts):
        stored = StoredCollection.open(folder)
        options = approximate.BuildOptions(kind, recall, memory)  # type: ignore[arg-type]
        (built,) = approximate.build(stored, options, progress=note)
    note("end")
    files = [path for path in (folder / "index/approximate").rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    vectors = sum(path.stat().st_size for path in (folder / "vectors").rglob("*.npy"))
    return facts | {
        "seconds": round(time.perf_counter() - began, 1),
        "seconds of steps": steps,
        "settings": built.settings,
        "reached": built.reached,
        "index MB": round(size / 1e6, 1),
        "index bytes a vector": round(size / stored.rows, 1),
        "stored vectors bytes each": round(vectors / stored.rows, 1),
    }


def measure(folder: Path) -> dict[str, Any]:
    """Search with new queries, one at a time."""
    import faiss
    import torch

    stored = StoredCollection.open(folder)
    (space,) = stored.manifest.spaces
    queries = synthetic_vectors(stored.rows).make(FUTURE_ROWS, QUERIES)
    torch.set_num_threads(2)
    wanted = exact.search(stored, space, queries, K, None)[1]
    memory = {"before": read_memory("RssAnon"), "mapped before": read_memory("RssFile")}
    began = time.perf_counter()
    approximate.search(stored, space, queries[:1], K, None)
    opened = time.perf_counter() - began
    scores, found = approximate.search(stored, space, queries, K, None)
    again = exact.rescore(queries, stored.vectors(space), found, K, "cosine")[0]
    hits = [len(set(a) & set(b)) / K for a, b in zip(found, wanted, strict=True)]
    facts: dict[str, Any] = {
        "queries": QUERIES,
        "recall@10": round(float(np.mean(hits)), 4),
        "standard error": round(float(np.std(hits) / QUERIES**0.5), 4),
        "scores equal exact ones": bool((scores == again).all()),
        "milliseconds to open and search once": round(1000 * opened, 1),
    }
    for threads in (1, 2):
        torch.set_num_threads(threads)
        faiss.omp_set_num_threads(threads)
        each = [time_search(approximate, stored, space, query) for query in queries]
        whole = [time_search(exact, stored, space, query) for query in queries[:EXACT_QUERIES]]
        facts[f"milliseconds, {threads} thread(s)"] = {
            "approximate p50": round(float(np.percentile(each, 50)), 2),
            "approximate p95": round(float(np.percentile(each, 95)), 2),
            "exact p50": round(float(np.percentile(whole, 50)), 1),
            "times faster": round(float(np.median(whole) / np.median(each)), 1),
        }
    memory |= {"after": read_memory("RssAnon"), "mapped after": read_memory("RssFile")}
    return facts | {"memory MB": memory}


def time_search(search: Any, stored: StoredCollection, space: str, query: Floats) -> float:
    """Return the milliseconds of one search."""
    began = time.perf_counter()
    search.search(stored, space, query[None], K, None)
    return 1000 * (time.perf_counter() - began)


def compute_future(rows: int, index: dict[str, Any]) -> dict[str, Any]:
    """Return what FUTURE_ROWS would take, computed from what was measured: lists grow as the root of the rows."""
    factor = FUTURE_ROWS / rows
    steps = index["seconds of steps"]
    seconds = {
        step: value * factor ** (1.5 if step.startswith("inverted lists") else 1.0 if step.startswith("merging") else 0)
        for step, value in steps.items()
        if not step.startswith(("training", "choosing"))
    }
    lists = index["settings"]["lists"] * factor**0.5
    codes = sum(value for step, value in steps.items() if step.startswith("training codes"))
    training = sum(value for step, value in steps.items() if step.startswith("training")) - codes
    choosing = sum(value for step, value in steps.items() if step.startswith("choosing"))
    return {
        "computed, not run": True,
        "rows": FUTURE_ROWS,
        "lists": round(lists),
        "index GB": round(FUTURE_ROWS * index["settings"]["entry_bytes"] / 1e9 + lists * DIM * 4 / 1e9, 1),
        "stored int8 vectors GB": round(FUTURE_ROWS * index["stored vectors bytes each"] / 1e9, 1),
        "hours to train": round((training * factor + codes) / 3600, 1),
        "hours to add and merge": round(sum(seconds.values()) / 3600, 1),
        "hours to choose settings": round(choosing * factor / 3600, 1),
        "MB of centroids in memory at search": round(lists * DIM * 4 / 1e6),
    }


def describe_contrast(vectors: Floats) -> dict[str, float]:
    """Return how near the nearest of vectors are: mean cosines, contrast of distances, local dimension."""
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    chosen = np.random.default_rng(0).choice(len(vectors), 500, replace=False)
    cosines = vectors[chosen] @ vectors.T
    cosines[np.arange(500), chosen] = -2
    near = -np.sort(-cosines, axis=1)[:, :100]
    others = cosines[cosines > -2]
    distances = np.sqrt(2 - 2 * np.minimum(near, 1))
    mean = np.sqrt(2 - 2 * others).mean()
    dimension = -1 / np.log(np.maximum(distances[:, :-1], 1e-6) / distances[:, -1:]).mean(axis=1)
    found = {f"cosine of neighbour {n}": near[:, n - 1].mean() for n in (1, 10, 100)}
    found |= {"cosine of all": others.mean(), "spread of the cosine of all": others.std()}
    found |= {f"mean distance over that of neighbour {n}": (mean / distances[:, n - 1]).mean() for n in (1, 10)}
    found["local dimension, 100 neighbours"] = np.median(dimension)
    variances = np.linalg.eigvalsh(np.cov(vectors.T))[::-1]
    found |= {f"variance in {n} dimensions": variances[:n].sum() / variances.sum() for n in (10, 64, 256)}
    return {name: round(float(value), 3) for name, value in found.items()}


def compare_contrast(real: Path) -> dict[str, Any]:
    """Compare the difficulty of synthetic vectors with that of a real collection."""
    stored = StoredCollection.open(real)
    vectors = np.concatenate(list(iterate_vectors(stored, next(iter(stored.manifest.spaces)))))[:CONTRAST_ROWS]
    made = np.concatenate([synthetic_vectors(CONTRAST_ROWS).make(first, 256) for first in range(0, len(vectors), 256)])
    facts = {"real": describe_contrast(vectors), "synthetic": describe_contrast(made[: len(vectors)])}
    return {"rows": len(vectors), "encoder": Path(stored.manifest.encoder.name).name, **facts}


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("size", choices=[*SIZES, "contrast"])
    parser.add_argument("--folder", type=Path, help="where the papers are made, once for each size")
    parser.add_argument("--kinds", nargs="*", default=["ivf"], choices=["hnsw", "ivf"])
    parser.add_argument("--recall", type=float, default=approximate.DEFAULT_RECALL)
    parser.add_argument("--memory", type=float, default=approximate.DEFAULT_MEMORY_GB)
    parser.add_argument("--real", type=Path, help="a collection of real papers, for `contrast`")
    args: argparse.Namespace = parser.parse_args()
    packages = ["sciprism", "faiss-cpu", "numpy", "torch"]
    if args.size == "contrast":
        facts = compare_contrast(args.real)
        print(json.dumps(facts, indent=1))
        write_result(args.output, provenance(packages, **facts), "contrast")
        return
    rows, folder = SIZES[args.size], args.folder / args.size
    facts = {"made": run_apart(make, folder, rows)}
    print(json.dumps(facts, indent=1), flush=True)
    for kind in args.kinds:
        index = run_apart(build, folder, kind, args.recall, args.memory)
        print(json.dumps(index, indent=1), flush=True)
        search = run_apart(measure, folder)
        print(json.dumps(search, indent=1), flush=True)
        facts[kind] = {"index": index, "search": search}
        if kind == "ivf":
            facts[kind]["200 million papers"] = compute_future(rows, index)
            print(json.dumps(facts[kind]["200 million papers"], indent=1), flush=True)
    write_result(args.output, provenance(packages, **facts), args.size)


if __name__ == "__main__":
    main()
