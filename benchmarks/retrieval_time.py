"""Seconds of the same search with a large and a small retriever, in rounds (INDUS, Table 8, claim I3).

A search is all of it: encoding the documents, encoding the queries, ranking. Both models run in this
library's encoder, in one process, at one precision. Run from the repository root:

    python benchmarks/retrieval_time.py LARGE SMALL --data FOLDER -o results/retrieval_time.json
"""

from __future__ import annotations

import datetime
from functools import partial
from pathlib import Path
from statistics import median

import torch

from evidence.measurements import add_findings, compare_speed
from measurement import build_parser, interleave, provenance, ratio, write_result
from sciprism import Encoder
from sciprism.datasets.data_root import DataRoot
from sciprism.datasets.inputs import RetrievalInput
from sciprism.evaluation.suites import suites
from sciprism.index import topk
from sciprism.store.shard_files import Matrix


def search(encoder: Encoder, data: RetrievalInput, documents: int) -> None:
    """Encode documents and queries, and rank ten documents for each query."""
    queries = encoder.encode(data.queries, format="search", role="query")
    vectors = encoder.encode(data.documents[:documents], format="search")
    topk(queries, [Matrix(vectors)], min(10, len(vectors)), distance=encoder.distance)


def main() -> None:
    parser = build_parser(__doc__)
    parser.add_argument("large")
    parser.add_argument("small")
    parser.add_argument("--data", type=Path, required=True, help="the folder of the open data")
    parser.add_argument("--task", default="scifact", help="a search of the open suite")
    parser.add_argument("--documents", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--figure", type=float, default=4.6, help="the paper's")
    parser.add_argument("--evidence", type=Path, help="the folder of INDUS's results")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    task = next(task for task in suites["open"].tasks if task.name == args.task)
    data = task.data.read(DataRoot(args.data))
    encoders = {"large": Encoder.load(args.large), "small": Encoder.load(args.small)}
    runs = {name: partial(search, encoder, data, args.documents) for name, encoder in encoders.items()}
    seconds = interleave(runs, args.rounds)
    found = compare_speed(seconds["small"], seconds["large"], args.figure)
    for name, times in seconds.items():
        print(f"{name}: {1000 * median(times) / len(data.queries):.2f} ms per query")
    print(f"{found.value:.2f} x ({found.low:.2f} to {found.high:.2f}): {found.verdict}")
    result = provenance(
        ["torch", "numpy", "tokenizers"],
        task=args.task,
        documents=min(args.documents, len(data.documents)),
        queries=len(data.queries),
        threads=args.threads,
        models={name: Path(encoder.name).name for name, encoder in encoders.items()},
        seconds={name: [round(t, 3) for t in times] for name, times in seconds.items()},
        times_as_fast=ratio(seconds["large"], seconds["small"]),
    )
    write_result(args.output, result, ", ".join(result["models"].values()))
    if args.evidence:
        add_findings(args.evidence, "I3", [found], result["command"], datetime.date.today().isoformat())


if __name__ == "__main__":
    main()
