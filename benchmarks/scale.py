"""A million papers in four parts with one worker killed twice, merged, searched here; a collection pushed to databases.

The texts are of real papers: a title and two sentences of its abstract, the second after the first, or the first
after the last; so a paper of eight sentences gives eight records of different text. The titles of 200 papers that gave
no record are the queries.
Each stage is stored when it ends, and the next one needs what it left in FOLDER. Recall@10 is the share of the ten best
papers of exact search that are found, or of search here by the same words. `push` takes any collection, whose titles
are the queries; each push and each search is a process of its own, and the vectors of queries are made beforehand. Run
from the repository root:

    for stage in papers embed index search; do
        python benchmarks/scale.py $stage FOLDER --data DATA -o results/scale.json
    done
    python benchmarks/scale.py push COLLECTION --to ADDRESS ... -o results/scale.json
"""

from __future__ import annotations

import gzip
import json
import signal
import statistics
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from measurement import build_parser, peak_memory_mb, provenance, run_apart, write_result
from sciprism.databases import RemoteCollection, push
from sciprism.store import StoredCollection
from sciprism.store.collection import is_collection, read_manifest
from sciprism.text.sentences import split_sentences
from sciprism.uses.collection import load_encoder
from sciprism.uses.search import search

SOURCES = (
    "arxiv_multidomain/papers-0.jsonl.gz",
    "arxiv_multidomain/papers-1.jsonl.gz",
    "conference_papers/papers-0.jsonl.gz",
    "conference_papers/papers-1.jsonl.gz",
    "conference_papers/papers-2.jsonl.gz",
    "xmc_pubmed_mesh/papers.jsonl.gz",
)
FILES, PARTS, AT_ONCE, QUERIES = 32, 4, 2, 200
DEPTH, WARM_UP, MODES = 10, 3, ("exact", "lexical", "hybrid")
QUERY_STEP = 700
"""One in so many papers is a query and gives no record."""
KILLED_PART, KILLED_AT = 3, (0.3, 0.7)
"""The part whose worker is killed, and the shares of its papers at which."""


def read_papers(data: Path) -> Iterator[dict[str, Any]]:
    """Yield the real papers that have a title and an abstract."""
    for source in SOURCES:
        with gzip.open(data / source, "rt", encoding="utf-8") as file:
            for line in file:
                paper = json.loads(line)
                if paper.get("title") and paper.get("abstract"):
                    yield paper


