"""Seconds of `sciprism search` over a collection, from the start of the process to its end, with torch and without.

Every round starts a new process for each; what both print is the same. Run from the repository root:

    python benchmarks/first_search.py COLLECTION -o results/search_start.json
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median

from measurement import build_parser, interleave, provenance, write_result
from sciprism.store import StoredCollection

WITH_TORCH = ("--device", "cpu:0")  # only "cpu" and no device are computed without


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    search = [sys.executable, "-m", "sciprism", "search", str(args.collection), "dark matter halos"]
    commands = {
        "search": search,
        "search, with torch": [*search, *WITH_TORCH],
        "search --no-why": [*search, "--no-why"],
        "search --no-why, with torch": [*search, "--no-why", *WITH_TORCH],
    }
    printed: dict[str, str] = {}

    def run(name: str) -> None:
        printed[name] = subprocess.run(commands[name], check=True, capture_output=True, text=True).stdout

    seconds = interleave({name: partial(run, name) for name in commands}, args.rounds)
    for name in ("search", "search --no-why"):
        assert printed[name] == printed[f"{name}, with torch"], "the answers differ"
    facts = {}
    for name, each in seconds.items():
        times = [round(second, 3) for second in each]
        facts[name] = {"median": median(times), "min": min(times), "max": max(times), "seconds": times}
        print(f"{name:<30} {median(times):.2f} s ({min(times):.2f} to {max(times):.2f})")
    papers = len(StoredCollection.open(args.collection))
    packages = ["torch", "numpy", "tokenizers", "typer", "pydantic"]
    write_result(args.output, provenance(packages, papers=papers, rounds=args.rounds, processes=facts))


if __name__ == "__main__":
    main()
