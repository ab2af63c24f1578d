"""Sampling triplets from a million papers: seconds, peak memory, and the same bytes with 1 and 2 workers.

A citation graph is grown (grown_graph.py) and written as papers with short texts, fields and references; then
`sciprism prepare citations` runs in a process of its own for each number of workers. Run from the repository
root:

    python benchmarks/sampling.py --size 1000000 --edges 10000000 -o results/sampling.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from grown_graph import grow
from rounds import provenance, write

FIELDS = ("Art", "Biology", "Chemistry", "Geology", "Medicine", "Physics")


def write_papers(path: Path, size: int, edges: int, seed: int) -> None:
    grown = grow(size, edges, seed=seed)
    graph = grown.graph
    with path.open("w", encoding="utf-8") as file:
        for row in range(size):
            paper = {
                "id": f"p{row}",
                "title": f"Paper {row} on topic {grown.topic[row]}",
                "abstract": f"We look at topic {grown.topic[row]} once more.",
                "fields": [FIELDS[grown.topic[row] % len(FIELDS)]],
                "references": [f"p{other}" for other in graph.answers(row)],
            }
            file.write(json.dumps(paper) + "\n")


def sample(papers: Path, out: Path, sampler: str, workers: int, options: list[str]) -> dict[str, Any]:
    """Run the command; return its seconds, its peak memory with its workers', and what it wrote."""
    words = ["prepare", "citations", str(papers), "-o", str(out), "--sampler", sampler]
    words += ["--workers", str(workers), *(word for option in options for word in ("--set", option))]
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "sciprism", *words])
    peak = 0
    while process.poll() is None:
        peak = max(peak, memory(process.pid))
        time.sleep(0.5)
    if process.returncode:
        raise SystemExit(process.returncode)
    seconds = time.perf_counter() - began
    told = json.loads((out / "citations.json").read_text("utf-8"))
    digests = {name: digest(out / name) for name in ("train.jsonl", "dev.jsonl", "papers.jsonl")}
    return {
        "workers": workers,
        "seconds": round(seconds, 1),
        "papers_per_second": round(told["papers"] / seconds),
        "peak_memory_mb": peak,
        "queries": told["train"]["queries"],
        "triplets": told["train"]["pairs"],
        "citations": told["citations"],
        "sha256": digests,
    }


def memory(pid: int) -> int:
    """Return what a process and those that it began hold, in MB; shared pages count for each."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        own = pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000
        return own + sum(map(memory, map(int, children.read_text().split())))
    except OSError:
        return 0


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--sampler", default="specter")
    parser.add_argument("--set", dest="options", action="append", default=[])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        papers = Path(folder) / "papers.jsonl"
        write_papers(papers, args.size, args.edges, args.seed)
        runs = [
            sample(papers, Path(folder) / f"{count}", args.sampler, count, args.options)
            for count in args.workers
        ]
    same = len({json.dumps(run.pop("sha256")) for run in runs}) == 1
    facts = {"sampler": args.sampler, "options": args.options, "size": args.size, "edges": args.edges}
    result = provenance(["numpy", "sciprism"], **facts, same_bytes=same, runs=runs)
    print(json.dumps(result, indent=1))
    if args.output:
        write(args.output, result)


if __name__ == "__main__":
    main()