def vary(paper: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a record for each sentence of a paper's abstract, with the next one."""
    sentences = split_sentences(paper["abstract"])
    following = sentences[1:] + sentences[:1]
    for number, pair in enumerate(zip(sentences, following, strict=True)):
        abstract = " ".join(pair)
        facts = {name: paper[name] for name in ("year", "venue") if paper.get(name)}
        fields = [field] if (field := paper.get("field")) else []
        yield {"id": f"{paper['id']}/{number}", "title": paper["title"], "abstract": abstract, "fields": fields} | facts


def write_papers(options: Namespace) -> dict[str, Any]:
    """Write the records, dealt to 32 files in turn, and the queries."""
    folder = options.folder / "papers"
    folder.mkdir(parents=True)
    queries: list[str] = []
    with ExitStack() as stack:
        files = [stack.enter_context((folder / f"{number:02d}.jsonl").open("w")) for number in range(FILES)]
        rows = deal(read_papers(options.data), files, queries, options.rows)
    (options.folder / "queries.txt").write_text("".join(f"{query}\n" for query in queries))
    size = sum(path.stat().st_size for path in folder.iterdir())
    return {"rows": rows, "queries": len(queries), "megabytes": round(size / 1e6), "sources": SOURCES}


def deal(papers: Iterator[dict[str, Any]], files: list[TextIO], queries: list[str], rows: int) -> int:
    """Write so many records to the files in turn, add queries, and return how many were written."""
    written = 0
    for number, paper in enumerate(papers):
        if number % QUERY_STEP == 0 and len(queries) < QUERIES:
            queries.append(" ".join(paper["title"].split()))
            continue
        for record in islice(vary(paper), rows - written):
            files[written % len(files)].write(json.dumps(record) + "\n")
            written += 1
    return written


def start_part(folder: Path, part: int) -> subprocess.Popen[bytes]:
    """Start the worker of a part with one thread."""
    target = folder / "parts" / str(part)
    words = ("embed", folder / "papers", "-o", target, "--part", f"{part}/{PARTS}", "--threads", 1)
    log = (folder / f"part-{part}.log").open("ab")
    command = [sys.executable, "-m", "sciprism", *map(str, words), "--dtype", "float16"]
    return subprocess.Popen(command, stdout=log, stderr=log)


def embed_parts(options: Namespace) -> dict[str, Any]:
    """Run the workers, two at once; kill that of one part twice, and start it again."""
    folder, began = options.folder, time.perf_counter()
    waiting, kills = list(range(1, PARTS + 1)), list(KILLED_AT)
    running: dict[int, subprocess.Popen[bytes]] = {}
    killed: list[dict[str, Any]] = []
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            part = waiting.pop(0)
            running[part] = start_part(folder, part)
        time.sleep(2)
        if kills and KILLED_PART in running and (done := share_done(options)) >= kills[0]:
            running[KILLED_PART].send_signal(signal.SIGKILL)
            running[KILLED_PART].wait()
            killed.append({"at share of its papers": round(done, 3)})
            running[KILLED_PART] = start_part(folder, KILLED_PART)
            kills.pop(0)
        for part in [part for part, process in running.items() if process.poll() is not None]:
            if running.pop(part).returncode:
                raise RuntimeError(f"part {part} failed: {folder}/part-{part}.log")
    seconds = time.perf_counter() - began
    return {"parts": PARTS, "workers at once": AT_ONCE, "seconds": round(seconds), "killed": killed} | merge(folder)


def share_done(options: Namespace) -> float:
    """Return which share of the papers of the killed part is stored, about; 0 before its worker is at work."""
    part = options.folder / "parts" / str(KILLED_PART)
    return read_manifest(part).rows * PARTS / options.rows if is_collection(part) else 0.0


def merge(folder: Path) -> dict[str, Any]:
    """Merge and verify by the commands; return their seconds and what they printed."""
    merged, merge_seconds = run("merge", folder / "parts", "-o", folder / "vecs", "--json")
    _, verify_seconds = run("verify", folder / "vecs")
    size = sum(path.stat().st_size for path in (folder / "vecs").rglob("*") if path.is_file())
    found = {"papers": json.loads(merged)["papers"], "megabytes": round(size / 1e6)}
    return {"merge": found | {"seconds": merge_seconds}, "seconds to verify all bytes": verify_seconds}


def run(*words: Any) -> tuple[str, float]:
    """Run a command of sciprism; return what it printed, and its seconds. Raises CalledProcessError."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "sciprism", *map(str, words)]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return printed, round(time.perf_counter() - began, 1)


def index_collection(options: Namespace) -> dict[str, Any]:
    """Index the merged collection by words and by vectors."""
    vecs = options.folder / "vecs"
    _, lexical = run("index", vecs, "--lexical")
    printed, approximate = run("index", vecs, "--approximate", "--json")
    built = json.loads(printed)["approximate"]
    return {
        "seconds of index --lexical": lexical,
        "seconds of index --approximate": approximate,
        "approximate index": built,
    }


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
        return np.stack([self._vectors[query, format] for query in queries])


def search_collection(vecs: Path, queries: Sequence[str], address: str, modes: Sequence[str]) -> dict[str, Any]:
    """Return recall@10 and latency of each mode in a database, or here without an address."""
    stored = StoredCollection.open(vecs)
    encoder: Any = CachedQueries(load_encoder(stored), queries)
    remote = RemoteCollection(address) if address else None

    def rank(query: str, mode: str, *, here: bool) -> list[str]:
        options = {"mode": mode, "why": False}
        if here or remote is None:
            (found,) = search(stored, encoder, query, DEPTH, **options)
        else:
            (found,) = remote.rank(encoder, [query], DEPTH, **options)
        return [hit.id for hit in found.hits]

    result: dict[str, Any] = {}
    for mode in modes:
        seconds, recalls = [], []
        for number, query in enumerate([*queries[:WARM_UP], *queries]):
            began = time.perf_counter()
            found = rank(query, mode, here=False)
            if number >= WARM_UP:
                seconds.append(time.perf_counter() - began)
                wanted = rank(query, "exact" if mode == "approximate" else mode, here=True)
                recalls.append(len({*wanted} & {*found}) / max(1, len(wanted)))
        result[mode] = {
            "recall@10": round(statistics.mean(recalls), 4),
            "median ms": round(1000 * statistics.median(seconds), 2),
            "95th percentile ms": round(1000 * float(np.quantile(seconds, 0.95)), 2),
        }
    return result | {"peak memory MB": peak_memory_mb()}


def measure_searches(options: Namespace) -> dict[str, Any]:
    """Search the merged collection in every mode, and compare the approximate answers with the exact ones."""
    queries = (options.folder / "queries.txt").read_text().splitlines()
    found = search_collection(options.folder / "vecs", queries, "", (*MODES, "approximate"))
    return {"queries": len(queries)} | found


def measure_push(vecs: Path, address: str, approximate: bool) -> dict[str, Any]:
    """Push, and return the counts, the seconds and the peak memory."""
    began = time.perf_counter()
    report = push(vecs, address, approximate=approximate)
    seconds, papers = time.perf_counter() - began, report.new + report.changed
    rates = {"seconds": round(seconds, 2), "papers per second": round(papers / seconds, 1)}
    return rates | {"papers": papers, "peak memory MB": peak_memory_mb(), "recall of the check": report.recall}


def push_collection(options: Namespace) -> dict[str, Any]:
    """Push a collection to each database, twice, and search it there and here."""
    stored, vecs = StoredCollection.open(options.folder), options.folder
    rows = stored.live[np.linspace(0, len(stored.live) - 1, options.queries).astype(np.int64)]
    queries = list(dict.fromkeys(paper.title for paper in stored.papers(rows) if paper.title.strip()))
    result: dict[str, Any] = {"papers": len(stored), "queries": len(queries)}
    result["local"] = run_apart(search_collection, vecs, queries, "", MODES)
    for address in options.to:
        first, again = (run_apart(measure_push, vecs, address, options.approximate) for _ in range(2))
        modes = ("approximate",) * options.approximate + MODES
        found = run_apart(search_collection, vecs, queries, address, modes)
        result[address.partition(":")[0]] = {"push": first, "push again": again, "search": found}
    return result


STAGES = {"papers": write_papers, "embed": embed_parts, "index": index_collection}
STAGES |= {"search": measure_searches, "push": push_collection}


def main() -> None:
    """Run one stage."""
    parser = build_parser(__doc__)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data", type=Path, help="the folder of real data sets")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=50, help="of what was pushed: embedded databases are slow")
    parser.add_argument("--to", nargs="*", default=[], help="addresses of databases")
    parser.add_argument("--approximate", action="store_true", help="push an approximate index, and search by it")
    options = parser.parse_args()
    packages = ("torch", "sciprism", "numpy", "faiss-cpu", "psycopg", "qdrant-client")
    result = provenance(packages) | STAGES[options.stage](options)
    write_result(options.output, result, options.stage)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
