"""What checksums cost: the first search of a new process over a collection of 1M papers, with and without.

Every round starts a new process for each way. Reported are the seconds from opening the collection to the ten
best papers (also those of the processor, all cores together, which other programs disturb less), of the same
search again, of the whole process with its imports, and peak memory. Vectors are random, and in the system's
file cache. `--start` measures instead `sciprism search` over a collection, from the start of the process to its end,
with torch and without. Run from the repository root:

    python benchmarks/first_search.py -o results/first_search.json
    python benchmarks/first_search.py --start COLLECTION --rounds 9 -o results/search_start.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from measurement import build_parser, format_ratio, interleave, peak_memory_mb, provenance, ratio, write_result
from sciprism.checksums import BlockChecks, hash_blocks
from sciprism.index import exact
from sciprism.store import StoredCollection
from sciprism.store.collection import DEFAULT_SHARD_SIZE, OPEN_MATRICES
from sciprism.store.manifest import EncoderRecord, FileChecksum, Manifest, ShardRecord, SpaceRecord
from sciprism.store.shard_files import Matrix, values_file

SPACE = "all"
WAYS = ("with checksums", "without", "as version 0.1")
"""The last maps shards with `np.load`, as version 0.1 did, and compares nothing."""


def write_collection(folder: Path, rows: int, dim: int) -> None:
    """Write random vectors as the shards of a collection that has no papers' files: exact search needs none."""
    numbers = np.random.default_rng(0)
    shards = []
    (folder / "vectors" / SPACE).mkdir(parents=True)
    for start in range(0, rows, DEFAULT_SHARD_SIZE):
        vectors = numbers.standard_normal((min(DEFAULT_SHARD_SIZE, rows - start), dim), dtype=np.float32)
        name = values_file(SPACE, len(shards))
        path = folder / name
        np.save(path, vectors)
        digest = sha256(path.read_bytes()).hexdigest()
        files = {name: FileChecksum(size=path.stat().st_size, sha256=digest, blocks=hash_blocks(path))}
        shards.append(ShardRecord(rows=len(vectors), missing_abstracts=0, files=files))
    encoder = EncoderRecord(name="random", fingerprint="0", distance="cosine")
    space = SpaceRecord(folder=SPACE, path=SPACE, formats=["proximity"], dim=dim)
    manifest = Manifest(
        encoder=encoder, dtype="float32", shard_size=DEFAULT_SHARD_SIZE, spaces={SPACE: space}, shards=shards
    )
    manifest.write(folder)


def search_once(folder: Path, way: str) -> dict[str, float]:
    """Open the collection in this process and search it twice."""
    if way != WAYS[0]:
        BlockChecks.check_blocks = lambda self, content, blocks: None  # type: ignore[method-assign]
    began, work = time.perf_counter(), time.process_time()
    collection = StoredCollection.open(folder)
    if way == "as version 0.1":
        opened = lru_cache(OPEN_MATRICES)
        load = partial(np.load, mmap_mode="c")
        collection.open_matrix = opened(lambda space, shard: Matrix(load(folder / values_file(space, shard))))
    dim = collection.manifest.spaces[SPACE].dim
    query = np.random.default_rng(1).standard_normal((1, dim), dtype=np.float32)
    exact.search(collection, SPACE, query, 10, None)
    first, work = time.perf_counter() - began, time.process_time() - work
    began = time.perf_counter()
    exact.search(collection, SPACE, query, 10, None)
    second = time.perf_counter() - began
    return {"first": first, "first_processor": work, "second": second, "peak_memory_mb": peak_memory_mb()}


def run_process(folder: Path, way: str) -> dict[str, float]:
    """Search in a new process; `process` is its whole time, with the start and all imports."""
    began = time.perf_counter()
    command = [sys.executable, __file__, "--search", str(folder), "--way", way]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads(printed) | {"process": time.perf_counter() - began}


def start_commands(collection: Path) -> dict[str, list[str]]:
    """Return what `--start` runs: the command, with torch and without, and parts of it."""
    command = [sys.executable, "-m", "sciprism", "search"]
    search = [*command, str(collection), "dark matter halos"]
    with_torch = ["--device", "cpu:0"]  # only "cpu" and no device are computed without
    return {
        "search": search,
        "search, with torch": [*search, *with_torch],
        "search --no-why": [*search, "--no-why"],
        "search --no-why, with torch": [*search, "--no-why", *with_torch],
        "search --help": [*command, "--help"],
        "import torch": [sys.executable, "-c", "import torch"],
        "import numpy": [sys.executable, "-c", "import numpy"],
        "python": [sys.executable, "-c", "pass"],
    }


def measure_start(args: argparse.Namespace) -> None:
    """Measure whole processes in rounds, and compare what those with torch and without print."""
    commands, printed = start_commands(args.start), dict[str, str]()

    def run(name: str) -> None:
        printed[name] = subprocess.run(commands[name], check=True, capture_output=True, text=True).stdout

    seconds = interleave({name: partial(run, name) for name in commands}, args.rounds)
    for name in ("search", "search --no-why"):
        assert printed[name] == printed[f"{name}, with torch"], "the answers differ"
    for name, times in seconds.items():
        print(f"{name:<30} {median(times):.2f} s ({min(times):.2f} to {max(times):.2f})")
    facts = {
        name: {"median": median(times), "min": min(times), "max": max(times), "seconds": times}
        for name, times in {name: [round(second, 3) for second in t] for name, t in seconds.items()}.items()
    }
    papers = len(StoredCollection.open(args.start))
    packages = ["torch", "numpy", "tokenizers", "typer", "pydantic"]
    write_result(args.output, provenance(packages, papers=papers, rounds=args.rounds, processes=facts))


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--search", type=Path, help="internal: the collection that this process searches")
    parser.add_argument("--way", choices=WAYS, default=WAYS[0], help="internal")
    parser.add_argument("--start", type=Path, help="measure the command over this collection instead")
    args = parser.parse_args()
    if args.start:
        measure_start(args)
        return
    if args.search:
        print(json.dumps(search_once(args.search, args.way)))
        return
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        write_collection(Path(name), args.rows, args.dim)
        for number in range(args.rounds + 1):
            for way in WAYS if number % 2 else reversed(WAYS):
                measured = run_process(Path(name), way)
                if number:
                    found[way].append(measured)
    facts: dict[str, Any] = {}
    for key in ("first", "first_processor", "second", "process"):
        seconds = {way: [round(each[key], 4) for each in found[way]] for way in WAYS}
        slower = {way: ratio(seconds[WAYS[0]], seconds[way]) for way in WAYS[1:]}
        facts[key] = {"seconds": seconds, "times_as_long": slower}
        print(key, *(f"{way} {median(seconds[way]):.3f} s" for way in WAYS), sep="  ")
        print("  with checksums:", *(f"{format_ratio(slower[way])} as long as {way}" for way in slower), sep="  ")
    facts["peak_memory_mb"] = {way: max(each["peak_memory_mb"] for each in found[way]) for way in WAYS}
    settings = {name: getattr(args, name) for name in ("rows", "dim", "rounds")}
    write_result(args.output, provenance(["torch", "numpy", "xxhash"], **settings, searches=facts))


if __name__ == "__main__":
    main()
