"""Exact search against faiss IndexFlatIP: the same vectors, the same queries, in rounds of one run.

The vectors are random ones, whose inner products are searched, or those of a collection, searched by its distance;
faiss has those of a cosine scaled to length 1. The collection's queries are vectors of its papers, which are left out.
Ours reads the vectors as a collection has them, from memory-mapped shards, or with an int8 copy of float32 vectors
in memory, as after some searches of a collection; faiss holds its own copy in memory. Run from the repository root:

    python benchmarks/search.py -o results/search.json
    python benchmarks/search.py --collection VECTORS -o results/search.json
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import faiss
import numpy as np
import torch

from measurement import build_parser, format_ratio, interleave, newest_instructions, provenance, ratio, write_result
from sciprism.files import BlockChecks
from sciprism.index import topk
from sciprism.index.exact import Distance, normalize_for
from sciprism.index.int8_copy import Int8Copy, find_int8_product
from sciprism.store import StoredCollection
from sciprism.store.collection import DEFAULT_SHARD_SIZE
from sciprism.store.shard_files import DTYPES, Dtype, Matrix, open_matrix, quantize

PEER = "faiss IndexFlatIP"
COPY = "sciprism float32, int8 copy"


def unit_vectors(rows: int, dim: int, numbers: np.random.Generator) -> np.ndarray:
    """Return random vectors (rows, dim) of length 1: no clusters, so nothing is easy to find."""
    vectors = numbers.standard_normal((rows, dim), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def unchecked(path: Path) -> BlockChecks:
    """Return no checksums, as of files that were written without them."""
    return BlockChecks(path, (), "")


def store_vectors(vectors: np.ndarray, dtype: Dtype, folder: Path) -> list[Matrix]:
    """Write vectors as shards and map them, as a collection does."""
    shards = []
    for start in range(0, len(vectors), DEFAULT_SHARD_SIZE):
        packed = quantize(vectors[start : start + DEFAULT_SHARD_SIZE], dtype)
        values, scales = folder / f"{dtype}-{start}.npy", folder / f"{dtype}-{start}.scales.npy"
        np.save(values, packed.values)
        if packed.scales is not None:
            np.save(scales, packed.scales)
        shards.append(open_matrix(values, scales if packed.scales is not None else None, unchecked))
    return shards


def overlap(ours: np.ndarray, reference: np.ndarray) -> float:
    """Return the share of the reference's rows that ours has, over all queries."""
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(ours, reference, strict=True)]))


@dataclass(frozen=True)
class Problem:
    """Vectors (n, d) to search, queries (m, d), the distance, and what a result file states of them."""

    vectors: np.ndarray
    queries: np.ndarray
    distance: Distance
    facts: dict[str, Any]


def draw_vectors(args: argparse.Namespace, queries: int) -> Problem:
    """Return random vectors."""
    numbers = np.random.default_rng(args.seed)
    vectors, drawn = (unit_vectors(count, args.dim, numbers) for count in (args.rows, queries))
    return Problem(vectors, drawn, "dot", {})


def read_collection(args: argparse.Namespace, queries: int) -> Problem:
    """Return the vectors of a collection's first space without those of some papers, which are the queries."""
    collection = StoredCollection.open(args.collection)
    space = next(iter(collection.manifest.spaces))
    vectors = np.concatenate([shard.block(0, len(shard)) for shard in collection.vectors(space)])
    chosen = np.random.default_rng(args.seed).choice(len(vectors), queries, replace=False)
    encoder = collection.manifest.encoder
    if encoder.distance == "euclidean":
        raise SystemExit(f"{args.collection} has the Euclidean distance, IndexFlatIP inner products; take another")
    facts = {"encoder": encoder.name, "fingerprint": encoder.fingerprint, "space": space, "options": encoder.options}
    return Problem(np.delete(vectors, chosen, axis=0), vectors[chosen], encoder.distance, {"collection": facts})


def compare(
    peer: faiss.Index,
    shards: dict[Dtype, list[Matrix]],
    copy: Int8Copy | None,
    problem: Problem,
    args: argparse.Namespace,
) -> dict[str, Any]:
    """Time one batch of queries in every way, and compare what was found."""
    queries, distance = problem.queries, problem.distance
    contenders: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
        PEER: lambda: peer.search(normalize_for(queries, distance), args.k)
    }
    for dtype, matrices in shards.items():
        contenders[f"sciprism {dtype}"] = lambda matrices=matrices: topk(queries, matrices, args.k, distance=distance)
    if copy:
        contenders[COPY] = lambda: topk(queries, shards["float32"], args.k, distance=distance, copy=copy)
    seconds = interleave(contenders, args.rounds)
    reference = contenders[PEER]()[1]
    facts: dict[str, Any] = {}
    for name, run in contenders.items():
        rows = run()[1]
        facts[name] = {
            "milliseconds": [round(1000 * s, 2) for s in seconds[name]],
            "times_faster": ratio(seconds[PEER], seconds[name]),
            "identical": bool((rows == reference).all()),
            "overlap": round(overlap(rows, reference), 5),
        }
    return facts


def print_comparison(threads: int, batch: int, facts: dict[str, Any]) -> None:
    """Print one line per contender."""
    print(f"{threads} thread(s), {batch} queries at once")
    for name, fact in facts.items():
        faster = fact["times_faster"]
        print(
            f"  {name:<28} {median(fact['milliseconds']):8.1f} ms   {format_ratio(faster)}"
            f"   same rows {fact['overlap']:.4f}"
            f"{', identical' if fact['identical'] else ''}"
        )


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("--collection", type=Path, help="search its vectors, not --rows random ones of --dim")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--batches", type=int, nargs="+", default=[100, 8, 1], help="queries at once")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    problem = (read_collection if args.collection else draw_vectors)(args, max(args.batches))
    rows, dim = problem.vectors.shape
    peer = faiss.IndexFlatIP(dim)
    peer.add(normalize_for(problem.vectors, problem.distance))
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        shards = {dtype: store_vectors(problem.vectors, dtype, Path(folder)) for dtype in DTYPES}
        for threads in args.threads:
            torch.set_num_threads(threads)
            faiss.omp_set_num_threads(threads)
            copy = Int8Copy(shards["float32"], problem.distance) if find_int8_product() else None
            for batch in args.batches:
                facts = compare(peer, shards, copy, replace(problem, queries=problem.queries[:batch]), args)
                print_comparison(threads, batch, facts)
                measured.append({"threads": threads, "queries": batch, "contenders": facts})
    settings = {"rows": rows, "dim": dim, "k": args.k, "rounds": args.rounds, "seed": args.seed, **problem.facts}
    result = provenance(["torch", "numpy", "faiss-cpu"], **settings, device="cpu", measured=measured)
    write_result(args.output, result, f"{'papers' if args.collection else 'random'}, {newest_instructions()}")


if __name__ == "__main__":
    main()
