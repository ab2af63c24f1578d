"""Sampling triplets from a million papers: seconds, peak memory, and the same bytes with 1 and 2 workers.

A synthetic citation graph (synthetic_graph.py) is written as papers with short texts, fields and references.
`sciprism prepare citations` runs in a separate process for each number of workers. Run from the repository
root:

    python benchmarks/sampling.py --size 1000000 --edges 10000000 -o results/sampling.json
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measurement import build_parser, provenance, write_result
from synthetic_graph import build_synthetic_graph

FIELDS = ("Art", "Biology", "Chemistry", "Geology", "Medicine", "Physics")


def write_papers(path: Path, size: int, edges: int, seed: int) -> None:
    synthetic = build_synthetic_graph(size, edges, seed=seed)
    graph = synthetic.graph
    with path.open("w", encoding="utf-8") as file:
        for row in range(size):
            paper = {
                "id": f"p{row}",
                "title": f"Paper {row} on topic {synthetic.topic[row]}",
                "abstract": f"We look at topic {synthetic.topic[row]} once more.",
                "fields": [FIELDS[synthetic.topic[row] % len(FIELDS)]],
                "references": [f"p{other}" for other in graph.targets(row)],
            }
            file.write(json.dumps(paper) + "\n")


def run_sampler(papers: Path, out: Path, sampler: str, workers: int, options: list[str]) -> dict[str, Any]:
    """Run the command; return its seconds, its peak memory with its workers', and what it wrote."""
    words = ["prepare", "citations", str(papers), "-o", str(out), "--sampler", sampler]
    words += ["--workers", str(workers), *(word for option in options for word in ("--set", option))]
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "sciprism", *words])
    peak = 0
    while process.poll() is None:
        peak = max(peak, process_memory(process.pid))
        time.sleep(0.5)
    if process.returncode:
        raise SystemExit(process.returncode)
    seconds = time.perf_counter() - began
    facts = json.loads((out / "citations.json").read_text("utf-8"))
    digests = {name: digest(out / name) for name in ("train.jsonl", "dev.jsonl", "papers.jsonl")}
    return {
        "workers": workers,
        "seconds": round(seconds, 1),
        "papers_per_second": round(facts["papers"] / seconds),
        "peak_memory_mb": peak,
        "queries": facts["train"]["queries"],
        "triplets": facts["train"]["pairs"],
        "citations": facts["citations"],
        "sha256": digests,
    }


def process_memory(pid: int) -> int:
    """Return what a process and those that it began hold, in MB; shared pages count for each."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        own = pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000
        return own + sum(map(process_memory, map(int, children.read_text().split())))
    except OSError:
        return 0


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--size", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--sampler", default="specter")
    parser.add_argument("--set", dest="options", action="append", default=[])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        papers = Path(folder) / "papers.jsonl"
        write_papers(papers, args.size, args.edges, args.seed)
        runs = [
            run_sampler(papers, Path(folder) / f"{count}", args.sampler, count, args.options) for count in args.workers
        ]
    same = len({json.dumps(run.pop("sha256")) for run in runs}) == 1
    facts = {"sampler": args.sampler, "options": args.options, "size": args.size, "edges": args.edges}
    result = provenance(["numpy", "sciprism"], **facts, same_bytes=same, runs=runs)
    print(json.dumps(result, indent=1))
    write_result(args.output, result)


if __name__ == "__main__":
    main()
