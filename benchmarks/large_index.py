"""Approximate indexes of large collections: build time, memory, size, recall@10 and latency, against exact search.

The papers are synthetic, stored by the public path with int8 vectors of 384 numbers. A vector is a mean, a topic, a
subtopic, a line of work and noise, all with the spectrum of variance of real vectors, in a random rotation; groups have
Zipf's sizes and rows different noise. The shares were set so that distances contrast as those of sciprism-small on
12,000 papers of arXiv do. Subtopics and lines grow with the number of
papers: a line has as many papers at any size, and the neighbours of a paper are of several lines. Queries are new
papers of the same distribution, never stored. Every step is a separate process; the papers are made once, and a killed
run goes on. Run from the repository root, where FOLDER is on a disk with 0.8 kB a paper:

    python benchmarks/large_index.py 1M --folder FOLDER -o results/large_index.json
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import Any, ClassVar

import faiss
import numpy as np
import torch

from measurement import build_parser, provenance, read_memory, run_apart, write_result
from sciprism.arrays import Floats
from sciprism.index import approximate, exact
from sciprism.papers import Paper
from sciprism.store import CollectionLayout, StoredCollection, embed

DIM, K, QUERIES, EXACT_QUERIES, NEW = 384, 10, 500, 10, 200_000_000
SIZES = {"10k": 10_000, "100k": 100_000, "1M": 1_000_000, "10M": 10_000_000}
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
    device = torch.device("cpu")
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
    before = StoredCollection.open(folder).rows if (folder / "manifest.json").exists() else 0
    embed(generate_papers(rows), SyntheticEncoder(rows), folder, layout=CollectionLayout(dtype="int8"))  # type: ignore[arg-type]
    seconds = time.perf_counter() - began
    return {"papers": rows, "papers made now": rows - before, "seconds": round(seconds, 1)}


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


def build(folder: Path) -> dict[str, Any]:
    """Build an index, and return the seconds of each step."""
    steps: dict[str, float] = {}
    state = ["opening", time.perf_counter()]

    def note(work: str, *_: Any) -> None:
        if work != state[0]:
            now = time.perf_counter()
            steps[state[0]] = round(now - state[1], 1)
            state[:] = [work, now]

    facts: dict[str, Any] = {"seconds": 0.0}
    began = time.perf_counter()
    with watch_memory(facts):
        stored = StoredCollection.open(folder)
        (built,) = approximate.build(stored, progress=note)
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
    stored = StoredCollection.open(folder)
    (space,) = stored.manifest.spaces
    queries = synthetic_vectors(stored.rows).make(NEW, QUERIES)
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


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("size", choices=SIZES)
    parser.add_argument("--folder", type=Path, required=True, help="where the papers are made, once for each size")
    args = parser.parse_args()
    rows, folder = SIZES[args.size], args.folder / args.size
    facts = {"made": run_apart(make, folder, rows)}
    facts["ivf"] = {"index": run_apart(build, folder), "search": run_apart(measure, folder)}
    print(json.dumps(facts, indent=1))
    write_result(args.output, provenance(["sciprism", "faiss-cpu", "numpy", "torch"], **facts), args.size)


if __name__ == "__main__":
    main()
