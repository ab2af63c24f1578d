"""How many rows a bound by the first coordinates leaves of an exact search, on the vectors of a collection.

In the basis of the rows' principal axes, q.x <= q1.x1 + |q2||x2|, where q1 and x1 are the first p coordinates and q2
and x2 the others. Rows whose bound is below the k-th best score need not be read any further. Here that score is known
beforehand, which is kind to the bound. The queries are papers, by their vectors and by their titles, and are left out
of the rows. Of the int8 copy, which reads a quarter of the bytes, the same is counted. Run from the repository root:

    python benchmarks/prefix_bound.py COLLECTION -o results/prefix_bound.json
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from measurement import build_parser, provenance, write_result
from sciprism import Encoder
from sciprism.arrays import Floats, normalize_rows, row_lengths
from sciprism.index.exact import score_rows
from sciprism.index.int8_copy import QUERIES, Int8Copy
from sciprism.store import StoredCollection
from sciprism.store.shard_files import Matrix

SAMPLE = 5000  # rows of which the axes are computed


def principal_axes(rows: Floats, numbers: np.random.Generator) -> tuple[Floats, Floats]:
    """Return the axes (d, d) of some rows, the one with the most of the squared length first, and their shares (d,)."""
    some = rows[numbers.choice(len(rows), min(SAMPLE, len(rows)), replace=False)].astype(np.float64)
    shares, axes = np.linalg.eigh(some.T @ some)
    return axes[:, ::-1].astype(np.float32), (shares[::-1] / shares.sum()).astype(np.float32)


def describe(counts: np.ndarray) -> dict[str, float]:
    """Return the candidates of a query: median, mean, and of the query that is worst but for a tenth of them."""
    return {
        "median": float(np.median(counts)),
        "mean": round(float(counts.mean())),
        "p90": float(np.quantile(counts, 0.9)),
    }


def count_candidates(queries: Floats, rows: Floats, axes: Floats, k: int, widths: list[int]) -> dict[str, Any]:
    """Count the rows that each bound leaves of a query, by the number of coordinates, and of the int8 copy."""
    q, x = queries @ axes, rows @ axes
    kth = -np.partition(-(queries @ rows.T), k - 1, axis=1)[:, [k - 1]]
    found: dict[str, Any] = {}
    for width in widths:
        bounds = q[:, :width] @ x[:, :width].T + row_lengths(q[:, width:])[:, None] * row_lengths(x[:, width:])
        found[f"{width} coordinates"] = describe((bounds >= kth).sum(axis=1))
    shards = [Matrix(rows)]
    copy = Int8Copy(shards, "dot")
    batches = np.split(queries, range(QUERIES, len(queries), QUERIES))
    parts = [copy.candidates(batch, k, None, partial(score_rows, batch, shards, k, "dot")) for batch in batches]
    found["int8 copy"] = describe(np.concatenate([(part >= 0).sum(axis=1) for part in parts if part is not None]))
    return found


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--widths", type=int, nargs="+", default=[32, 64, 96, 128, 192])
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    numbers = np.random.default_rng(args.seed)
    collection = StoredCollection.open(args.collection)
    space, record = next(iter(collection.manifest.spaces.items()))
    encoder = Encoder.load(collection.manifest.encoder.name)
    vectors = np.concatenate([shard.block(0, len(shard)) for shard in collection.vectors(space)])
    chosen = numbers.choice(len(vectors), args.queries, replace=False)
    titles = encoder.encode(
        [paper.title for paper in collection.papers(chosen)], format=record.formats[0], role="query"
    )
    rows = normalize_rows(np.delete(vectors, chosen, axis=0))
    axes, shares = principal_axes(rows, numbers)
    sets = {"papers": vectors[chosen], "titles": titles}
    left = {
        name: count_candidates(normalize_rows(queries), rows, axes, args.k, args.widths)
        for name, queries in sets.items()
    }
    share = {f"{width} coordinates": round(float(shares[:width].sum()), 3) for width in args.widths}
    for name, counts in left.items():
        for bound, count in counts.items():
            print(f"{name:<8} {bound:<16} {count['median']:8.0f} rows (mean {count['mean']:.0f}) of {len(rows)}")
    facts = {"encoder": collection.manifest.encoder.name, "fingerprint": collection.manifest.encoder.fingerprint}
    settings = {"rows": len(rows), "dim": rows.shape[1], "k": args.k, "queries": args.queries, "seed": args.seed}
    write_result(
        args.output,
        provenance(["torch", "numpy"], **facts, **settings, share_of_squared_length=share, candidates=left),
    )


if __name__ == "__main__":
    main()
